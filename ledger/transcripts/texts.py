"""Whose words are these? Content blocks to pieces, injected text told from the user's, a summary from an error in its place."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from schemas.records import Role, SummaryState

ACTION_CHARS_MAX = 160
"""An action is a label for a person: its first line, cut here."""


class TextBlock(msgspec.Struct, gc=False):
    """A block of a tool's result. Images and the like have no text."""

    type: str = ""
    text: str | None = None


Result = str | list[TextBlock] | TextBlock | None


class Block(msgspec.Struct, gc=False):
    """One content block. Only what is used is named; thinking, images and signatures are passed over undecoded."""

    type: str = ""
    text: str | None = None
    name: str | None = None
    input: msgspec.Raw = msgspec.Raw(b"")
    content: Result | msgspec.UnsetType = msgspec.UNSET
    data: msgspec.Raw = msgspec.Raw(b"")
    encrypted_content: str | None = None


_string = msgspec.json.Decoder(str)
_anything = msgspec.json.Decoder(Any)

Content = str | list[Block] | None


def result_text(result: Result | msgspec.UnsetType) -> str:
    """The readable text of a tool's result: a string, or the text blocks of a list. Images and other blocks have none."""
    if isinstance(result, str):
        return result
    if result is None or result is msgspec.UNSET:
        return ""
    if isinstance(result, TextBlock):
        return result.text or ""
    return "\n".join([block.text for block in result if block.text])


def compact_json(data: bytes) -> str:
    """JSON without blanks between tokens and without needless escapes, so that the same call is the same text everywhere."""
    if b"\\u" in data:
        try:
            return msgspec.json.encode(msgspec.json.decode(data)).decode()
        except (msgspec.MsgspecError, UnicodeError, RecursionError, ValueError):
            pass
    try:
        return msgspec.json.format(data, indent=-1).decode("utf-8", "replace")
    except (msgspec.MsgspecError, RecursionError):
        return data.decode("utf-8", "replace")


def text_of(content: Content) -> str:
    """All text blocks of a message, in order."""
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(block.text for block in content if block.text)


# --- Tool calls --------------------------------------------------------------------------------------------------------------

_NONE = msgspec.Raw(b"")


class _Arguments(msgspec.Struct, gc=False):
    """What a call may be pointed at, the most telling first."""

    file_path: msgspec.Raw = _NONE
    path: msgspec.Raw = _NONE
    notebook_path: msgspec.Raw = _NONE
    command: msgspec.Raw = _NONE
    cmd: msgspec.Raw = _NONE
    pattern: msgspec.Raw = _NONE
    query: msgspec.Raw = _NONE
    url: msgspec.Raw = _NONE
    skill: msgspec.Raw = _NONE
    description: msgspec.Raw = _NONE


_arguments = msgspec.json.Decoder(_Arguments)


LOOSE_BYTES = 256
"""Where the first colon of a call's arguments stands at the latest: names of arguments are short."""


class Call(msgspec.Struct, frozen=True, gc=False):
    """A tool call: its name, and its arguments as they stand in the file. Most are never looked at closer."""

    name: str
    raw: bytes

    @property
    def arguments(self) -> bytes:
        """The arguments; JSON inside a string is taken out of it."""
        if self.raw[:1] != b'"':
            return self.raw
        try:
            inner = _string.decode(self.raw)
            if inner.lstrip().startswith("{"):
                _anything.decode(inner)
                return inner.encode("utf-8", "replace")
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            pass
        return self.raw

    @property
    def text(self) -> str:
        """The compact JSON of the call, as it is recorded."""
        arguments = self.arguments
        body = compact_json(arguments) if arguments else "null"
        return f'{{"tool":{msgspec.json.encode(self.name).decode()},"input":{body}}}'

    @property
    def action(self) -> str:
        """`Edit src/app.py`, `Bash cargo test`: the tool, and what it was pointed at."""
        try:
            fields = msgspec.structs.astuple(_arguments.decode(self.arguments))
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            return self.name
        for raw in fields:
            if raw is not _NONE:
                try:
                    target = _string.decode(raw)
                except (msgspec.DecodeError, UnicodeError):
                    target = compact_json(bytes(raw))
                first = target.strip().split("\n", 1)[0]
                return f"{self.name} {first}"[:ACTION_CHARS_MAX]
        return self.name

    def is_utf8(self) -> bool:
        """Are the arguments text? The decoder does not look into what it passes over."""
        if self.raw.isascii():
            return True
        try:
            str(self.raw, "utf-8")
        except UnicodeDecodeError:
            return False
        return True

    def fingerprint(self) -> int:
        """As `fingerprint` below, of the bytes in the file. A writer with blanks behind colons has one behind the first; two
        writers who differ in other ways make a conflict of what might be a copy, which is the safe side.
        """
        if self.raw.find(b'": ', 0, LOOSE_BYTES) >= 0:
            return hash((self.name, compact_json(self.raw).encode("utf-8", "replace")))
        return hash((self.name, self.raw))


Body = str | Call
Piece = tuple[Role, Body, tuple[Call, ...]]
"""Role, text and calls of one piece of an entry. Of a tool call the text is made when it is asked for."""


# --- Injected text -----------------------------------------------------------------------------------------------------------

INJECTED_TAGS: tuple[str, ...] = (
    # Commands of the user to the tool, and their output
    "command-name", "command-message", "command-args", "command-contents", "local-command-stdout", "local-command-stderr",
    "local-command-caveat", "bash-input", "bash-stdout", "bash-stderr", "user_shell_command",
    # What a runtime puts in front of the model
    "system-reminder", "task-notification", "ide_opened_file", "ide_selection", "ide_diagnostics", "user-prompt-submit-hook",
    "session-start-hook", "post-tool-use-hook", "background-task-input", "teammate-message", "new-diagnostics",
    "environment_context", "user_instructions", "recommended_plugins", "subagent_notification", "turn_aborted", "skill",
    "permissions instructions", "collaboration_mode", "skills_instructions", "apps_instructions", "plugins_instructions",
    "app-context", "multi_agent_mode", "model_switch", "realtime_conversation", "hook_prompt",
)  # fmt: skip
"""Tags that begin a text which a runtime wrote in the user's role."""

