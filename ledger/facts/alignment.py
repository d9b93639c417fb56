"""Statements aligned by their content words, then compared in polarity, quantifier, order and obligation (rule F2)."""

from __future__ import annotations

from typing import Literal

from ledger.facts import lexicon as lx
from ledger.facts.findings import MISSING, Finding, tail_of
from ledger.facts.model import alternatives
from ledger.facts.summary import Part, SummaryText
from schemas.facts import SURVIVING, Fact

ENOUGH = (3, 5)
"""Share of a statement's content words that its restatement has to hold: higher calls paraphrases lost, lower confuses
statements."""


ENOUGH_LONG = (1, 2)
"""The same for statements of `LONG_WORDS` content words and more, which are paraphrased more freely."""


ENOUGH_PAIRS = (2, 5)
"""The same where pairs of signs stand for words (Chinese, Japanese): pairs across the border of two words change with their
order."""


LONG_WORDS = 8


HARD_WEIGHT = 2
"""A name, identifier or value tells statements apart better than a word does."""


class _Word:
    __slots__ = ("hard", "keys", "segment", "weight")

    def __init__(self, text: str, segment: int) -> None:
        self.segment = segment
        self.hard = text[0] in "^!#"
        self.weight = HARD_WEIGHT if text[0] in "^!" else 0 if text.lstrip("-")[:1] == "<" else 1
        self.keys = _any_bound(text) if text[0] == "#" else alternatives(text)


def _any_bound(text: str) -> tuple[str, ...]:
    """A number of a statement under every bound: whether the bound is kept is the numeric fact's question."""
    value = alternatives(text)[0][1:].lstrip("<>=~")
    return tuple(f"#{op}{value}" for op in ("", "<=", ">=", "<", ">", "~"))


def _words(context: str) -> list[_Word]:
    words: list[_Word] = []
    segment = 0
    for word in context.split(" "):
        if word == "%,":
            segment += 1
        elif word and word[0] != "%" and alternatives(word):
            words.append(_Word(word, segment))
    return words


def statement(fact: Fact, summary: SummaryText) -> Finding:
    """The outcome of a statement: its clause is found in the summary by its words, then compared."""
    marks = [word for word in fact.context.split(" ") if word[:1] == "%"]
    words = _words(fact.context)
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
            named = summary.part_at(word.keys[0][1:])
            if named is not None:
                hits[named] = hits.get(named, 0) + word.weight
    if not hits:
        return MISSING
    return _judge(fact, words, marks, summary, hits)


def _judge(fact: Fact, words: list[_Word], marks: list[str], summary: SummaryText, hits: dict[int, int]) -> Finding:
    """Tries the clauses that share most with the statement; a restatement outweighs an opposite that shares less."""
    best = sorted(hits, key=lambda part: (-hits[part], summary.parts[part].size, part))[:CANDIDATES]
    best = [part for part in best if hits[part] * 4 >= hits[best[0]] * 3]
    best = [part for part in best if not summary.parts[part].label] or best
    total = sum(word.weight for word in words)
    predicate = next((alternatives(mark[6:]) for mark in marks if mark.startswith("%verb=")), ())
    findings: list[tuple[int, Finding]] = []
    for part in best:
        window = [at for at in _around(fact, part, summary) if at in hits]
        match = _Match(summary, part, [part] if hits[part] >= total else window, words, predicate, "%exc" not in marks)
        findings.append((match.covered, _outcome(fact, marks, match)))
        if findings[-1][1].outcome in SURVIVING and match.covered == total:
            return findings[-1][1]
    kept = [item for item in findings if item[1].outcome in SURVIVING]
    turned = [item for item in findings if item[1].outcome == "inverted"]
    if kept and (not turned or max(c for c, _ in kept) >= max(c for c, _ in turned)):
        return max(kept, key=lambda item: item[0])[1]
    return min(findings, key=lambda item: (_WORST[item[1].outcome], -item[0]))[1]


def _around(fact: Fact, part: int, summary: SummaryText) -> list[int]:
    """The clauses of the same sentence; for what merely tells, in a long summary, those of the sentences next to it too."""
    sentence = summary.parts[part].sentence
    if fact.cls != "narrative" or len(summary.parts) <= LONG_SUMMARY_PARTS:
        return summary.sentence_parts[sentence]
    return [at for near in summary.sentence_parts[max(0, sentence - 1) : sentence + 2] for at in near]


CANDIDATES = 6
"""Clauses of a summary that are compared with one statement."""

_WORST = {"verbatim": 0, "equivalent": 0, "inverted": 1, "changed": 2, "weakened": 2, "missing": 4}


