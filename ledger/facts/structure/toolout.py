"""What of a tool's output is worth reading: not what can be asked for again (file dumps, search hits, listings, passed tests).

A short text is read in full. In a longer one, lines of a kind that only lists things are passed over when there are several of
them; of what is left only sentences and lines that report a fault are read. Pasted machine logs count as tool output, whoever
pasted them.
"""

from __future__ import annotations

import re

from schemas.records import Role

SMALL_CHARS = 400
"""A text up to this length is read in full, whatever its lines look like."""

LONG_CHARS = 1000
"""An assistant's text from this length on explains; a shorter one reports, and is read word for word."""

LISTED_LINES_MIN = 4
"""So many lines of one kind make a listing; fewer may well be what the text is about."""

_LINES = re.compile(
    r"^(?:(?P<dump>[ \t]*\d{1,6}(?:\u2192|\t))"
    r"|(?P<hit>(?:[\w.~@+-]*/)*[\w.@+-]+[:-]\d{1,6}(?::(?!\d+:\s)|-))"
    r"|(?P<row>[ \t]*\d{1,6}[:-](?=[ \t]{2,}|\t|[^\s\d]))"
    r"|(?P<path>[ \t]*(?:[-*][ \t]|[MADRCU?!]{1,2}[ \t]+)?[\w.~@+-]*(?:/[\w.@+*%\[\]-]*)+[ \t]*$)"
    r"|(?P<list>[bcdlps-][r-][w-][xsStT-][r-][w-][xsStT-][r-][w-][xsStT-][.+@]?[ \t]|total \d+$"
    r"|[ \t]*\S+[ \t]+\|[ \t]+\d+[ \t][+-]+$)"
    r"|(?P<past>[*|\\/ ]{0,6}commit [0-9a-f]{7,40}\b|[*|\\/ ]{0,6}(?:Author: |(?:Author|Commit)?Date: |Merge: [0-9a-f])"
    r"|[*|\\/ ]{0,6}[0-9a-f]{7,12}[ \t])"
    r"|(?P<json>[ \t]*\{\")"
    r"|(?P<count>[ \t]+\d+[ \t]\S+$)"
    r")[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""Kinds of lines that only list: a file shown with line numbers, hits of a search, paths, a directory, history, JSON lines."""

_PASSED = re.compile(
    r"^(?:[ \t]*\d+ files? changed, |ok  \t|\?   \t|[ \t]*(?:--- (?:PASS|SKIP)|=== (?:RUN|PAUSE|CONT|NAME))|PASS$"
    r"|[ \t]*[\u2713\u2714] )[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""A test that passed or began, by itself: what a run came to is told by its last lines and by its failures."""

_RUNTIME = re.compile(
    r"^(?:The user doesn't want to proceed with this tool use|The file \S+ has been (?:updated|created)"
    r"|File created successfully"
    r"|Todos have been modified|No (?:files|matches) found|Found \d+ (?:files?|lines|matches|total)|Tool ran without output"
    r"|Command running in background|Your todo list has|Exit code \d+$|File has not been read|<tool_use_error>"
    r"|Your branch is |On branch |nothing (?:added )?to commit|no changes added|Changes (?:not staged|to be committed)"
    r"|Untracked files"
    r"|Switched to (?:a new )?branch|Already (?:up to date|on )|HEAD is now at|Everything up-to-date"
    r"|Updated task #|Task #\d|Launching skill|Shell cwd was reset|Result of calling the "
    r"|[ \t]*(?:create|delete) mode \d{6} |(?:\[[\w.:-]+\] )?\$ |Try '[^'\n]+ --help' for help)[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""What a runtime or a version control answers to any call of its kind, without a word on the matter in hand."""

_TOOK = tuple(
    re.compile(pattern, re.ASCII | re.MULTILINE)
    for pattern in (
        r"(\()(?<=[ \t]\()\d+(?:\.\d+)?m?s\)$",
        r"(\t)\d+\.\d+s$",
        r"( in )(?<=(?:passed|failed|errors) in )\d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?(?=[ \t=]*$)",
        r"( in )(?<=(?:skipped|warning) in )\d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?(?=[ \t=]*$)",
        r"( in )(?<=warnings in )\d+(?:\.\d+)?s(?: \(\d+:\d\d:\d\d\))?(?=[ \t=]*$)",
    )
)
"""How long a test or a run took, behind what stands before it. Each begins with fixed characters: so the search is quick."""

_STAMPED = re.compile(
    r'"(?:(?:calculated|measured|sampled|started|finished|completed|ended)_at|[a-z_]*timestamp)"\s*:\s*"\d{4}-\d\d-\d\dT',
    re.IGNORECASE | re.ASCII,
)


def is_record(text: str) -> bool:
    """JSON that tells when something was measured or ran records one event; its counts are others the next time."""
    return text.lstrip(" \t\r\n")[:1] in {"{", "["} and bool(_STAMPED.search(text))


_STAMP = re.compile(r"^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?", re.ASCII | re.MULTILINE)

_SENTENCE = re.compile(r"\b[A-Za-z']{2,20} [a-z']{1,20} (?:[`\"'(*\w./-]{1,60} )?[a-z']{2,20} [`\"'(*]{0,3}[a-z']", re.ASCII)
_FAULT = re.compile(
    r"\b(?:[A-Za-z]{0,40}(?:error|Error|ERROR|exception|Exception)|FAIL(?:ED|URE)?|[Ff]ail(?:ed|ure|s|ing)?|[Pp]anic|PANIC|[Ff]atal|FATAL|CRITICAL|Traceback|denied"
    r"|undefined|undeclared|cannot|WARN(?:ING)?|[Ww]arning|refused|timeout|timed out|not found|passed)\b",
    re.ASCII,
)

BOOKKEEPING = re.compile(
    r"(?:^|[_.-])(?:offset|limit|index|lines?|counts?|size|bytes|duration|elapsed|ms|ts|timestamp|page|total|start|end|col|column)$",
    re.ASCII,
)
"""Keys under which programs keep book of themselves; the number is another one next time."""

CALL = '{"tool":"'
"""How the text of a tool call begins."""

_WRITES = re.compile(r'"(?:new_string|content|new_source|edits|patch)":', re.ASCII)
_TARGET = re.compile(r'"(?:file_path|path|notebook_path)":"([^"\\\n]{3,300})"', re.ASCII)


_ROOTED = re.compile(r"(?:/|~|[A-Za-z]:)[^\n]*/(?=[^/\n]{3,}\Z)", re.ASCII)
"""Where a checkout lies differs from machine to machine, so a file under a root is told by its name."""


def written_file(text: str) -> tuple[int, int] | None:
    """Of a tool call the range of the file that it writes. What else a call asks for is its action, not a fact."""
    target = _TARGET.search(text)
    if target is None or not _WRITES.search(text):
        return None
    root = _ROOTED.match(target[1])
    return target.start(1) + (root.end() if root else 0), target.end(1)


def worth_reading(text: str, role: Role) -> tuple[str, int]:
    """The text with its listed lines blanked, offsets unchanged, and how many lines that were."""
    if role != "tool":
        return _without_pasted_log(_without_history(text))
    text, passed = _RUNTIME.subn(_blank, text)
    text, more = _PASSED.subn(_blank, text)
    passed += more
    for took in _TOOK:
        text = took.sub(_blank_behind, text)
    listing = [(m.lastgroup or "", *m.span()) for m in _LINES.finditer(text)]
    counts: dict[str, int] = {}
    for kind, _, _ in listing:
        counts[kind] = counts.get(kind, 0) + 1
    small = len(text) <= SMALL_CHARS
    listed = {kind for kind, count in counts.items() if count >= (2 if kind == "past" else 1000 if small else LISTED_LINES_MIN)}
    if listed:
        text = _blanked(text, [(start, end) for kind, start, end in listing if kind in listed])
        passed += sum(counts[kind] for kind in listed)
    if len(_STAMP.findall(text)) >= LISTED_LINES_MIN:
        text = _STAMP.sub(_blank, text)
    return text, passed


def _without_history(text: str) -> str:
    """The text with pasted heads of commits blanked; what a commit says stays."""
    if "Author: " not in text:
        return text
    return _LINES.sub(lambda m: _blank(m) if m.lastgroup == "past" else m[0], text)


def _without_pasted_log(text: str) -> tuple[str, int]:
    """Lines of JSON in a row that somebody pasted are a machine's log."""
    if len(text) <= SMALL_CHARS or text.count('\n{"') < LISTED_LINES_MIN - 1:
        return text, 0
    return _JSON_LINE.subn(_blank, text)


_JSON_LINE = re.compile(r'^[ \t]*\{"[^\n]*', re.ASCII | re.MULTILINE)


def _blank(m: re.Match[str]) -> str:
    return " " * len(m[0])


def _blank_behind(m: re.Match[str]) -> str:
    """What was matched, blanked but for the space that its first group holds."""
    return m[1].replace("(", " ") + " " * (m.end() - m.end(1))


def _blanked(text: str, ranges: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for start, end in ranges:
        parts += (text[at:start], " " * (end - start))
        at = end
    return "".join(parts) + text[at:]


_ALOUD = re.compile(
    r"(?:^|[.!?:)\n]\s{1,3}|\*\s)(?:(?:ok|okay|now|good|great|first|next|so|then|alright|and)\b[\s,.!:-]{0,3}){0,3}"
    r"(?:(?:let me (?!know\b)|let's (?:see|look|check)\b)(?:[^.!?\n0-9`]|`[^`\n]*`)*[.:!]?"
    r"|(?:i'll|i will|i'm going to) (?:now |first |also )?[a-z]+\b(?:[^.!?\n0-9`]|`[^`\n]*`)*:)\s*$",
    re.ASCII,
)
_ALOUD_LAST = re.compile(
    r"(?:겠습니다|(?<!야 )(?<!야만 )(?<!필요)(?<!가능)(?<!동일)(?<!일치)(?<!명확)(?:합니다|봅니다)"
    r"|(?<!必要と)(?<!可能と)(?:します|てみます))[.:。]?\s*$",
    re.ASCII,
)
"""The same where the verb stands last: an assistant's polite form without a subject tells what it does now, unless it says what
must be, or what is needed, possible, alike or plain."""


def thinks_aloud(folded: str) -> bool:
    """Does an assistant's message end with what it does next (`Let me check ...:`)?"""
    if len(folded) <= SMALL_CHARS and _ALOUD_LAST.search(folded, max(0, len(folded) - 40)):
        return True
    return bool(_ALOUD.search(folded, max(0, len(folded) - 400)))


_EPHEMERAL = re.compile(
    r"^\W{0,3}(?:(?:ok|okay|now|good|great|perfect|excellent|first|next|so|then|alright|sure"
    r"|done)\b[\s,.!:-]{0,3}){0,3}(?:let me|let's (?:see|look|check|run|try|first|start)|i'll\b|i will\b"
    r"|i'm going to|"
    r"i need to|i should|i want to|now i|i can see|i see\b|looking at|checking|continuing|here's|here is"
    r"|you're right|good question|great question)",
    re.ASCII,
)
_ASKS = re.compile(r"\?[\s\"'`)*_\]]*$", re.ASCII)


def puts_a_question(text: str) -> bool:
    """Does a text of some length end by asking? It lays out what there is to choose from."""
    return len(text) > SMALL_CHARS and bool(_ASKS.search(text, max(0, len(text) - 40)))


_NOW = re.compile(r"^\W{0,3}(?:now|next|then|ready|got it|great|excellent|perfect)\b", re.ASCII)


_MARKUP = re.compile(r"`|\*\*|^[ \t]*(?:[-*|#]|\d{1,2}[.)])[ \t]", re.ASCII | re.MULTILINE)


def marked_up(text: str) -> bool:
    """Code in backticks, bold heads, lists and tables: an explanation of something, not a report in prose."""
    found = _MARKUP.finditer(text)
    return sum(1 for _ in zip(range(MARKUPS_MIN), found, strict=False)) == MARKUPS_MIN


MARKUPS_MIN = 6
"""So many marks are no accident; a report may well quote a name or two."""


def momentary(folded: str) -> bool:
    """Is this sentence of an assistant's talk of the moment: what it does now, or a word of courtesy?"""
    return bool(_EPHEMERAL.search(folded) or _NOW.search(folded))


def faulty(line: str) -> bool:
    """Does this line report a fault or what a run came to?"""
    return bool(_FAULT.search(line))


def reads(line: str) -> bool:
    """Does this line of output say something about the names in it: three plain words, or a fault?"""
    return len(_PLAIN_WORD.findall(line)) >= 3 or bool(_FAULT.search(line)) or not line.isascii()


_PLAIN_WORD = re.compile(r"(?<!\S)[\"'(]?[A-Za-z]{2,20}[\"'),.;:]?(?!\S)", re.ASCII)


def tells(line: str, small: bool) -> bool:
    """Is this line of a longer output a sentence, or does it report a fault or a result? Of a small one two words are
    enough.
    """
    if _FAULT.search(line):
        return True
    return bool(_TWO_WORDS.search(line) or not line.isascii()) if small else bool(_SENTENCE.search(line))


_TWO_WORDS = re.compile(r"\b[A-Za-z]{2,20}\b[^\n/]{0,40}\b[A-Za-z]{2,20}\b|[=:]", re.ASCII)
