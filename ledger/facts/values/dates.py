"""Dates, times of day and distances in days: the values of commitments (rule F2: by date or deadline, in any notation).

Canonical forms: `2026-11-14`, `--12-09` (no year), `2027-03` (no day), `T17:00Z`, `2026-12-04T12:00`, `T12:00..T13:00`, `+3d`,
`-1d`. `03/04/2027` is day-month or month-day by what the text itself says, then by its language; where neither tells, its
canonical form is `?03/04/2027`, which equals nothing but itself.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ledger.facts.language.fold import SPACE, WORD
from ledger.facts.language.lexicon import ENGLISH, LANGUAGES, Language
from ledger.facts.values.short_dates import short_days


class Dated(NamedTuple):
    """A date or time at `[start, end)` with its canonical value."""

    start: int
    end: int
    value: str


_ZONES = {"utc": "Z", "gmt": "Z", "z": "Z"}
_ZONE = r"(?:\s?(?P<zone>utc|gmt|z|cet|cest|est|edt|pst|pdt|bst|jst|kst|ist|msk)(?![" + WORD + r"]))?"
_TIME = (
    r"(?P<hour>[01]?\d|2[0-4])(?:(?P<sep>:|\s?h\s?|\.(?=[0-5]\d(?!\d)))(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d)(?:[.,]\d{1,9})?)?)?"
    r"(?:\s?(?P<half>[ap]\.?m\.?)(?!["
    + WORD
    + r"]))?(?:\s?(?P<mark>uhr|uur|बजे|시(?:\s?(?P<ko>\d{1,2})분|(?=에|까지|부터|쯤|경|전|이후)|(?!["
    + WORD
    + r"]))|時(?![間间])(?:(?P<ja>\d{1,2})分)?|点|點|h(?!["
    + WORD
    + r"])|hrs|часов|часа))?"
    + _ZONE
)
_ISO = re.compile(
    r"(?<![\d.-])(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[t ](?P<hour>\d\d):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d+)?)?"
    r"(?:\s?(?P<zone>z|utc|gmt|cet|cest|est|edt|pst|pdt|bst|jst|kst|ist|msk|[+-]\d\d:?\d\d)(?![" + WORD + r"]))?)?(?!\d)",
    re.ASCII,
)
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])(\d{1,2})\2(\d{4}|\d{2})(?![\d/]|[.-]\d)", re.ASCII)
_YMD = re.compile(r"(?<![\d./-])(\d{4})[./](\d{1,2})[./](\d{1,2})(?![\d/]|[.]\d)", re.ASCII)
_EAST = re.compile(r"(?:(\d{4})\s?[年년]\s?)?(\d{1,2})\s?[月월]\s?(\d{1,2})\s?[日일号號]", re.ASCII)
_EAST_MONTH = re.compile(
    r"(?:(\d{4})\s?[年년]\s?)?(?<![0-9一二三四五六七八九十])(\d{1,2}|[一二三四五六七八九十]{1,2})\s?[月월](?![間间日])",
    re.ASCII,
)
_EAST_WORDS = re.compile(r"([一二三四五六七八九十]{1,2})月([一二三四五六七八九十]{1,3})[日号號]", re.ASCII)
_BEFORE = "0-9A-Za-z_\u00aa-\u2fff"
"""After a sign of a script without spaces a time may begin; after a letter it is part of a name."""
_CLOCK = re.compile(r"(?<![\d:.,/" + _BEFORE + r"])" + _TIME + r"(?![\d:/]|[.,]\d|-?[a-z])", re.ASCII)
_RANGE_JOIN = re.compile(r"\s?(?:-|~|부터|から|to|bis|until|a|alle|à|до)\s?$", re.ASCII)
_BETWEEN = re.compile(
    r"^[,]?\s*(?:at|a las|alle|alle ore|as|às|um|kl\.?|o|à|в|om|t|by|at the latest by|ore|の|的)?\s*(?:\(?)\s*$", re.ASCII
)


@lru_cache(maxsize=64)
def _month_names(code: str) -> tuple[re.Pattern[str], re.Pattern[str], dict[str, int]]:
    months = {**ENGLISH.months, **LANGUAGES[code].months}
    names = "|".join(sorted((re.escape(name) for name in months), key=lambda n: (-len(n), n)))
    day = r"(?P<d>[0-3]?\d)(?:st|nd|rd|th|er|[.ºª°])?"
    year = r"(?:,?\s(?:de\s|del\s|of\s)?(?P<y>(?:19|20|21)\d\d))?"
    first = re.compile(rf"(?<![\d./:-]){day}\s?(?:de\s|of\s|di\s|-)?(?P<m>{names})\.?(?![{WORD}]){year}(?!\d)", re.ASCII)
    second = re.compile(
        rf"(?<![{WORD}])(?P<m>{names})\.?\s(?:(?P<d>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:.%/]|\s?[ap]m)(?:,?\s(?P<y>(?:19|20|21)\d\d))?|(?P<yy>(?:19|20|21)\d\d))(?!\d)",
        re.ASCII,
    )
    return first, second, months


_DIGIT = re.compile("[0-9]", re.ASCII)
_EAST_SIGN = re.compile("[月点點時时]", re.ASCII)


def find_dates(folded: str, start: int, end: int, language: Language) -> list[Dated]:
    """Every date, time and distance in `folded[start:end]`, in order, none inside another. Offsets are of `folded`."""
    text = folded[start:end]
    has_digits = _DIGIT.search(text) is not None or (not text.isascii() and _EAST_SIGN.search(text) is not None)
    found = _join(text, _days(text, language), _times(text, language)) if has_digits else _word_times(text, language)
    return [Dated(item.start + start, item.end + start, item.value) for item in found]


def _days(text: str, language: Language) -> list[Dated]:
    found: list[Dated] = []

    def put(at: int, to: int, value: str) -> None:
        if value and not any(item.start < to and at < item.end for item in found):
            found.append(Dated(at, to, value))

    for m in _ISO.finditer(text):
        put(
            m.start(),
            m.end(),
            _date(m["y"], m["m"], m["d"]) + (_time(m["hour"], m["minute"], m["second"], m["zone"]) if m["hour"] else ""),
        )
    for m in _YMD.finditer(text):
        put(m.start(), m.end(), _date(m[1], m[2], m[3]))
    for m in _EAST.finditer(text):
        put(m.start(), m.end(), _date(m[1] or "", m[2], m[3]))
    for m in _EAST_WORDS.finditer(text):
        put(m.start(), m.end(), _date("", str(_east(m[1])), str(_east(m[2]))))
    for m in _EAST_MONTH.finditer(text) if language.numeral_signs else ():
        put(m.start(), m.end(), _date(m[1] or "", str(_small(m[2])), ""))
    for m in _NUMERIC.finditer(text):
        if len(m[4]) == 4 or m[2] == "/":
            put(m.start(), m.end(), _numeric(m, text, language))
    for at, to, month, day in short_days(text, language):
        put(at, to, _date("", str(month), str(day)))
    first, second, months = _month_names(language.code)
    for pattern in (first, second):
        for m in pattern.finditer(text):
            groups = m.groupdict()
            year = groups.get("y") or groups.get("yy") or ""
            put(m.start(), m.end(), _date(year, str(months[m["m"]]), m["d"] or ""))
    return sorted(found)


def _east(text: str) -> int:
    """`三` is 3, `十五` 15, `二十一` 21; what is no number is 0, which is no month and no day."""
    tens, mark, ones = text.rpartition("十")
    if not mark:
        return _SIGNS.find(text) + 1 if len(text) == 1 else 0
    return (_SIGNS.find(tens) + 1 if tens else 1) * 10 + (_SIGNS.find(ones) + 1 if ones else 0)


_SIGNS = "一二三四五六七八九"


def _date(year: str, month: str, day: str) -> str:
    if not 1 <= int(month) <= 12 or (day and not 1 <= int(day) <= 31):
        return ""
    head = year or "-"
    return f"{head}-{int(month):02}" + (f"-{int(day):02}" if day else "")


def _numeric(m: re.Match[str], text: str, language: Language) -> str:
    a, b, year = int(m[1]), int(m[3]), m[4] if len(m[4]) == 4 else f"20{m[4]}"
    if a > 12 or b > 12:
        day, month = (a, b) if a > 12 else (b, a)
        return _date(year, str(month), str(day))
    if a == b:
        return _date(year, str(a), str(b))
    order = _marked_order(text)
    if order is None and (m[2] == "." or language.day_first):
        order = "day"
    if order is None:
        return f"?{a:02}/{b:02}/{year}"
    return _date(year, str(b if order == "day" else a), str(a if order == "day" else b))


_DAY_FIRST = re.compile(
    rf"(?<![{WORD}])(?:dd?/mm?|day[-/ ]month|day first|giorno/mese|tag/monat|dia/mes|jour/mois|dag/m[aå]nad|gg/mm"
    rf"|jj/mm|tt\.mm|день/месяц|dzien/miesiac|gun/ay)",
    re.ASCII,
)
_MONTH_FIRST = re.compile(
    rf"(?<![{WORD}])(?:mm?/dd?|month[-/ ]day|month first|us format|mese/giorno|monat/tag|mes/dia|mois/jour)", re.ASCII
)


def _marked_order(text: str) -> str | None:
    if _DAY_FIRST.search(text):
        return "day"
    return "month" if _MONTH_FIRST.search(text) else None


def numeric_readings(text: str) -> tuple[str, ...]:
    """Every date that a purely numeric notation can mean, for a check that has no text around it."""
    m = _NUMERIC.search(text)
    if m is None:
        return ()
    year = m[4] if len(m[4]) == 4 else f"20{m[4]}"
    values = [_date(year, m[3], m[1]), _date(year, m[1], m[3]), f"?{int(m[1]):02}/{int(m[3]):02}/{year}"]
    return tuple(
        value + text_time for value in values if value for text_time in ("", *(t.value for t in _times(text, ENGLISH)))
    )


def _time(hour: str, minute: str | None, second: str | None = None, zone: str | None = None, half: str | None = None) -> str:
    value = int(hour)
    if half:
        value = value % 12 + (12 if half[0] == "p" else 0)
    if value > 24:
        return ""
    tail = "" if not zone else _ZONES.get(zone, zone.upper())
    seconds = f":{second}" if second and second != "00" else ""
    return f"T{value:02}:{int(minute or 0):02}{seconds}{tail}"


_HOURS = re.compile(r"(?<![\d:.,-])(\d{1,2})\s?(?:-|bis|to|until|tot|a|do|до)\s?(\d{1,2})\s?(?:uhr|h\b|([ap])m\b)", re.ASCII)
"""`2 bis 4 Uhr`, `9-5 pm`: the mark of the hour stands behind the second one only."""


def _times(text: str, language: Language) -> list[Dated]:
    found = [
        Dated(m.start(), m.end(), f"{_time(m[1], None, half=m[3] or None)}..{_time(m[2], None, half=m[3] or None)}")
        for m in _HOURS.finditer(text)
    ]
    if not text.isascii():
        found += _east_times(text)
    for m in _CLOCK.finditer(text):
        if found and any(item.start < m.end() and m.start() < item.end for item in found):
            continue
        minute = m["minute"] or m["ko"] or m["ja"]
        sep = (m["sep"] or "").strip(SPACE)
        if not (minute and sep in {":", "h"}) and not m["half"] and not m["mark"] and not (sep and _clocked(text, m.start())):
            continue
        if sep == "." and m["mark"] not in {"uhr", "uur"} and not _clocked(text, m.start()):
            continue
        if sep == "h" and language.code not in {"fr", "pt", "es", "it"}:
            continue
        if m["mark"] in {"h", "hrs"} and language.code != "fr":
            continue
        if (
            m["sep"] == ":"
            and len(m["hour"]) == 1
            and not m["half"]
            and not m["zone"]
            and not _cued(text, m.start(), m.end())
            and not _TIME_AFTER.match(text, m.end())
        ):
            continue
        value = _time(m["hour"], minute, m["second"], m["zone"], m["half"])
        if value:
            found.append(Dated(m.start(), m.end(), value))
    found += [item for item in _word_times(text, language) if not any(o.start < item.end and item.start < o.end for o in found)]
    found.sort()
    return found


_CLOCKED = re.compile(r"(?:kl\.?|klockan|klokka|alle|ore|godz\.?|godzinie|saat)\s$", re.ASCII)


def _clocked(text: str, start: int) -> bool:
    """`kl. 14.30`: the word before says that the point stands between hours and minutes."""
    return bool(_CLOCKED.search(text[max(0, start - 10) : start]))


HALVES = "上午|早上|凌晨|中午|下午|晚上|午前|午後|오전|오후|저녁"
_LATE = frozenset({"下午", "晚上", "午後", "오후", "저녁"})
_EAST_TIME = re.compile(
    rf"(?:({HALVES})\s?)?(\d{{1,2}}|[一二两兩三四五六七八九十]{{1,3}})\s?([点點時时시])\s?(?:(半|반)|(\d{{1,2}}|[一二三四五六七八九十]{{1,3}})\s?[分분]|[钟鐘整])?",
    re.ASCII,
)


def _east_times(text: str) -> list[Dated]:
    """`下午两点半`, `午後2時半`, `오후 2시 30분`. A bare `两点` may be two points."""
    found = []
    for m in _EAST_TIME.finditer(text):
        if m[3] in "点點" and not (m[1] or m[4] or m[5]):
            continue
        if text[m.end() : m.end() + 1] in {"間", "间"} or (
            m[3] in "時时" and not (m[1] or m[4] or m[5] or m[2][0] in "0123456789")
        ):
            continue
        hour, minute = _small(m[2]), 30 if m[4] else _small(m[5]) if m[5] else 0
        if m[1] in _LATE and hour < NOON:
            hour += NOON
        value = _time(str(hour), f"{minute:02}") if minute < 60 else ""
        if value:
            found.append(Dated(m.start(), m.end(), value))
    return found


NOON = 12


def _small(text: str) -> int:
    return int(text) if text[0] in "0123456789" else _east(text.replace("两", "二").replace("兩", "二"))


_CUE = re.compile(
    rf"(?:(?<![{WORD}])(?:at|by|until|before|after|from|to|um|las|alle|ore|as|kl|o|a|om|ab|bis|um|saat|в|до|с)|[,-])\s*$",
    re.ASCII,
)


_TIME_AFTER = re.compile(r"\s?(?:-|~|to|bis|until|till|a|al|tot|do|до)\s?\d{1,2}:\d\d", re.ASCII)


def _cued(text: str, start: int, end: int) -> bool:
    return bool(_CUE.search(text[max(0, start - 8) : start])) or text[end : end + 5].strip(SPACE).startswith("uhr")


@lru_cache(maxsize=64)
def _time_names(code: str) -> tuple[str, ...]:
    return tuple(sorted({*LANGUAGES[code].clock, *LANGUAGES[code].relative_days}))


@lru_cache(maxsize=64)
def _named_times(code: str) -> re.Pattern[str] | None:
    names = sorted({*LANGUAGES[code].clock, *LANGUAGES[code].relative_days}, key=lambda n: (-len(n), n))
    if not names:
        return None
    any_name = "|".join(map(re.escape, names))
    if LANGUAGES[code].no_spaces:
        return re.compile(any_name, re.ASCII)
    return re.compile(rf"(?<![{WORD}'])(?:{any_name})(?![{WORD}'])", re.ASCII)


def _word_times(text: str, language: Language) -> list[Dated]:
    found: list[Dated] = []
    pattern = _named_times(language.code)
    if pattern is None or not any(name in text for name in _time_names(language.code)):
        return found
    for m in pattern.finditer(text):
        clock = language.clock.get(m[0])
        if clock is not None:
            hour, _, minute = clock.partition(":")
            found.append(Dated(m.start(), m.end(), _time(hour, minute)))
        else:
            found.append(Dated(m.start(), m.end(), f"{language.relative_days[m[0]]:+d}d"))
    return found


def _join(text: str, days: list[Dated], times: list[Dated]) -> list[Dated]:
    """Times next to a day belong to it; two times in a row with a dash or `to` between them are a range."""
    times = [t for t in times if not any(d.start < t.end and t.start < d.end for d in days)]
    merged: list[Dated] = []
    for item in times:
        last = merged[-1] if merged else None
        if (
            last
            and last.value[0] == "T" == item.value[0]
            and ".." not in last.value
            and _RANGE_JOIN.search(text[last.end : item.start])
            and item.start - last.end < 9
        ):
            end = item.end + (2 if text[item.end : item.end + 2] in {"까지", "まで"} else 0)
            merged[-1] = Dated(last.start, end, f"{last.value}..{item.value}")
        else:
            merged.append(item)
    used: set[int] = set()
    found: list[Dated] = []
    for day in days:
        best = day
        for at, time in enumerate(merged):
            if at in used or time.value[0] != "T" or "T" in day.value:
                continue
            gap = text[day.end : time.start] if time.start >= day.end else text[time.end : day.start]
            if len(gap) <= 24 and (
                _BETWEEN.match(gap)
                if time.start >= day.end
                else gap.strip(SPACE) in {"on", "am", "el", "le", "il", "", ",", "em", "den"}
            ):
                used.add(at)
                best = Dated(min(day.start, time.start), max(day.end, time.end), day.value + time.value)
                break
        found.append(best)
    found += [time for at, time in enumerate(merged) if at not in used]
    return sorted(found)