class _Match:
    """How the words of a statement lie in a clause of the summary and its neighbours in the same sentence."""

    __slots__ = (
        "acts",
        "covered",
        "end",
        "main",
        "matched",
        "named",
        "own",
        "own_words",
        "parts",
        "plain",
        "predicate",
        "rare",
        "start",
        "summary",
        "turned",
        "whole",
        "words",
        "wrong",
    )

    def __init__(
        self, summary: SummaryText, main: int, window: list[int], words: list[_Word], predicate: tuple[str, ...], ordered: bool
    ) -> None:
        self.summary, self.words, self.predicate = summary, words, predicate
        self.main = summary.parts[main]
        self.parts = [summary.parts[at] for at in window]
        self.start, self.end = min(p.start for p in self.parts), max(p.end for p in self.parts)
        self.covered = self.plain = self.matched = self.own = self.own_words = self.rare = 0
        """`own`: weight of the words in the main clause itself, `own_words` their number, `rare` how many of them are rare."""
        self.turned = self.wrong = self.named = False
        """`turned`: a word stands there as its opposite; `wrong`: a name or value is missing, or an order is reversed."""
        both = {key for word in words for key in word.keys if key.lstrip("-")[:1] == "@"}
        both = {key for key in both if _turned(key) in both}
        for word in words:
            if word.weight:
                self._weigh(word, window, both)
            else:
                self.wrong = self.wrong or (ordered and self._reversed(word))
        listed = bool(words) and words[-1].segment > 0
        self.wrong = self.wrong or self._mixed() or (listed and self._crossed())
        self.acts = (
            not predicate
            or _nominal(self.main)
            or any(key in part.keys or _turned(key) in part.keys for part in self.parts for key in predicate)
        )
        self.whole = self.covered == sum(word.weight for word in words)

    def _mixed(self) -> bool:
        """Part of the statement stands in a clause of the other sign: `changes are fine without asking`."""
        weight = 0
        for word in self.words:
            if not any(key in self.main.keys or _turned(key) in self.main.keys for key in word.keys):
                holders = [part for part in self.parts if any(key in part.keys for key in word.keys)]
                if holders and all(part.sign != self.main.sign for part in holders):
                    weight += word.weight
        return weight > 1

    def _crossed(self) -> bool:
        """`blue for invoices, green for offers` told as `green for invoices, blue for offers`: two members mix places."""
        places: dict[int, set[int]] = {}
        for word in self.words:
            spots = {spot for part in self.parts for key in word.keys for spot in part.segments.get(key, ())}
            if word.weight and len(spots) == 1:
                places.setdefault(word.segment, set()).update(spots)
        spread = [spots for spots in places.values() if len(spots) > 1]
        return any(len(one & other) > 1 for at, one in enumerate(spread) for other in spread[at + 1 :])

    def _reversed(self, word: _Word) -> bool:
        held = any(key in part.keys for part in self.parts for key in word.keys)
        return not held and any(_turned(key) in part.keys for part in self.parts for key in word.keys)

    def _weigh(self, word: _Word, window: list[int], both: set[str]) -> None:
        holders = [part for part in self.parts if any(key in part.keys or _turned(key) in part.keys for key in word.keys)]
        if _REMOVED in word.keys and self.main.sign < 0 and not self.main.keys & _KEPT_OR_REMOVED:
            self.covered += word.weight  # `remove X` is `without X`, `no X`
            self.turned = True
            return
        if not holders and word.keys == self.predicate and _nominal(self.main):
            self.covered += word.weight  # `no emoji` says `do not use emoji`
            self.plain += 1
            return
        if not holders:
            self._weigh_name(word, window)
            return
        self.covered += word.weight
        self.matched += 1
        self.plain += not word.hard
        self.named = self.named or word.hard
        if any(part is self.main for part in holders):
            self.own += word.weight
            self.own_words += 1
            self.rare += self.summary.rare(word.keys)
            self.turned = self.turned or not any(key in self.main.keys or key in both for key in word.keys)
        elif not any(key in part.keys or key in both for part in holders for key in word.keys):
            self.turned = self.turned or any(part.sign == self.main.sign for part in holders)

    def _weigh_name(self, word: _Word, window: list[int]) -> None:
        """A word that no clause holds by its key: an unmarked name, a path of which the summary has another, or nothing."""
        name = word.keys[0][1:] if word.keys[0][0] == "!" else ""
        if name and self.summary.part_at(name) in window:
            self.covered += word.weight
        elif name and ("/" in name or name not in self.summary.identifiers) and tail_of(name) in self.summary.identifier_folds:
            self.covered += 1
            self.wrong = True
        else:
            self.wrong = self.wrong or (word.hard and not any(key.lstrip("-") in self.summary.by_key for key in word.keys))

    def enough(self) -> bool:
        """Does the match hold enough of the statement, and enough of its plain words, to speak of the same thing?"""
        share = ENOUGH_LONG if len(self.words) >= LONG_WORDS else ENOUGH
        if sum(not word.keys[-1].isascii() and len(word.keys[-1]) == 2 for word in self.words) * 2 > len(self.words):
            share = ENOUGH_PAIRS
        plain_total = sum(not word.hard and word.weight > 0 for word in self.words)
        if self.covered * share[1] < share[0] * sum(word.weight for word in self.words):
            return False
        return self.plain * 2 >= plain_total or (plain_total == 1 and self.matched > 2 and not self.wrong)


