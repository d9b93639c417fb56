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
    r"|(?P<list>[bcdlps-][r-][w-][xsStT-][r-][w-][xsStT-][r-][w-][xsStT-][.+@]?[ \t]|total \d+$|[ \t]*\S+[ \t]+\|[ \t]+\d+[ \t][+-]+$)"
    r"|(?P<past>commit [0-9a-f]{7,40}\b|Author: |(?:Author|Commit)?Date: |Merge: [0-9a-f]|[*|\\/ ]{0,6}[0-9a-f]{7,12}[ \t])"
    r"|(?P<json>[ \t]*\{\")"
    r"|(?P<count>[ \t]+\d+[ \t]\S+$)"
    r")[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""Kinds of lines that only list: a file shown with line numbers, hits of a search, paths, a directory, history, JSON lines."""

_PASSED = re.compile(
    r"^(?:[ \t]*\d+ files? changed, |ok  \t|FAIL\t|\?   \t|[ \t]*(?:--- (?:PASS|SKIP)|=== (?:RUN|PAUSE|CONT|NAME))|PASS$|[ \t]*[\u2713\u2714] )[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""A test that passed or began, by itself: what a run came to is told by its last lines and by its failures."""

_RUNTIME = re.compile(
    r"^(?:The user doesn't want to proceed with this tool use|The file \S+ has been (?:updated|created)|File created successfully"
    r"|Todos have been modified|No (?:files|matches) found|Found \d+ (?:files?|lines|matches|total)|Tool ran without output"
    r"|Command running in background|Your todo list has|Exit code \d+$|File has not been read|<tool_use_error>"
    r"|Your branch is |On branch |nothing (?:added )?to commit|no changes added|Changes (?:not staged|to be committed)|Untracked files"
    r"|Switched to (?:a new )?branch|Already (?:up to date|on )|HEAD is now at|Everything up-to-date"
    r"|Updated task #|Task #\d|Launching skill|Shell cwd was reset|Result of calling the )[^\n]*",
    re.ASCII | re.MULTILINE,
)
"""What a runtime or a version control answers to any call of its kind, without a word on the matter in hand."""

_STAMP = re.compile(r"^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[ ]?[+-]\d\d:?\d\d)?\]?", re.ASCII | re.MULTILINE)

_SENTENCE = re.compile(r"\b[A-Za-z']{2,20} [a-z']{1,20} (?:[`\"'(*\w./-]{1,60} )?[a-z']{2,20} [`\"'(*]{0,3}[a-z']", re.ASCII)
_FAULT = re.compile(
    r"\b(?:[A-Za-z]{0,40}(?:error|Error|ERROR|exception|Exception)|FAIL(?:ED|URE)?|[Ff]ail(?:ed|ure|s|ing)?|panic|fatal|Traceback|denied"
    r"|undefined|undeclared|cannot|WARN(?:ING)?|[Ww]arning|refused|timeout|timed out|not found|passed)\b",
    re.ASCII,
)

CALL = '{"tool":"'
"""How the text of a tool call begins."""

_WRITES = re.compile(r'"(?:new_string|content|new_source|edits|patch)":', re.ASCII)
_TARGET = re.compile(r'"(?:file_path|path|notebook_path)":"([^"\\\n]{3,300})"', re.ASCII)


def written_file(text: str) -> tuple[int, int] | None:
    """Of a tool call the range of the file that it writes. What else a call asks for is its action, not a fact."""
    target = _TARGET.search(text)
    return target.span(1) if target is not None and _WRITES.search(text) else None


def worth_reading(text: str, role: Role) -> tuple[str, int]:
    """The text with its listed lines blanked, offsets unchanged, and how many lines that were."""
    if role != "tool":
        return _without_pasted_log(text)
    text, passed = _RUNTIME.subn(_blank, text)
    text, more = _PASSED.subn(_blank, text)
    passed += more
    counts: dict[str, int] = {}
    for m in _LINES.finditer(text):
        kind = m.lastgroup or ""
        counts[kind] = counts.get(kind, 0) + 1
    small = len(text) <= SMALL_CHARS
    listed = {kind for kind, count in counts.items() if count >= (2 if kind == "past" else 1000 if small else LISTED_LINES_MIN)}
    if listed:
        text = _LINES.sub(lambda m: _blank(m) if m.lastgroup in listed else m[0], text)
        passed += sum(counts[kind] for kind in listed)
    if len(_STAMP.findall(text)) >= LISTED_LINES_MIN:
        text = _STAMP.sub(_blank, text)
    return text, passed


def _without_pasted_log(text: str) -> tuple[str, int]:
    """Lines of JSON in a row that somebody pasted are a machine's log."""
    if len(text) <= SMALL_CHARS or text.count('\n{"') < LISTED_LINES_MIN - 1:
        return text, 0
    return _JSON_LINE.subn(_blank, text)


_JSON_LINE = re.compile(r'^[ \t]*\{"[^\n]*', re.ASCII | re.MULTILINE)


def _blank(m: re.Match[str]) -> str:
    return " " * len(m[0])


def faulty(line: str) -> bool:
    """Does this line report a fault or what a run came to?"""
    return bool(_FAULT.search(line))


def tells(line: str, small: bool) -> bool:
    """Is this line of a longer output a sentence, or does it report a fault or a result? Of a small one two words are
    enough.
    """
    if _FAULT.search(line):
        return True
    return bool(_TWO_WORDS.search(line) or not line.isascii()) if small else bool(_SENTENCE.search(line))


_TWO_WORDS = re.compile(r"\b[A-Za-z]{2,20}\b[^\n/]{0,40}\b[A-Za-z]{2,20}\b|[=:]", re.ASCII)
