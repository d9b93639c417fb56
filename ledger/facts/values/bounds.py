"""Bounds that take up the negation before them: `not more than 20` allows what `at most 20` allows."""

from __future__ import annotations

from ledger.facts.language import lexicon as lx
from ledger.facts.language.tokens import ABSORBS, Token
from ledger.facts.values.quantities import Number

TURNED = {">": "<=", "<": ">="}
"""What a bound becomes when it takes up a negation."""

_COMPARATIVE = frozenset(
    (
        "more less fewer exceed exceeds exceeding depasse depassent depasser exceder superar superare ultrapassar "
        "uberschreiten mas menos mais piu meno plus moins mehr weniger meer minder mer mindre "
        "wiecej mniej более больше менее меньше"
    ).split()
)


_MOVES = frozenset("fall falls drop drops go goes rise rises sink climb get grow dip run fallen steigen sinken".split())
"""`may not fall below 80`: the verb says no more than the bound, so the negation is the bound's."""

_LASTS = frozenset("wait waits last lasts take takes stay stays live lives warten dauern attendre durer esperar durar".split())
"""`do not wait longer than 5 minutes`: here too, and the verb says what is bounded."""

_RESTRICTIVE = frozenset("with of having containing than con de com di avec mit met med z с".split())


_RELATIVE = frozenset(
    "das die der den dem welche welcher welches which that who qui que che dat wat som ktore ktory ktora".split()
)
"""Behind a comma these begin a clause that the negation before it does not reach."""


def turn_bounds(folded: str, tokens: list[Token], numbers: list[Number]) -> None:
    """`no sample may be thawed more than twice` bounds from above: the negation goes into the bound, `> 2` becomes `<= 2`.

    A bound that narrows a noun (`never load sheets above 2,000 rows`) keeps its sense and leaves the negation to the verb.
    """
    for at, number in enumerate(numbers):
        if number.op not in TURNED:
            continue
        index = next((i for i, t in enumerate(tokens) if t.kind == "n" and t.start == number.start), -1)
        before = tokens[index - 1] if index > 0 else None
        first = folded[number.start : number.end].split(" ", maxsplit=1)[0]
        if (
            before is None
            or before.word in _RESTRICTIVE
            or not (first in _COMPARATIVE or before.tags & (lx.AUX | lx.NEG) or before.word in _MOVES | _LASTS)
        ):
            continue
        behind: Token | None = None
        for earlier in reversed(tokens[max(0, index - 9) : index]):
            if earlier.tags & (lx.EXC | lx.SUB | lx.CONJ) or (earlier.kind == "p" and earlier.word in ";:"):
                break
            if earlier.word == "," and behind is not None and behind.word in _RELATIVE:
                break  # `nothing, which costs more than 50`
            behind = earlier
            if earlier.tags & lx.NEG:
                op = TURNED[number.op]
                numbers[at] = number._replace(op=op)
                tokens[index].tags |= ABSORBS
                tokens[index].keys = ("#" + op + number.value,)
                if before.word in _MOVES:
                    before.keys = ()
                break
