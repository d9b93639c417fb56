"""Does a fact survive in a summary? (rule F2) Decided from the fact's own fields and the prepared summary, nothing else.

Values are compared exactly, in the place of the summary that speaks of the same thing. Statements are aligned by their content words; then
polarity, quantifier and obligation are compared. Where alignment is in doubt the fact has not survived.
"""

from __future__ import annotations

from datetime import date, timedelta
from typing import Literal

import msgspec

from ledger.facts import lexicon as lx
from ledger.facts.model import alternatives
from ledger.facts.summary import Part, Place, SummaryText
from schemas.facts import Fact, Survival

ENOUGH = (3, 5)
"""Share of a statement's content words that its restatement has to hold. Higher calls paraphrases lost, lower confuses statements."""

ENOUGH_LONG = (1, 2)
"""The same for statements of `LONG_WORDS` content words and more, which are paraphrased more freely."""

LONG_WORDS = 8


class Finding(msgspec.Struct, frozen=True):
    """How one fact fared. `start`, `end`: where it stands in the summary, or what stands there instead; code points."""

    outcome: Survival
    start: int | None = None
    end: int | None = None
    polarity: Literal["kept", "inverted", "n/a"] = "n/a"
    quantifier: Literal["kept", "changed", "n/a"] = "n/a"
    hedge: Literal["kept", "stripped", "n/a"] = "n/a"


MISSING = Finding("missing")


def survival(fact: Fact, summary: SummaryText) -> Finding:
    """The outcome of one fact in one summary. Pure; never raises."""
    if fact.cls == "identifier":
        return _identifier(fact, summary)
    if fact.cls == "numeric":
        return _numeric(fact, summary)
    if fact.cls == "commitment" and _is_date(fact.value):
        return _date(fact, summary)
    return _statement(fact, summary)


def _identifier(fact: Fact, summary: SummaryText) -> Finding:
    found = summary.find(fact.value)
    if found is not None:
        return Finding("verbatim", *found)
    near = summary.identifier_folds.get(fact.value.lower())
    if near is None:
        near = summary.identifier_folds.get(_tail_of(fact.value))
    if near is None and len(fact.value) >= 6:
        near = _cut(fact.value, summary)
    return Finding("changed", *near) if near is not None else MISSING


def _tail_of(value: str) -> str:
    """The key under which a path is found by its last part alone."""
    return "/" + value.replace("\\", "/").rstrip("/").rpartition("/")[2].lower()


