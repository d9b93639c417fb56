"""What stands beside a lost statement on a screen: what the summary says of it, or only what in the summary comes nearest.

Presentation only. What became of the fact was decided by the rules, over more than these two passages, and `--json` has it.
"""

from __future__ import annotations

import re

SAYS = "the summary says"
NEAREST = "nearest in the summary"

_OPAQUE = re.compile(r"#?(?:0x)?(?=[0-9a-f-]*\d)[0-9a-f]{4,}(?:-[0-9a-f]+)*", re.ASCII | re.IGNORECASE)
"""A number or hash that only names something: another one names another thing."""

_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_SIGNS = re.compile("[%°€$£¥₹]")
_GLUED = re.compile(r"(?<=\d)(?=[^\W\d_])")
"""Between a figure and a unit that is written to it."""


def beside(text: str, cls: str, outcome: str, says: str) -> str:
    """The words that lead from a statement to a passage of the summary: `SAYS` where both speak of one thing, which takes half
    of the content words of the shorter one, or the unit or noun of the figure; else `NEAREST`.

    An inversion was found by what stands around both, and is always told as such.
    """
    if outcome == "inverted":
        return SAYS
    if is_another_id(text, cls, says):
        return NEAREST
    from ledger.facts.settled.shorter import content
    from ledger.facts.settled.standing import language_of

    counted = cls in ("numeric", "commitment")
    if counted:
        text, says = (_GLUED.sub(" ", passage) for passage in (text, says))
    language = language_of(f"{text} {says}")
    mine, theirs = (content(passage, language) for passage in (text, says))
    shared = len(mine & theirs)
    if counted and (shared or _units(text) & _units(says)):
        return SAYS
    return SAYS if shared and shared * 2 >= min(len(mine), len(theirs)) else NEAREST


def is_another_id(text: str, cls: str, says: str) -> bool:
    """Are these two numbers or hashes that name two things? Then the summary has not changed the one: it is missing there."""
    return cls == "identifier" and text != says and all(_OPAQUE.fullmatch(one) for one in (text, says))


def shown_outcome(text: str, cls: str, outcome: str, says: str) -> str:
    """How the outcome is called on a screen."""
    return "missing" if outcome == "changed" and is_another_id(text, cls, says) else outcome


def _units(passage: str) -> set[str]:
    """Signs of a unit, and whether it is a date."""
    return {*_SIGNS.findall(passage), *("date" for _ in _DATE.findall(passage)[:1])}
