"""How much of a text is worth a fact: prose in full, bulk by rank up to a stated number.

A tool's output can usually be had again; a user's sentence cannot. So user and assistant texts keep everything up to
`FACTS_MAX`, and tool output keeps its most telling facts: a base number plus a little for length. What is left out is counted.
"""

from __future__ import annotations

import re

from ledger.facts.extraction.builder import Builder
from ledger.facts.structure.toolout import SMALL_CHARS
from ledger.facts.values.identifiers import NAMES_IN_FILES, classify
from schemas.facts import Fact
from schemas.records import Role

FACTS_MAX = 2000
"""Facts in one manifest, whatever the text: one more would make a record too large for the log's limit."""

TOOL_FACTS = 24
"""Facts that any tool output may have."""

TOOL_CHARS_PER_FACT = 4096
"""Characters of tool output that buy one more fact."""

TOOL_FACTS_MAX = 64
SHORT_TOOL_CHARS = 1500
"""Tool output up to this length is read like prose: up to `SHORT_TOOL_FACTS` facts."""

SHORT_TOOL_FACTS = 40
TOOL_NARRATIVE_MAX = 8
TOOL_HEAD_CHARS = 48 * 1024
TOOL_TAIL_CHARS = 16 * 1024
"""Of longer tool output, head and tail are read: results and errors stand at the ends. What lies between is passed over."""

_RANK = {"prohibition": 0, "numeric": 1, "commitment": 2, "instruction": 3, "decision": 4, "identifier": 5, "narrative": 6}


def readable(text: str, role: Role) -> tuple[list[tuple[int, int]], int]:
    """The ranges to be read, and how many lines lie outside them."""
    if role != "tool" or len(text) <= TOOL_HEAD_CHARS + TOOL_TAIL_CHARS:
        return [(0, len(text))], 0
    head, tail = text.rfind("\n", 0, TOOL_HEAD_CHARS) + 1, text.find("\n", len(text) - TOOL_TAIL_CHARS) + 1
    head = head or TOOL_HEAD_CHARS
    tail = max(tail or len(text) - TOOL_TAIL_CHARS, head)
    return [(0, head), (tail, len(text))], text.count("\n", head, tail) + 1


def keep(facts: tuple[Fact, ...], builder: Builder) -> tuple[tuple[Fact, ...], int]:
    """The facts that stay, in order of their offsets, and how many were left out."""
    most, chars, found = FACTS_MAX, len(builder.text), len(facts)
    if builder.role == "tool":
        short = chars <= SHORT_TOOL_CHARS
        narrative = [f.id for f in facts if f.cls == "narrative"]
        left = frozenset(narrative[TOOL_NARRATIVE_MAX if chars <= SMALL_CHARS else 0 :])
        facts = tuple(f for f in facts if f.id not in left and (short or not _bare(f)))
        most = SHORT_TOOL_FACTS if short else min(TOOL_FACTS_MAX, TOOL_FACTS + chars // TOOL_CHARS_PER_FACT)
    elif builder.role == "assistant" and chars > SMALL_CHARS:
        facts = tuple(f for f in facts if not _settled(f, builder))
    if len(facts) > most:
        ranked = sorted(range(len(facts)), key=lambda at: (_rank(facts[at]), at))[:most]
        facts = tuple(facts[at] for at in sorted(ranked))
    return tuple(sorted(facts, key=lambda f: (f.start, f.end, _RANK[f.cls]))), found - len(facts)


_DONE = re.compile(
    r"(?:(?:i|we|i've|we've|i have|we have|also|now|just|successfully|all|both)\s+){0,3}(?:added|removed|updated|changed|fixed"
    r"|replied|committed|pushed|created|renamed|moved|extracted|refactored|replaced|implemented|merged|deleted|verified|tested"
    r"|reverted|resolved|switched|converted|wrote|rewrote|documented|applied|cleaned|simplified)\b",
    re.ASCII,
)
_PASSED = re.compile(
    r"\b(?:tests?|lint(?:ing|er)?|build|checks|suite|ci)\b[^.;]{0,40}\b(?:pass|passes|passed|clean|green|succeeds|succeeded)\b"
    r"|\b(?:task|step) \d+ is (?:complete|done|finished)\b",
    re.ASCII,
)


def _settled(fact: Fact, builder: Builder) -> bool:
    """In an assistant's text of some length: what was done and what passed, for the work itself shows it; and what tells of the
    choices that it puts to the user, for the answer and what is done after it settle them. Rules, decisions, what is not and
    what only the session knows (hashes, addresses, numbers with a unit) stay.
    """
    if fact.cls == "narrative":
        return builder.asks or (fact.polarity == "affirmed" and bool(_DONE.match(fact.value) or _PASSED.search(fact.value)))
    return builder.asks and fact.cls == "identifier" and classify(fact.value) in NAMES_IN_FILES


RESULT_NOUNS = frozenset("pass fail error warn failur skip line exit code status -@accept @accept @error".split())


def _bare(fact: Fact) -> bool:
    """A small count in bulk, unless it counts what a run came to: `2 failed`, `line 212`, `exit code 1`."""
    return fact.cls == "numeric" and bool(fact.subject) and fact.subject not in RESULT_NOUNS


def _rank(fact: Fact) -> int:
    """Numbers with a unit or a bound before bare counts."""
    rank = _RANK[fact.cls] * 2
    return rank + (3 if fact.cls == "numeric" and fact.subject else 0)
