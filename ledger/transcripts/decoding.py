"""Lines to objects of one format. The fast path is one msgspec call; what fails there is mended where that is safe.

Nothing that a reader uses is lost in silence: each line of which anything could not be read, or only by changing its bytes, is
named with one of

    line_too_long              over the limit of `lines.py`; its bytes were hashed, not kept
    half_written               the last line, without LF, is no whole object
    truncated_record           an object breaks off, and the next line does not continue it
    record_over_several_lines  unescaped line breaks inside one object; the lines were joined, or could not be
    two_records_on_one_line    an object breaks off in the middle of a line; whole objects around the break were read
    invalid_utf8               bytes that are no UTF-8 were replaced by U+FFFD
    nul_bytes                  NUL bytes were left out
    control_characters         unescaped control characters inside a string were escaped
    nested_too_deep            deeper than the decoder goes
    not_an_object              valid JSON, but no object
    unexpected_shape           an object whose fields have other types than this format's, or lack what they must hold
    unknown_type               an object of a type that no reader knows, with words in it
    other_format               a line of another format than the one that the file begins with
    out_of_order               here it shows that the lines are not in the order in which they were written; named once a file
    not_json                   anything else

Two whole objects on one line are no fault, and neither is half a surrogate pair (writers cut strings inside a character): it is
read as U+FFFD.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Generic, TypeVar

import msgspec

from ledger.transcripts.lines import PhysicalLine
from ledger.transcripts.model import Unread

T = TypeVar("T")

JOIN_LINES_MAX = 2000
JOIN_BYTES_MAX = 4 << 20
JOIN_TRIES_MAX = 64
"""How far a broken-off object is followed over further lines, and how often the whole is tried. More is a damaged file, not a
line break in a tool's output, and a hostile file must not cost more than this.
"""

SALVAGE_TRIES_MAX = 32
"""How many later starts of an object on a broken line are tried; keeps a hostile line linear."""

_STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*"'
_TOKEN = re.compile(_STRING + rb"|[{}\[\]]", re.DOTALL)
_QUOTED = re.compile(_STRING, re.DOTALL)
_CONTROL = re.compile(rb"[\x00-\x1f]")
_START = re.compile(rb'\{"(?:type|parentUuid|timestamp|uuid|sessionId|id)"')
_PAIR_OR_HALF = re.compile(
    rb"(\\\\)|(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}"
)
BLANK = b" \t\r\n"
"""What JSON calls blank."""

DECODE_FAULTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


Matters = Callable[[str, bytes], bool]


ASIDES = frozenset(
    """
    timestamp version gitBranch message.model message.timestamp message.usage message.usage.input_tokens
    message.usage.cache_read_input_tokens message.usage.cache_creation_input_tokens compactMetadata
    compactMetadata.trigger compactMetadata.preTokens compactMetadata.postTokens tokensBefore data.trigger
    data.preCompactionTokens data.postCompactionTokens data.copilotVersion data.model info.time info.time.created
    info.tokens info.tokens.input info.modelID payload.cli_version payload.model
    """.split()
)
"""Fields of any format that say when, by which version or how many tokens: where their type changes no word is lost."""

_PLACE = re.compile(r"at `\$\.([A-Za-z_.]+)`")
_generic = msgspec.json.Decoder().decode


class _Head(msgspec.Struct):
    type: Any = None


_head = msgspec.json.Decoder(_Head)


def _whole_surrogates(data: bytes) -> bytes:
    """Halves of surrogate pairs, written as escapes, become U+FFFD."""
    return _PAIR_OR_HALF.sub(lambda match: match[0] if match[1] or match[2] else rb"\ufffd", data)


def _escape_controls(data: bytes) -> bytes:
    """Control characters inside strings become escapes; outside they are blanks already or stay as they are."""

    def escape(match: re.Match[bytes]) -> bytes:
        text = match[0]
        return _CONTROL.sub(lambda c: b"\\u%04x" % c[0][0], text) if _CONTROL.search(text) else text

    return _QUOTED.sub(escape, data)


def brackets(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Every bracket outside a string, and where it stands."""
    for token in _TOKEN.finditer(data):
        if len(mark := token[0]) == 1:
            yield mark, token.start()