_INJECTED = re.compile(rf"\s*<({'|'.join(map(re.escape, INJECTED_TAGS))})[>\s]", re.ASCII)
_INTERRUPTED = re.compile(r"\[Request interrupted by user[^\]\n]*\][ \t]*(?:\n|$)", re.ASCII)
"""Alone on its line: behind it a user who quotes it goes on."""

_INJECTED_HEADS: tuple[str, ...] = (
    "Caveat: The messages below were generated by the user while running local commands.",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
)
_COMMAND = re.compile(r"\s*/compact(?:\s|$)", re.ASCII)

SUMMARY_HEADS: tuple[str, ...] = (
    "This session is being continued from a previous conversation that ran out of context",
    "Another language model started to solve this problem and produced a summary of its thinking process",
)
"""How runtimes begin a summary that they put into the user's role."""


def is_injected(text: str) -> bool:
    """Was this written by a runtime, by a command or by a hook, in the user's role?

    A user who quotes how such a text begins is told by what follows: a runtime closes the tag or breaks the line behind it,
    ends the sentence of its lead-in, and says on a line of its own that it was interrupted.
    """
    if text.startswith(_INJECTED_HEADS) or _INTERRUPTED.match(text) or _COMMAND.match(text):
        return True
    for head in SUMMARY_HEADS:
        if text.startswith(head):
            return text[len(head) : len(head) + 1] in {"", ".", ":", "\n"}
    tag = _INJECTED.match(text)
    return tag is not None and (f"</{tag[1]}>" in text or text.partition(">")[2][:1] in {"", "\n"})


# --- Summaries ---------------------------------------------------------------------------------------------------------------

ERROR_CHARS_MAX = 600
"""An error message in place of a summary is short; a real summary that speaks of errors is not."""

_ERRORS: tuple[re.Pattern[str], ...] = tuple(
    re.compile(pattern, re.ASCII | re.IGNORECASE | re.DOTALL)
    for pattern in (
        (
            r"(?:the )?(?:context )?(?:summary|summari[sz]ation|summari[sz]er|compaction|compression|condensation)"
            r"(?: (?:generation|request|step|call))? (?:has )?"
            r"(?:failed|errored|timed out|aborted|was aborted|could not|unavailable)"
        ),
        (
            r"(?:error|failed|failure|unable|could not|couldn't|cannot|can't)\b.{0,24}"
            r"\b(?:summari[sz]\w*|summary|compact\w*|condens\w*|compress\w*)\b"
        ),
        (
            r"(?:api |http |request |internal server |gateway |upstream |model )?error\b.{0,80}(?:\b[45]\d\d\b"
            r"|time-?out|timed out|overload|rate.?limit|connection|unavailable|too long|abort|quota|unauthori[sz]ed)"
        ),
        r"api error\b",
        r"(?:http )?[45]\d\d\b[ :]",
        r"(?:request|connection|gateway|stream) (?:timed out|time-?out|failed|aborted|error|closed|reset)",
        r"(?:prompt|input|conversation|context|request) (?:is |was )?too long",
        r"(?:rate limit|quota|usage limit)\b.{0,40}(?:exceeded|reached)",
        r"(?:overloaded|service unavailable|bad gateway|internal server error|credit balance is too low|invalid api key)",
        r"\{\s*\"(?:type\"\s*:\s*\"error\"|error\"\s*:)",
        r"(?:traceback \(most recent call last\)|\w+(?:error|exception): )",
    )
)


_LEAD_IN = re.compile(
    r"This session is being continued from a previous conversation that ran out of context\.\s*"
    r"(?:The summary below covers the earlier portion of the conversation\.|The conversation is summarized below:)?\s*"
    r"(?:(?:Summary|Analysis):)?\s*"
    r"|Another language model started to solve this problem and produced a summary of its thinking process\."
    r"(?:.{0,600}?own analysis:)?\s*",
    re.ASCII | re.DOTALL,
)


_FRAME = re.compile(r"</?(?:analysis|summary)>", re.ASCII)
"""What summarisers are told to write around their parts: alone it is no summary."""


def summary_body(text: str) -> str:
    """The text without the runtime's lead-in, for telling an error from a summary."""
    body = text.strip()
    lead_in = _LEAD_IN.match(body)
    return body[lead_in.end() :] if lead_in else body


def summary_state(text: str, *, opaque: bool = False, error: bool = False) -> SummaryState:
    """Text, empty, opaque or error text. `opaque` says that something encrypted stands beside or in place of the text."""
    body = summary_body(text)
    if not _FRAME.sub("", body).strip():
        return "opaque" if opaque else "empty"
    if error or (len(body) <= ERROR_CHARS_MAX and any(pattern.match(body) for pattern in _ERRORS)):
        return "error_text"
    return "text"


def fingerprint(pieces: Sequence[Piece]) -> int:
    """Decides whether a repeated id repeats its role and text. The interpreter's keyed hash: only ever compared in one run."""
    if len(pieces) == 1:
        role, body, _ = pieces[0]
        if not isinstance(body, str):
            return body.fingerprint()
        # Half of all pieces are outputs of tools, and only they have that role.
        return hash(body) if role == "tool" else hash((role, body))
    return hash(tuple([fingerprint((piece,)) for piece in pieces]))
