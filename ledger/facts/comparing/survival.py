"""Does a fact survive in a summary? (rule F2) Decided from the fact's own fields and the prepared summary, nothing else.

Values are compared exactly, in the place of the summary that speaks of the same thing. Statements are aligned by their content
words; then polarity, quantifier and obligation are compared. Where alignment is in doubt the fact has not survived.
"""

from __future__ import annotations

from datetime import date, timedelta

from ledger.facts.comparing.comparison import compared
from ledger.facts.comparing.dated import more_exact, told_apart
from ledger.facts.comparing.places import PLACES_MAX, Place, Places, Wanted
from ledger.facts.comparing.restatement import statement
from ledger.facts.comparing.summary import Part, SummaryText
from ledger.facts.extraction.entry_facts import entry_outcome, is_entry
from ledger.facts.findings import MISSING, Finding, is_date, tail_of
from ledger.facts.language.fold import DIGITS, fold
from ledger.facts.model import alternatives
from ledger.facts.values.rates import other_period, with_rate, without_rate
from schemas.facts import Fact


def survival(fact: Fact, summary: SummaryText) -> Finding:
    """The outcome of one fact in one summary. Pure; never raises."""
    if is_entry(fact):
        return compared(fact, entry_outcome(fact, summary.entries), fact.value, summary)
    if fact.cls == "identifier":
        return _identifier(fact, summary)
    if fact.cls == "numeric":
        return _numeric(fact, summary)
    if fact.cls == "commitment" and is_date(fact.value):
        return _date(fact, summary)
    return compared(fact, statement(fact, summary), fact.value, summary)


def _identifier(fact: Fact, summary: SummaryText) -> Finding:
    found = summary.find(fact.value)
    if found is not None:
        return Finding("verbatim", *found)
    bare = fact.value.removeprefix("./").removesuffix("()")
    if bare != fact.value and bare:
        found = summary.find(bare)
        if found is not None:
            return Finding("equivalent", *found)  # `./` and `()` are no part of the name
        at = summary.text.find(f".{bare}(") if fact.value.endswith("()") else -1
        if at >= 0:
            return Finding("equivalent", at + 1, at + 1 + len(bare))  # `store.read()` calls `read()`
    near = summary.identifier_folds.get(fold(fact.value))
    if near is None:
        near = summary.identifier_folds.get(tail_of(fact.value))
    if near is None and len(fact.value) >= 6:
        near = _cut(fact.value, summary)
    return Finding("changed", *near) if near is not None else MISSING


def _cut(value: str, summary: SummaryText) -> tuple[int, int] | None:
    """The identifier of the summary that shares half of this one's characters from the front; paths share too easily."""
    if "/" in value:
        return None
    best, place = len(value) // 2, None
    for other in summary.identifier_heads.get(value[:4], ()):
        shorter = min(len(value), len(other))
        common = next((at for at in range(shorter) if value[at] != other[at]), shorter)
        if common >= best:
            best, place = common + 1, summary.identifiers[other][0]
    return place