def split_objects(data: bytes) -> list[tuple[int, int]]:
    """Where whole top-level objects stand in `data`, by brackets outside strings; what lies between them is not looked at."""
    found: list[tuple[int, int]] = []
    depth = start = 0
    for mark, at in brackets(data):
        if mark in (b"{", b"["):
            if depth == 0:
                start = at
            depth += 1
        else:
            depth -= 1
            if depth == 0 and mark == b"}":
                found.append((start, at + 1))
            depth = max(depth, 0)
    return found


class LineDecoder(Generic[T]):
    """Decodes the lines of one file into `shape`, mending where it can.

    A reader calls `decode` itself, and then `mend` with what that raised, or `give_up` where something was waiting. Faults
    gather in `unread`, for the reader to take out.

    `matters(type, line)` says whether a line of that type holds anything the reader uses: another one with unforeseen fields is
    no fault, unless `is_foreign(line)` says that it is one of another format. `is_record(value)` says whether a value found
    behind a break is a record and not a part of one.
    """

    def __init__(self, shape: type[T], matters: Matters, is_record: Callable[[T], bool]) -> None:
        self.decode = msgspec.json.Decoder(shape).decode
        self._matters = matters
        self._is_record = is_record
        self.is_foreign: Callable[[bytes], bool] = lambda _: False
        self.waiting: list[PhysicalLine] = []
        self._waiting_bytes = 0
        self._tries = 0
        self.unread: list[Unread] = []

    def report(self, line: PhysicalLine, reason: str) -> None:
        """Name a line of which something could not be read, once for each reason."""
        fault = Unread(line=line.number, reason=reason, sha256=line.sha256)
        if fault not in self.unread:
            self.unread.append(fault)

    def check_utf8(self, line: PhysicalLine) -> None:
        """Report a line of which nothing was decoded, and not all of whose bytes are text."""
        try:
            str(line.raw, "utf-8")
        except UnicodeDecodeError:
            self.report(line, "invalid_utf8")

    def give_up(self) -> None:
        """What waits will not be completed: the file has ended, or an object stands whole behind it."""
        lost = [line for line in self.waiting if line.data.strip(BLANK)]
        for line in lost:
            reason = "record_over_several_lines" if len(lost) > 1 else "truncated_record"
            self.report(line, reason if line.ended else "half_written")
        self._forget()

    def _forget(self) -> None:
        self.waiting.clear()
        self._waiting_bytes = 0
        self._tries = 0

    def mend(self, line: PhysicalLine, error: Exception) -> list[tuple[T, PhysicalLine]]:
        """What can be had from a line on which `decode` raised `error`."""
        if line.too_long is not None:
            self.report(line, "line_too_long")
            return []
        if self.waiting and not line.data.lstrip(BLANK).startswith(b"{"):
            return self._wait(line)
        if not line.data.strip(BLANK):
            return []
        if isinstance(error, RecursionError):
            self.report(line, "nested_too_deep")
            return []
        if isinstance(error, msgspec.ValidationError):
            spoken = self._without_asides(line, error)
            if spoken is not None:
                return [(spoken, line)]
            self._other_shape(line)
            return []
        whole = self._clean(line)
        if whole is not None:
            self.give_up()
            return [(whole, line)]
        found = self._objects(line)
        if found is not None:
            self.give_up()
            return found
        return self._wait(line)

    def _without_asides(self, line: PhysicalLine, error: Exception) -> T | None:
        """The object of a line where nothing has another type than expected but what says when, by which version or how many
        tokens. None where words may be lost.
        """
        try:
            whole = _generic(line.data)
            for _ in ASIDES:
                path = _PLACE.search(str(error))
                names = path[1].split(".") if path is not None else []
                if ".".join(names) not in ASIDES:
                    return None
                inner = whole
                for name in names[:-1]:
                    inner = inner[name]
                inner[names[-1]] = None
                try:
                    return self.decode(msgspec.json.encode(whole))
                except msgspec.ValidationError as other:
                    error = other
        except (*DECODE_FAULTS, LookupError, TypeError):
            pass
        return None

    def _other_shape(self, line: PhysicalLine) -> None:
        """Valid so far, with other types than expected: a fault only where the reader would have used the line."""
        try:
            kind = _head.decode(line.data).type
        except msgspec.ValidationError:
            self.report(line, "not_an_object")
        except DECODE_FAULTS:
            self.report(line, "not_json")
        else:
            if not isinstance(kind, str) or self._matters(kind, line.data):
                self.report(line, "unexpected_shape")
            elif self.is_foreign(line.data):
                self.report(line, "other_format")

    def _clean(self, line: PhysicalLine) -> T | None:
        """The one object of a line whose bytes need mending, with the fault reported unless nothing is lost by it."""
        data, reason = _whole_surrogates(line.data), ""
        if b"\0" in data:
            data, reason = data.replace(b"\0", b""), "nul_bytes"
        if not data.isascii():
            try:
                str(data, "utf-8")
            except UnicodeDecodeError:
                data, reason = data.decode("utf-8", "replace").encode(), "invalid_utf8"
        try:
            value = self.decode(data)
        except DECODE_FAULTS:
            try:
                value = self.decode(_escape_controls(data))
                reason = reason or "control_characters"
            except DECODE_FAULTS:
                return None
        if reason:
            self.report(line, reason)
        return value

    def _try(self, part: PhysicalLine) -> T | None:
        try:
            value = self.decode(part.data)
            str(part.data, "utf-8")
            return value
        except DECODE_FAULTS:
            return None

    def _objects(self, line: PhysicalLine) -> list[tuple[T, PhysicalLine]] | None:
        """Whole objects of a line that holds more than one, or a broken one and others. None where there is not one."""
        found: list[tuple[T, PhysicalLine]] = []
        at, broken = 0, False
        for start, end in split_objects(line.data):
            part = line.part(start, end)
            value = self._try(part)
            if value is None or not self._is_record(value):
                broken = True
                continue
            broken = broken or bool(line.data[at:start].strip(BLANK))
            found.append((value, part))
            at = end
        rest = line.data[at:]
        if rest.strip(BLANK):
            broken = True
            for match in islice(_START.finditer(rest, 0 if found else 1), SALVAGE_TRIES_MAX):
                part = line.part(at + match.start(), line.length)
                value = self._try(part)
                if value is not None and self._is_record(value):
                    found.append((value, part))
                    break
        if not found:
            return None
        if broken:
            self.report(line, "two_records_on_one_line" if line.ended else "half_written")
        return found

    def _wait(self, line: PhysicalLine) -> list[tuple[T, PhysicalLine]]:
        """Hold a broken-off object, and try whether this line completes the one that waits."""
        if not self.waiting and not _broken_off(line.data):
            self.report(line, "not_json" if line.ended else "half_written")
            return []
        self.waiting.append(line)
        self._waiting_bytes += line.length
        if len(self.waiting) > JOIN_LINES_MAX or self._waiting_bytes > JOIN_BYTES_MAX or self._tries > JOIN_TRIES_MAX:
            self.give_up()
            return []
        if len(self.waiting) == 1 or not line.data.rstrip(BLANK).endswith(b"}"):
            return []
        self._tries += 1
        raw = b"\n".join(waiting.data for waiting in self.waiting)
        joined = PhysicalLine(self.waiting[0].number, self.waiting[0].start, raw, line.ended)
        try:
            value = self.decode(_escape_controls(_whole_surrogates(raw)))
            str(raw, "utf-8")
        except DECODE_FAULTS:
            return []
        for waiting in self.waiting:
            self.report(waiting, "record_over_several_lines")
        self._forget()
        return [(value, joined)]


def _broken_off(data: bytes) -> bool:
    """Does this begin like an object and end inside it? Something that closes as often as it opens cannot be continued."""
    if not data.lstrip(BLANK).startswith(b"{"):
        return False
    spans = split_objects(data)
    return not spans or bool(data[spans[-1][1] :].strip(BLANK))
