"""The cheap check that the fold makes of each listed fact: offsets, value and id agree with the text. Nothing is extracted."""

from __future__ import annotations

from collections.abc import Iterator

from ledger.facts.findings import is_date
from ledger.facts.language.fold import fold, normalise
from ledger.facts.language.lexicon import LANGUAGES
from ledger.facts.values.dates import find_dates, numeric_readings
from ledger.facts.values.quantities import readings
from schemas.facts import Fact
from schemas.ids import fact_id

PIECE_CHARS_MAX = 4096
"""No fact but an identifier is longer; a larger range would only make the check dear."""


def grounded(fact: Fact, text: str, *, scope_key: str) -> bool:
    """Do the offsets lie in the text, does the value follow from what stands there, and the id from the fields?"""
    if not 0 <= fact.start < fact.end <= len(text):
        return False
    identity = (fact.cls, fact.value, fact.subject, fact.polarity, fact.quantifier, fact.valid_from, fact.valid_to)
    if fact.id != fact_id(scope_key, *identity):
        return False
    piece = text[fact.start : fact.end]
    if fact.cls == "identifier":
        return piece == fact.value
    if len(piece) > PIECE_CHARS_MAX:
        return False
    if fact.cls == "numeric":
        return fact.value in readings(piece)
    if normalise(piece) == fact.value:
        return True
    return fact.cls == "commitment" and is_date(fact.value) and fact.value in _date_readings(piece)


def _date_readings(piece: str) -> Iterator[str]:
    folded = fold(piece)
    for language in LANGUAGES.values():
        for item in find_dates(folded, 0, len(folded), language):
            yield item.value
    yield from numeric_readings(folded)