def _sets(context: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    near, _, rest = context.partition("|")
    return [alternatives(word) for word in near.split(" ") if word and word[0] != "%"], [
        alternatives(word) for word in rest.split(" ") if word
    ]


def _numeric(fact: Fact, summary: SummaryText) -> Finding:
    op, value = split_bound(fact.value)
    unit = _unit_of(value)
    near, rest = _sets(fact.context)
    if fact.subject and (fact.subject,) not in near:
        near = [(fact.subject,), *near]
    wanted = Wanted(near, rest)
    surest = wanted.closest(_of_value(value, summary), op)
    if surest is not None:
        exact, others = [(wanted.most, surest)], _NONE  # no other place is closer
    else:
        places = [*_worth_comparing(summary.numbers.get(unit), value, near, rest), *_told_as_rate(value, near, rest, summary)]
        exact, others = _scored(places, value, wanted)
    best_other = max((item[0] for item in others), default=-1)
    if not exact:
        none = _none_of(fact, value, summary)
        if none is not None:
            return none
        close = max(others, key=lambda item: item[0], default=None)
        if close is not None and close[0] >= 4 and _counts_alike(fact, value, close[1], wanted):
            changed_bound = (bool(op) and close[1].op != op) or value[:1] in "[("
            return Finding("changed", close[1].start, close[1].end, quantifier="changed" if changed_bound else "n/a")
        return _quantified_away(fact, near, rest, summary)
    same_bound = [item for item in exact if item[1].op == op] or exact
    score, place = max(same_bound, key=lambda item: item[0])
    spoken = bool(near or rest)
    if best_other > score and (score < 4 or _nearer(score, place, others, wanted)):
        return Finding("changed", place.start, place.end)
    if fact.subject and score == 0 and spoken:
        return MISSING
    if other_period([key for word in (*near, *rest) for key in word], place.near | place.around):
        return Finding("changed", place.start, place.end)
    if score == 0 and spoken and not _distinctive(value) and len(place.around) > 1 and best_other > 0:
        return Finding("changed", place.start, place.end)
    if not op and not place.op and _other_bound(place, near, rest):
        return Finding("changed", place.start, place.end, quantifier="changed")
    if place.op != op and not _limits_alike(op, place, near, rest):
        if op == "~" and not place.op:
            return Finding("equivalent", place.start, place.end, hedge="stripped")
        if _OPPOSITE.get(op or _cap(near, rest)) == place.op:
            return Finding("inverted", place.start, place.end, polarity="inverted")
        if {op, place.op} <= {"", "=="}:
            return Finding("equivalent", place.start, place.end)
        return Finding("changed", place.start, place.end, quantifier="changed" if op and op != "~" else "n/a")
    return Finding(
        "equivalent" if fact.context else "verbatim", place.start, place.end, quantifier="kept" if op in {"<=", ">="} else "n/a"
    )


_Scored = list[tuple[int, Place]]
"""Places with their closeness, in the order of the text."""

_NONE: _Scored = []


def _scored(places: list[Place], value: str, wanted: Wanted) -> tuple[_Scored, _Scored]:
    """The places of this value and those of others."""
    exact: _Scored = []
    others: _Scored = []
    closeness = wanted.closeness
    for place in places:
        (exact if place.value == value else others).append((closeness(place), place))
    return exact, others


def _nearer(score: int, place: Place, others: _Scored, wanted: Wanted) -> bool:
    """Is there a closer place of another value with more of the nearest words by it?"""
    hits = wanted.near_hits(place)
    return any(other > score and wanted.near_hits(there) > hits for other, there in others)


def _counts_alike(fact: Fact, value: str, place: Place, wanted: Wanted) -> bool:
    """Another number is the same one changed only where it counts the same: eleven guests are no other number of attempts. A
    plain number is no changed rate, and one of a noun that the fact does not speak of no changed number, unless more than one
    word beside them is the same.
    """
    if fact.subject and not (fact.subject in place.near or fact.subject in place.around):
        return False
    of_another = bool(place.counted) and not wanted.names(place.counted)
    return (not of_another and (" per " in value) == (" per " in place.value)) or wanted.near_hits(place) > 1


def _worth_comparing(
    places: Places | None, value: str, near: list[tuple[str, ...]], rest: list[tuple[str, ...]]
) -> list[Place]:
    return places.worth_comparing(value, (key for word in (*near, *rest) for key in word)) if places else []


def _of_value(value: str, summary: SummaryText) -> list[Place]:
    places = summary.numbers.get(_unit_of(value))
    return places.of_value(value) if places else []


def _cap(near: list[tuple[str, ...]], rest: list[tuple[str, ...]]) -> str:
    """`The cap is $500` bounds from above without a word for the bound."""
    return "<=" if any("@limit" in word for word in (*near, *rest)) else ""


def _told_as_rate(value: str, near: list[tuple[str, ...]], rest: list[tuple[str, ...]], summary: SummaryText) -> list[Place]:
    """Places that hold the value with its period told the other way: `monthly ... $1,500` and `$1,500 per month`."""
    said = {key for word in (*near, *rest) for key in word}
    found = [place for rated in with_rate(value, said) for place in _of_value(rated, summary)]
    for total, adverb in without_rate(value):
        found += [place for place in _of_value(total, summary) if adverb in place.near or adverb in place.around]
    return [place._replace(value=value) for place in found]


_OPPOSITE = {"<=": ">", ">": "<=", ">=": "<", "<": ">="}
"""`must not exceed 20` turned into `must exceed 20`: what the one allows is just what the other forbids."""


def _limits_alike(op: str, place: Place, near: list[tuple[str, ...]], rest: list[tuple[str, ...]]) -> bool:
    """`limit lines to 100` sets the bound by its verb, `no longer than 100` by its bound."""
    bound = op or place.op
    if (op and place.op) or bound not in _BOUND_WORDS:
        return False
    word = _BOUND_WORDS[bound]
    return word in place.around | place.near if not place.op else any(word in keys for keys in (*near, *rest))


_BOUND_WORDS = {"<=": "@limit", ">=": "@w_least"}
"""`minimum length: 14` says what `at least 14` does."""


def _other_bound(place: Place, near: list[tuple[str, ...]], rest: list[tuple[str, ...]]) -> bool:
    """`The upload cap is 20 MB` told as `the minimum upload is 20 MB`: the word for the bound is the other one."""
    said = {word for word in _BOUND_WORDS.values() if any(word in keys for keys in (*near, *rest))}
    told = {word for word in _BOUND_WORDS.values() if word in place.around}
    return len(said) == 1 and len(told) == 1 and said != told


def _none_of(fact: Fact, value: str, summary: SummaryText) -> Finding | None:
    """`0 failed` may be told as `none failed`, `no failures`."""
    if value != "0" or not fact.subject:
        return None
    for part in _parts_with((fact.subject,), summary):
        if part.negated and fact.subject in part.keys:
            return Finding("equivalent", part.start, part.end)
    return None


def _quantified_away(fact: Fact, near: list[tuple[str, ...]], rest: list[tuple[str, ...]], summary: SummaryText) -> Finding:
    """`57 of 60 tables` that became `some tables`: a vague word stands where the number stood."""
    if " of " in fact.value or fact.value[:1] in "<>":
        for part in _parts_with(tuple(key for word in near[:3] for key in word), summary):
            if part.quantifier in {"some", "most", "all"} and any(key in part.keys for word in near[:3] for key in word):
                return Finding("changed", part.start, part.end, quantifier="changed")
    return MISSING


def _parts_with(keys: tuple[str, ...], summary: SummaryText) -> list[Part]:
    """The clauses with one of these words, in the order of the text; `PLACES_MAX` at most of each word."""
    at = {part for key in keys for part in summary.by_key.get(key.lstrip("-^"), ())[:PLACES_MAX]}
    return [summary.parts[part] for part in sorted(at)]


def _distinctive(value: str) -> bool:
    return sum(char in DIGITS for char in value.partition(" ")[0]) >= 4


def split_bound(value: str) -> tuple[str, str]:
    """`<=250` -> (`<=`, `250`)."""
    for op in ("<=", ">=", "<", ">", "~", "±"):
        if value.startswith(op):
            return op, value[len(op) :]
    return "", value


def _unit_of(value: str) -> str:
    """The key under which a number of this canonical form is listed: its base unit, `ratio`, or nothing."""
    if " of " in value:
        return ""
    if ":" in value:
        return "ratio"
    unit = value.partition(" ")[2]
    if unit.startswith("per "):
        return ""
    return unit.partition(" per ")[0] if unit else ""


def _date(fact: Fact, summary: SummaryText) -> Finding:
    near, rest = _sets(fact.context)
    wanted = [fact.value]
    if fact.subject.startswith("@") and fact.value[:1] in "+-":
        wanted += _resolved(fact.subject[1:], fact.value[:-1])
    words = Wanted(near, rest)
    surest = words.closest(summary.dates.of_value(fact.value))
    found, others = _dated(fact, wanted, words, (near, rest), summary) if surest is None else ([(words.most, surest)], _NONE)
    other = max(others, key=lambda item: item[0], default=None)
    if not found:
        return Finding("changed", other[1].start, other[1].end) if other is not None and other[0] >= 2 else MISSING
    score, place = max(found, key=lambda item: item[0])
    if place.op and place.op == _OTHER_SIDE.get(fact.context[:2]):
        return Finding("changed", place.start, place.end)
    if other is not None and other[0] > score and score < 4 and other[0] >= 4:
        return Finding("changed", place.start, place.end)
    return Finding("equivalent", place.start, place.end)


def _dated(
    fact: Fact,
    wanted: list[str],
    words: Wanted,
    sets: tuple[list[tuple[str, ...]], list[tuple[str, ...]]],
    summary: SummaryText,
) -> tuple[_Scored, _Scored]:
    """The places of one of the wanted days, and those of other days that are told in the same way."""
    places = [place for value in wanted for place in _worth_comparing(summary.dates, value, *sets)]
    places = list(dict.fromkeys(places)) if len(wanted) > 1 else places
    found: _Scored = []
    closeness = words.closeness
    for value in wanted:
        found += [(closeness(place), place) for place in places if place.value == value]
        if not found:
            found += [(closeness(p), p) for p in places if more_exact(value, p.value)]
        if not found and "T" in value[1:] and ".." not in value:
            found += [(closeness(p), p) for p in told_apart(value, places)]
    taken = {id(place) for _, place in found}
    others = [(closeness(place), place) for place in places if place.value[:1] == fact.value[:1] and id(place) not in taken]
    return found, others


_OTHER_SIDE = {"%<": ">", "%>": "<"}
"""`by 14 March` told as `after 14 March`: the date stands, what it bounds is the other side."""


def _resolved(anchor: str, days: str) -> list[str]:
    """The day that lies so many days from the anchor; nothing where a publisher wrote what is no day."""
    try:
        return [(date.fromisoformat(anchor) + timedelta(days=int(days))).isoformat()]
    except (ValueError, OverflowError):
        return []
