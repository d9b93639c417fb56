"""Days in short numeric notation without a year (rule F2): `am 03.12.`, `avant le 15/12`, `voor 15-12`.

Only where the language tells the day first and a word of dates stands before: else `15/12` is a fraction, `15.12` a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ledger.facts.language.fold import WORD
from ledger.facts.language.lexicon import Language
from ledger.facts.values.units import may_be_unit

_CUES = (
    r"am|vom|zum|bis|ab|dem|den|le|du|au|el|del|al|il|dal|dia|ate|em|desde|hasta|giorno|op|tot|voor|vanaf|per|do|od|dnia|przed"
    r"|до|с|от|к|после|till|fram till|fore|efter|senast"
)
_SHORT = re.compile(
    rf"(?<![{WORD}'])(?:(?:{_CUES}) (?:[a-z]{{2,12}},? )?|(?:entro |dall'|all'|l'))"
    r"(?P<day>[0-3]?\d)(?P<mark>[./-])(?P<month>[01]?\d)(?P<dot>\.)?"
    rf"(?![\d/:%°€$-]|[.,]\d|[{WORD}])(?! ?[%°€$])",
    re.ASCII,
)
_OF = re.compile(r" (?:de|del|des|du|d'|di|dei|delle|do|da|dos|das|der|von|of|van|av|de la|de los|de las)(?![a-z])", re.ASCII)
_NEXT = re.compile(rf" ([{WORD}]+)", re.ASCII)
MONTHS, DAYS = 12, 31


def short_days(text: str, language: Language) -> Iterator[tuple[int, int, int, int]]:
    """Start, end, month and day of each such day in folded text. In order; pure."""
    if language.code == "en" or not language.day_first or language.numeral_signs:
        return
    for m in _SHORT.finditer(text):
        day, month = int(m["day"]), int(m["month"])
        if 1 <= day <= DAYS and 1 <= month <= MONTHS and _is_day(m, day, month, text):
            yield m.start("day"), m.end("month") if m["mark"] != "." else m.end(), month, day


def _is_day(m: re.Match[str], day: int, month: int, text: str) -> bool:
    """No fraction (`1/3 de`), no rising range (`voor 10-12 personen`), no decimal number with its unit (`bis 15.12 GB`)."""
    if _OF.match(text, m.end()):
        return False
    padded = len(m["day"]) == len(m["month"]) == 2
    if m["mark"] == "-":
        return day > month
    if m["mark"] == "/":
        return padded or day > MONTHS or len(m["month"]) == 2
    following = _NEXT.match(text, m.end())
    unit = following is not None and may_be_unit(following[1])
    return not unit and (padded or (m["dot"] is not None and following is not None))