def _cut(value: str, summary: SummaryText) -> tuple[int, int] | None:
    """The identifier of the summary that shares at least half of this one's characters from the front."""
    stem = value[: max(4, len(value) // 2)]
    at = summary.text.find(stem)
    return (at, at + len(stem)) if at >= 0 else None


def _sets(context: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    near, _, rest = context.partition("|")
    return [alternatives(word) for word in near.split(" ") if word], [alternatives(word) for word in rest.split(" ") if word]


def _near_hits(place: Place, near: list[tuple[str, ...]]) -> int:
    return sum(any(key in place.near for key in word) for word in near)


def _closeness(place: Place, near: list[tuple[str, ...]], rest: list[tuple[str, ...]]) -> int:
    score = 0
    for word in near:
        if any(key in place.near for key in word):
            score += 4
        elif any(key in place.around for key in word):
            score += 2
    for word in rest:
        if any(key in place.around for key in word):
            score += 1
    return score


def _numeric(fact: Fact, summary: SummaryText) -> Finding:
    op, value = split_bound(fact.value)
    unit = _unit_of(value)
    places = summary.numbers.get(unit, [])
    near, rest = _sets(fact.context)
    if fact.subject and (fact.subject,) not in near:
        near = [(fact.subject,), *near]
    scored = [(_closeness(place, near, rest), place) for place in places]
    exact = [(score, place) for score, place in scored if place.value == value]
    others = [(score, place) for score, place in scored if place.value != value]
    best_other = max((item[0] for item in others), default=-1)
    if not exact:
        close = max(others, key=lambda item: item[0], default=None)
        if close is not None and close[0] >= 4:
            changed_bound = (bool(op) and close[1].op != op) or value[:1] in "[("
            return Finding("changed", close[1].start, close[1].end, quantifier="changed" if changed_bound else "n/a")
        return _quantified_away(fact, near, rest, summary)
    same_bound = [item for item in exact if item[1].op == op] or exact
    score, place = max(same_bound, key=lambda item: item[0])
    spoken = bool(near or rest)
    if best_other > score and (
        score < 4 or any(s > score and _near_hits(p, near) > _near_hits(place, near) for s, p in others)
    ):
        return Finding("changed", place.start, place.end)
    if fact.subject and score == 0 and spoken:
        return MISSING
    if score == 0 and spoken and not _distinctive(value) and len(place.around) > 1 and best_other > 0:
        return Finding("changed", place.start, place.end)
    if place.op != op:
        if op == "~" and not place.op:
            return Finding("equivalent", place.start, place.end, hedge="stripped")
        if {op, place.op} <= {"", "=="}:
            return Finding("equivalent", place.start, place.end)
        return Finding("changed", place.start, place.end, quantifier="changed" if op and op != "~" else "n/a")
    return Finding(
        "equivalent" if fact.context else "verbatim", place.start, place.end, quantifier="kept" if op in {"<=", ">="} else "n/a"
    )


def _quantified_away(fact: Fact, near: list[tuple[str, ...]], rest: list[tuple[str, ...]], summary: SummaryText) -> Finding:
    """`57 of 60 tables` that became `some tables`: a vague word stands where the number stood."""
    if " of " in fact.value or fact.value[:1] in "<>":
        for part in summary.parts:
            if part.quantifier in {"some", "most", "all"} and any(key in part.keys for word in near[:3] for key in word):
                return Finding("changed", part.start, part.end, quantifier="changed")
    return MISSING


def _distinctive(value: str) -> bool:
    return sum(char.isdecimal() for char in value.partition(" ")[0]) >= 4


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
    number, _, unit = value.partition(" ")
    if unit.startswith("per "):
        return ""
    return unit.partition(" per ")[0] if unit else ""


def _is_date(value: str) -> bool:
    return (
        (value[:1] in "-+?T" or value[:4].isdecimal())
        and any(char.isdecimal() for char in value)
        and len(value) <= 48
        and value[:1] != " "
        and " " not in value
    )


def _date(fact: Fact, summary: SummaryText) -> Finding:
    near, rest = _sets(fact.context)
    wanted = [fact.value]
    if fact.subject.startswith("@") and fact.value[:1] in "+-":
        wanted.append((date.fromisoformat(fact.subject[1:]) + timedelta(days=int(fact.value[:-1]))).isoformat())
    found: list[tuple[int, Place]] = []
    for value in wanted:
        found += [(_closeness(place, near, rest), place) for place in summary.date_values.get(value, ())]
        if not found:
            found += [(_closeness(p, near, rest), p) for p in summary.dates if _more_exact(value, p.value)]
    others = [
        (_closeness(place, near, rest), place)
        for place in summary.dates
        if all(place is not item[1] for item in found) and place.value[:1] == fact.value[:1]
    ]
    other = max(others, key=lambda item: item[0], default=None)
    if not found:
        return Finding("changed", other[1].start, other[1].end) if other is not None and other[0] >= 2 else MISSING
    score, place = max(found, key=lambda item: item[0])
    if other is not None and other[0] > score and score < 4 and other[0] >= 4:
        return Finding("changed", place.start, place.end)
    return Finding("equivalent", place.start, place.end)


def _more_exact(value: str, other: str) -> bool:
    """`--12-09` is held by `2026-12-09`, `2026-12-09` by `2026-12-09T17:00`; never the other way round."""
    if value.startswith("--"):
        return ("T" not in value and len(other) >= 10 and other[4:10] == value[1:]) or ("T" in value and other[4:] == value[1:])
    return "T" not in value and len(value) == 10 and other.startswith(value + "T")


HARD_WEIGHT = 2
"""A name, identifier or value tells statements apart better than a word does."""


class _Word:
    __slots__ = ("hard", "keys", "weight")

    def __init__(self, text: str) -> None:
        self.hard = text[0] in "^!#"
        self.weight = HARD_WEIGHT if text[0] in "^!" else 0 if text.lstrip("-")[0] == "<" else 1
        self.keys = alternatives(text)


def _statement(fact: Fact, summary: SummaryText) -> Finding:
    marks = [word for word in fact.context.split(" ") if word[:1] == "%"]
    words = [_Word(word) for word in fact.context.split(" ") if word and word[0] != "%"]
    if not words:
        return Finding("verbatim") if fact.value and fact.value in summary.normal else MISSING
    hits: dict[int, int] = {}
    for word in words:
        seen: set[int] = set()
        for key in word.keys:
            for part in summary.by_key.get(key.lstrip("-"), ()):
                if part not in seen:
                    seen.add(part)
                    hits[part] = hits.get(part, 0) + word.weight
        if not seen and word.keys[0][0] == "!":
            part = summary.part_at(word.keys[0][1:])
            if part is not None:
                hits[part] = hits.get(part, 0) + word.weight
    if not hits:
        return MISSING
    return _judge(fact, words, marks, summary, hits)


def _judge(fact: Fact, words: list[_Word], marks: list[str], summary: SummaryText, hits: dict[int, int]) -> Finding:
    best = sorted(hits, key=lambda part: (-hits[part], summary.parts[part].size, part))[:6]
    best = [part for part in best if hits[part] * 4 >= hits[best[0]] * 3]
    total = sum(word.weight for word in words)
    findings: list[tuple[int, Finding]] = []
    for part in best:
        window = [at for at in summary.sentence_parts[summary.parts[part].sentence] if at in hits]
        if hits[part] >= total:
            window = [part]
        findings.append(_compare(fact, words, marks, summary, part, window))
        if findings[-1][1].outcome in {"verbatim", "equivalent"} and findings[-1][0] == total:
            return findings[-1][1]
    rank = {"verbatim": 0, "equivalent": 0, "inverted": 1, "changed": 2, "weakened": 2, "missing": 4}
    kept = [item for item in findings if item[1].outcome in {"verbatim", "equivalent"}]
    turned = [item for item in findings if item[1].outcome == "inverted"]
    if kept and (not turned or max(c for c, _ in kept) >= max(c for c, _ in turned)):
        return max(kept, key=lambda item: item[0])[1]
    return min(findings, key=lambda item: (rank[item[1].outcome], -item[0]))[1]


def _compare(
    fact: Fact, words: list[_Word], marks: list[str], summary: SummaryText, main: int, window: list[int]
) -> tuple[int, Finding]:
    parts = [summary.parts[at] for at in window]
    covered = plain = matched = 0
    main_sign = summary.parts[main].sign
    missing_hard = False
    both = {key for word in words for key in word.keys if key[:1] == "@" or key[:2] == "-@"}
    both = {key for key in both if _turned(key) in both}
    order_turned = False
    for word in words:
        if not word.weight:
            held = any(key in part.keys for part in parts for key in word.keys)
            order_turned = order_turned or (not held and any(_turned(key) in part.keys for part in parts for key in word.keys))
            continue
        holders = [part for part in parts if any(key in part.keys or _turned(key) in part.keys for key in word.keys)]
        if not holders and word.keys[0][0] == "!" and summary.part_at(word.keys[0][1:]) in window:
            covered += word.weight
            continue
        if not holders and word.keys[0][0] == "!" and _tail_of(word.keys[0][1:]) in summary.identifier_folds:
            covered += 1
            missing_hard = True
            continue
        if not holders:
            missing_hard = missing_hard or (word.hard and not any(key.lstrip("-") in summary.by_key for key in word.keys))
            continue
        covered += word.weight
        decisive = [summary.parts[main]] if any(part is summary.parts[main] for part in holders) else holders
        same = any(key in part.keys or key in both for part in decisive for key in word.keys)
        plain += not word.hard
        matched += 1
        if not same:
            main_sign = -main_sign
    total = sum(word.weight for word in words)
    share = ENOUGH_LONG if len(words) >= LONG_WORDS else ENOUGH
    start, end = min(p.start for p in parts), max(p.end for p in parts)
    part = summary.parts[main]
    plain_total = sum(not word.hard and word.weight > 0 for word in words)
    if covered * share[1] < share[0] * total or plain * 2 < plain_total:
        if covered * 2 >= total and covered >= 2:
            return covered, Finding("changed", start, end) if fact.cls != "narrative" else MISSING
        return covered, MISSING
    return covered, _verdict(
        fact,
        marks,
        summary,
        parts,
        part,
        main_sign,
        missing_hard or order_turned,
        covered == total,
        sum(word.weight > 0 for word in words),
        matched,
        start,
        end,
    )


def _turned(key: str) -> str:
    return key[1:] if key[0] == "-" else "-" + key


def _verdict(
    fact: Fact, marks: list[str], summary: SummaryText, parts: list[Part], part: Part, sign: int, missing_hard: bool, whole: bool, size: int, matched: int,
    start: int, end: int,
) -> Finding:  # fmt: skip
    wanted = -1 if fact.polarity == "negated" else 1
    banned = fact.cls == "prohibition"
    hedge: Literal["kept", "stripped", "n/a"] = "n/a"
    if fact.hedge:
        hedge = "kept" if any(p.hedge or p.flags & (lx.HEDGE | lx.MAY) for p in parts) else "stripped"
    quantifier = _quantifier(fact, parts, "%exc" in marks)
    unbound = banned and "%exc" in marks and fact.quantifier == "only" and part.flags & (lx.EXC | lx.UNTIL) and not part.negated
    if sign != wanted or (unbound and part.quantifier != "only" and not (part.quantifier == "all" and part.flags & lx.MUST)):
        if (banned and (size == 1 or matched > 1)) or (not banned and matched > 1):
            return Finding("inverted", start, end, polarity="inverted", hedge=hedge)
        return MISSING
    polarity: Literal["kept", "inverted", "n/a"] = "kept" if banned else "n/a"
    if quantifier == "changed":
        return Finding("changed", start, end, "n/a" if "%exc" in marks else polarity, quantifier, hedge)
    if quantifier == "kept" and "%not" in marks:
        quantifier = "n/a"
    if missing_hard or (hedge == "stripped" and fact.cls != "narrative"):
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if "%ask" in marks and not any(p.flags & (lx.ASK | lx.HEDGE | lx.QUESTION) for p in parts):
        return Finding("changed", start, end, hedge="stripped")
    if "%imp" in marks and all(p.flags & lx.MAY and not p.flags & lx.MUST for p in parts) and not any(p.negated for p in parts):
        return Finding("weakened", start, end, polarity, quantifier, hedge)
    return Finding(
        "verbatim" if whole and fact.value in summary.normal else "equivalent", start, end, polarity, quantifier, hedge
    )


def _quantifier(fact: Fact, parts: list[Part], excepted: bool) -> Literal["kept", "changed", "n/a"]:
    wanted = fact.quantifier
    if not wanted or (wanted == "all" and fact.polarity == "negated"):
        return "n/a"
    have = {part.quantifier for part in parts}
    if wanted in have:
        return "kept"
    if wanted == "only" and any(part.excepted for part in parts):
        return "kept"
    if wanted == "only" and excepted and "all" in have and any(part.flags & lx.MUST for part in parts):
        return "kept"
    if wanted in {"some", "most"} and not have & {"all", "only"}:
        return "n/a"
    return "changed"
