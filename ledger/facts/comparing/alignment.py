"""How the words of a statement lie in the clauses of a summary (rule F2)."""

from __future__ import annotations

from ledger.facts.comparing.summary import Part, SummaryText
from ledger.facts.findings import tail_of
from ledger.facts.language import lexicon as lx
from ledger.facts.model import alternatives
from ledger.facts.values.rates import PERIODS, other_period

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


LIGHT_KEYS = frozenset("@use use do make giv @give hav tak perform @run run carri".split())
"""Verbs that say little of what is banned."""


class Word:
    """A content word of a statement: its keys, its weight, its member of a list, and its role if it has one."""

    __slots__ = ("hard", "keys", "role", "segment", "text", "weight")

    def __init__(self, text: str, segment: int) -> None:
        self.segment = segment
        self.role = ""
        self.text = alternatives(text)[0] if text[0] == "#" else ""
        """A number with its bound; empty for any other word."""
        self.hard = text[0] in "^!#"
        self.weight = HARD_WEIGHT if text[0] in "^!" else 0 if text.lstrip("-")[:1] == "<" else 1
        self.keys = _any_bound(text) if text[0] == "#" else alternatives(text)


def _any_bound(text: str) -> tuple[str, ...]:
    """A number of a statement under every bound: whether the bound is kept is the numeric fact's question."""
    value = alternatives(text)[0][1:].lstrip("<>=~")
    return tuple(f"#{op}{value}" for op in ("", "<=", ">=", "<", ">", "~"))


def words_in(context: str) -> list[Word]:
    """The content words of a statement, from the notation of `ledger.facts.model`; what is malformed is passed over."""
    words: list[Word] = []
    marks: list[str] = []
    segment = 0
    for word in context.split(" "):
        if word == "%,":
            segment += 1
        elif word[:1] == "%":
            marks.append(word)
        elif word and word[0] != "%" and alternatives(word):
            words.append(Word(word, segment))
    for word in marks:
        if word.startswith("%r="):
            _give_roles(words, word[3:])
    return words


def _give_roles(words: list[Word], told: str) -> None:
    for item in told.split(","):
        at = item[:-1]
        if at.isascii() and at.isdigit() and int(at) < len(words):
            words[int(at)].role = item[-1:]