_TO_DO = frozenset({"-@done", "@ongoing"})
_REMOVED = "-@keep"
_KEPT_OR_REMOVED = frozenset({"@keep", "-@keep"})


def _turned(key: str) -> str:
    return key[1:] if key[0] == "-" else "-" + key


def _outcome(fact: Fact, marks: list[str], match: _Match) -> Finding:
    start, end, parts, part = match.start, match.end, match.parts, match.main
    if _exception_dropped(fact, marks, match):
        return Finding("inverted", start, end, polarity="inverted")
    if not match.enough():
        half = match.covered * 2 >= sum(word.weight for word in match.words) and match.covered >= 2
        return Finding("changed", start, end) if half and fact.cls != "narrative" else MISSING
    banned = fact.cls == "prohibition"
    hedge: Literal["kept", "stripped", "n/a"] = "n/a"
    if fact.hedge:
        hedge = "kept" if any(p.hedge or p.flags & (lx.HEDGE | lx.MAY) for p in parts) else "stripped"
    if _inverted(fact, marks, match):
        if match.acts and _surely_same(fact, marks, match):
            return Finding("inverted", start, end, polarity="inverted", hedge=hedge)
        near = fact.cls != "narrative" and match.own * 3 >= sum(word.weight for word in match.words) * 2 and match.own_words > 1
        return Finding("changed", start, end, hedge=hedge) if near and not part.label else MISSING
    polarity: Literal["kept", "inverted", "n/a"] = "kept" if banned else "n/a"
    quantifier = _quantifier(fact, parts, marks)
    if quantifier == "changed":
        return Finding("changed", start, end, "n/a" if "%exc" in marks else polarity, quantifier, hedge)
    if quantifier == "kept" and "%not" in marks:
        quantifier = "n/a"
    word_for_word = match.whole and len(match.words) >= LONG_WORDS and fact.value in match.summary.normal
    if (match.wrong and not word_for_word) or not match.acts or (hedge == "stripped" and fact.cls != "narrative"):
        return Finding("changed", start, end, polarity, quantifier, hedge)
    if "%todo" in marks and not any(p.negated or p.flags & lx.MUST or _TO_DO & p.keys for p in parts):
        if len(match.summary.parts) > LONG_SUMMARY_PARTS:
            return Finding("changed", start, end, polarity, quantifier, hedge)
        return Finding("inverted", start, end, polarity="inverted", hedge=hedge)
    if "%ask" in marks and not any(p.question or p.flags & (lx.ASK | lx.HEDGE | lx.QUESTION) for p in parts):
        return Finding("changed", start, end, hedge="stripped")
    if (
        "%imp" in marks
        and "%exc" not in marks
        and all(p.flags & lx.MAY and not p.flags & lx.MUST for p in parts)
        and not any(p.negated for p in parts)
    ):
        return Finding("weakened", start, end, polarity, quantifier, hedge)
    verbatim = word_for_word or (match.whole and fact.value in match.summary.normal)
    return Finding("verbatim" if verbatim else "equivalent", part.start, end, polarity, quantifier, hedge)


def _exception_dropped(fact: Fact, marks: list[str], match: _Match) -> bool:
    """`Do not call it without approval` told as `it may be called`: the act is allowed, nothing is left of its condition."""
    if fact.cls != "prohibition" or not {"%exc", "%not"} <= set(marks) or not match.predicate:
        return False
    main, told = match.main, [word for word in match.words if word.weight]
    act = 0
    while act < len(told) and any(key in main.keys for key in told[act].keys):
        act += 1
    if act < 2 or main.size > act + 1 or not any(key in main.keys for key in match.predicate):
        return False
    if any(key.lstrip("-") in part.keys for word in told[act:] for key in word.keys for part in match.parts):
        return False
    if main.label or main.question or main.hedge or (len(match.summary.parts) > LONG_SUMMARY_PARTS and not main.flags & lx.MAY):
        return False
    limits = lx.NEG | lx.EXC | lx.UNTIL
    return main.sign > 0 and not any(part.flags & limits or part.quantifier == "only" for part in match.parts)


