"""What a fact is, and the list of facts that one carrier holds."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

Whole = Annotated[int, msgspec.Meta(ge=-(2**53 - 1), le=2**53 - 1)]
"""An integer that every reader of JSON takes exactly. What is beyond it makes bytes that are no record, since there is no index
row and no decision to hold it.
"""

Tokens = Annotated[int, msgspec.Meta(ge=-(2**40), le=2**40)]
"""A count of tokens: so bounded that the sum over all spans of a scope stays a `Whole` too."""

FactClass = Literal["numeric", "identifier", "prohibition", "commitment", "instruction", "decision", "narrative"]
FACT_CLASSES: tuple[FactClass, ...] = (
    "prohibition",
    "numeric",
    "identifier",
    "commitment",
    "instruction",
    "decision",
    "narrative",
)
"""In order of rank: what a person wants to see first stands first."""

FactKind = Literal["", "decided", "rejected", "reason"]
Polarity = Literal["affirmed", "negated"]
Survival = Literal["verbatim", "equivalent", "changed", "inverted", "weakened", "missing"]
SURVIVING: frozenset[str] = frozenset({"verbatim", "equivalent"})
"""Outcomes that count as kept (rule F2); all others do not."""

Outcome = Literal["verbatim", "equivalent", "changed", "inverted", "weakened", "missing", "unknown"]
"""A survival, or `unknown` where the summary has no text that could be judged."""


class Fact(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One statement that a context must keep carrying, at code points `[start, end)` of its span's text.

    `value` is canonical for the class (a number with its base unit, the identifier's exact characters, a normalised sentence).
    `subject` is empty where the value is telling by itself. `context` holds the content words around the fact; it helps to
    find the clause of a summary that speaks of the same thing and is no part of the id.
    """

    id: str
    cls: FactClass = msgspec.field(name="class")
    start: Whole
    end: Whole
    value: str
    subject: str = ""
    polarity: Polarity = "affirmed"
    quantifier: str = ""
    hedge: str = ""
    kind: FactKind = ""
    context: str = ""
    valid_from: str = ""
    valid_to: str = ""


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts that one carrier holds, measured where the record was made by the named extractor version.

    `passed_over` counts facts that the salience rule left out of a bulky text (a long log, a directory listing).
    """

    extractor: str
    facts: tuple[Fact, ...] = ()
    passed_over: Whole = 0