class Match:
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
        "size",
        "start",
        "summary",
        "turned",
        "whole",
        "words",
        "wrong",
    )

    def __init__(
        self, summary: SummaryText, main: int, window: list[int], words: list[Word], predicate: tuple[str, ...], ordered: bool
    ) -> None:
        self.size = sum(word.weight for word in words)
        self.summary, self.words, self.predicate = summary, words, predicate
        self.main = summary.parts[main]
        self.parts = [summary.parts[at] for at in window]
        self.start, self.end = min(p.start for p in self.parts), max(p.end for p in self.parts)
        self.covered = self.plain = self.matched = self.own = self.own_words = self.rare = 0
        """`own`: weight of the words in the main clause itself, `own_words` their number, `rare` how many of them are rare."""
        self.turned = self.wrong = self.named = False
        """`turned`: a word stands there as its opposite; `wrong`: a name or value is missing, or an order is reversed."""
        both = {key for word in words for key in word.keys if key.lstrip("-")[:1] == "@"}
        both = {key for key in both if opposite_of(key) in both}
        for word in words:
            if word.weight:
                self._weigh(word, window, both)
            else:
                self.wrong = self.wrong or (ordered and self._reversed(word))
        listed = bool(words) and words[-1].segment > 0
        self.wrong = (
            self.wrong
            or self._other_day()
            or self._mixed()
            or self._exchanged()
            or self._other_period()
            or (listed and self._crossed())
        )
        self.acts = (
            not predicate
            or nominal(self.main)
            or self._light()
            or any(key in part.keys or opposite_of(key) in part.keys for part in self.parts for key in predicate)
        )
        self.whole = self.covered == self.size

    def _light(self) -> bool:
        """`Never use it` told as `it is banned`: a verb that says little, or any verb where a word forbids all there is,
        is told by all the other words in a negated clause.
        """
        rest = sum(word.weight for word in self.words if word.keys != self.predicate)
        said = self.main.flags & lx.FORBID or not LIGHT_KEYS.isdisjoint(self.predicate)
        return self.main.sign < 0 and 0 < rest <= self.own and bool(said)

    def _forbids_all(self) -> bool:
        return self.main.sign < 0 and bool(self.main.flags & lx.FORBID) and self.main.size < len(self.words)

    def _mixed(self) -> bool:
        """Part of the statement stands in a clause of the other sign: `changes are fine without asking`."""
        weight = 0
        for word in self.words:
            if not any(key in self.main.keys or opposite_of(key) in self.main.keys for key in word.keys):
                holders = [part for part in self.parts if any(key in part.keys for key in word.keys)]
                if holders and all(part.sign != self.main.sign for part in holders):
                    weight += word.weight
        return weight > 1

    def _exchanged(self) -> bool:
        """`Copy it from A to B` told as `copy it from B to A`: each of two words has the role of the other."""
        acts = any(key in self.main.keys for word in self.words if word.role == "v" for key in word.keys)
        roles = "sofptw" if acts else "fptw"  # `people enter it` and `it holds people` differ in their verb
        told = [
            (word, role)
            for word in self.words
            if word.role and word.role in roles and (role := _role_in(word, self.main)) and role != word.role
        ]
        return any(
            role == other.role and other_role == word.role and not set(word.keys) & set(other.keys)
            for at, (word, role) in enumerate(told)
            for other, other_role in told[at + 1 :]
        )

    def _other_period(self) -> bool:
        """`A weekly budget` told as `a monthly budget`."""
        said = {key for word in self.words for key in word.keys if key in PERIODS}
        return bool(said) and other_period(said, self.main.keys)

    def _other_day(self) -> bool:
        """`Not on Fridays` told as `not on Mondays`: of the days of the week (or places in an order) that it names none
        is named, but another.
        """
        days = {key for word in self.words for key in word.keys if key.startswith("#day") or key in _ORDINALS}
        told = {key for part in self.parts for key in part.keys if key.startswith("#day") or key in _ORDINALS}
        return bool(days) and bool(told) and days.isdisjoint(told)

    def _crossed(self) -> bool:
        """`blue for invoices, green for offers` told as `green for invoices, blue for offers`: two members mix places."""
        places: dict[int, set[int]] = {}
        for word in self.words:
            spots = {spot for part in self.parts for key in word.keys for spot in part.segments.get(key, ())}
            if word.weight and len(spots) == 1:
                places.setdefault(word.segment, set()).update(spots)
        spread = [spots for spots in places.values() if len(spots) > 1]
        return any(len(one & other) > 1 for at, one in enumerate(spread) for other in spread[at + 1 :])

    def _reversed(self, word: Word) -> bool:
        held = any(key in part.keys for part in self.parts for key in word.keys)
        return not held and any(opposite_of(key) in part.keys for part in self.parts for key in word.keys)

    def _weigh(self, word: Word, window: list[int], both: set[str]) -> None:
        holders = [part for part in self.parts if any(key in part.keys or opposite_of(key) in part.keys for key in word.keys)]
        if _REMOVED in word.keys and self.main.sign < 0 and self.main.keys.isdisjoint((*word.keys, *_KEPT_OR_REMOVED)):
            self.covered += word.weight  # `remove X` is `without X`, `no X`
            self.turned = True
            return
        light = nominal(self.main) and not LIGHT_KEYS.isdisjoint(word.keys)
        if not holders and (light or (word.keys == self.predicate and (nominal(self.main) or self._forbids_all()))):
            self.covered += word.weight  # `no emoji` says `do not use emoji`, and so does `emoji are banned`
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

    def _weigh_name(self, word: Word, window: list[int]) -> None:
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
        if self.covered * share[1] < share[0] * self.size:
            return False
        return self.plain * 2 >= plain_total or (plain_total == 1 and self.matched > 2 and not self.wrong)


_ORDINALS = frozenset(lx.ENGLISH.stem(word) for word in "second third fourth fifth sixth seventh eighth ninth tenth".split())
_REMOVED = "-@keep"
_KEPT_OR_REMOVED = frozenset({"@keep", "-@keep"})


def _role_in(word: Word, part: Part) -> str:
    return next((part.roles[key] for key in word.keys if key in part.roles), "")


def opposite_of(key: str) -> str:
    """The key of the opposite: `@start` of `-@start`, and the other way round."""
    return key[1:] if key[0] == "-" else "-" + key


def nominal(part: Part) -> bool:
    """`No new dependencies`: a negation without a verb, so no other verb stands in for the one that is looked for."""
    return part.negated and not part.flags & (lx.AUX | lx.PRED | lx.VERB | lx.MUST | lx.MAY)


def act_of(marks: list[str]) -> tuple[str, ...]:
    """The keys of the verb of an order; none where it has no verb that says much."""
    return next((alternatives(mark[5:]) for mark in marks if mark.startswith("%act=")), ())


def within_bound(match: Match) -> bool:
    """`Not more than 40` is `at most 40`, and what keeps to that may be done."""
    return any(word.text in match.main.keys for word in match.words if word.text[1:2] in _BOUNDS)


_BOUNDS = frozenset("<>")