def _nominal(part: Part) -> bool:
    """`No new dependencies`: a negation without a verb, so no other verb stands in for the one that is looked for."""
    return part.negated and not part.flags & (lx.AUX | lx.PRED | lx.VERB | lx.MUST | lx.MAY)


def _surely_same(fact: Fact, marks: list[str], match: _Match) -> bool:
    """An inversion pages somebody: it takes two thirds of the words, and more than one word unless that one settles it."""
    size = sum(word.weight for word in match.words)
    if len(match.summary.parts) > LONG_SUMMARY_PARTS:
        return _surely_same_in_a_story(fact, marks, match, size)
    if "%ban" not in marks and not match.turned and match.own * 3 < size * 2:
        return False
    if "%ban" not in marks and match.turned and match.covered * 4 < size * 3 and not 1 < match.own_words >= match.main.size - 1:
        return False
    if match.main.label or match.covered * 3 < size * 2 or (match.wrong and match.matched < 3):
        return False
    if "%ban" not in marks:
        return match.matched > (2 if fact.cls == "narrative" else 1) or (match.whole and match.named)
    if match.matched > 1:
        return True
    word = next((word for word in match.words if word.weight), None)
    polar = word is not None and any(key.lstrip("-") in lx.POLAR for key in word.keys)
    counted = match.main.quantifier and "%imp" not in marks  # `all 40 tests pass` counts things and does nothing
    return (polar or "%it" not in marks) and size == 1 and not counted


LONG_SUMMARY_PARTS = 40
"""Clauses from which on a summary tells the story of a session rather than restate a passage. In a story the same words stand
in many clauses, and a state that was true early is told with its later opposite, so that an inversion takes more evidence."""

RARE_WORDS_MIN = 2
"""Rare words that a clause of a long summary has to share with a statement before it can be called its opposite."""


def _surely_same_in_a_story(fact: Fact, marks: list[str], match: _Match, size: int) -> bool:
    """In a long summary the opposite has to stand in one clause with a predicate that holds nearly all words of the statement,
    several of them rare there. Only rules (bans, orders, decisions) can be turned by part of their words; a state of
    affairs may have changed since, so it takes all of its words and no mark of change.
    """
    main = match.main
    if main.label or match.wrong or main.question or not _predicates(main):
        return False
    if match.own_words < 2 or not match.rare or "%then" in marks or main.hedge:
        return False
    if "%rule" in marks and (match.covered if "%exc" in marks else match.own) == size:
        return True
    if match.own_words <= RARE_WORDS_MIN or match.rare < RARE_WORDS_MIN or match.own * 5 < size * 4:
        return False
    return "%rule" in marks or (not match.turned and match.own == size and main.size <= len(match.words) + 1)


def _predicates(part: Part) -> bool:
    return bool(part.flags & (lx.AUX | lx.PRED | lx.VERB | lx.MUST | lx.MAY | lx.NEG)) or not part.english


def _inverted(fact: Fact, marks: list[str], match: _Match) -> bool:
    """Opposite signs; or a ban with an exception of which only the exception is left (`may start before the audit`)."""
    part = match.main
    if "%ask" in marks:
        return False
    sign = -part.sign if match.turned else part.sign
    if sign != (-1 if fact.polarity == "negated" else 1):
        return True
    if fact.cls != "prohibition" or "%exc" not in marks or fact.quantifier != "only":
        return False
    required = part.quantifier == "all" and part.flags & lx.MUST
    excepted = any(p.flags & (lx.EXC | lx.UNTIL) for p in match.parts)
    limited = any(p.flags & lx.NEG or p.quantifier == "only" for p in match.parts)
    return excepted and not limited and not required


def _quantifier(fact: Fact, parts: list[Part], marks: list[str]) -> Literal["kept", "changed", "n/a"]:
    wanted = fact.quantifier
    if not wanted or (wanted == "all" and fact.polarity == "negated"):
        return "n/a"
    have = {part.quantifier for part in parts}
    if wanted in have:
        return "kept"
    if wanted == "except" and any(part.excepted or "-@include" in part.keys for part in parts):
        return "kept"
    if wanted == "all" and "%always" in marks and any(part.flags & lx.MUST for part in parts):
        return "kept"
    if wanted == "only" and "%exc" in marks and "all" in have and any(part.flags & lx.MUST for part in parts):
        return "kept"
    if wanted in {"some", "most"} and not have & {"all", "only"}:
        return "n/a"
    return "changed"
