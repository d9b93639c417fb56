"""A fact that stands in a summary, looked at once more in its whole sentence: is it taken back, or turned by a word? (F2)"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from msgspec.structs import replace

from ledger.facts.comparing.conditions import other_number, range_told_as_two
from ledger.facts.comparing.contrasts import Contrasts, contrast, contrasts_of, narrowed
from ledger.facts.comparing.focus import only_moved
from ledger.facts.comparing.listing import lengthened, shortened
from ledger.facts.comparing.narrowing import narrowed_to
from ledger.facts.comparing.order import order_turned
from ledger.facts.comparing.parties import exchanged
from ledger.facts.comparing.reading import additions_of, spoken, vocabulary
from ledger.facts.comparing.retraction import taken_back
from ledger.facts.comparing.runs import narrowed_run, shortened_run
from ledger.facts.comparing.shades import case_told, demanded, opened, shade_lost
from ledger.facts.comparing.summary import LONG_SUMMARY_PARTS, SummaryText
from ledger.facts.comparing.told import Told
from ledger.facts.findings import Finding
from ledger.facts.language.fold import WORD, fold
from ledger.facts.language.lexicon import EXC
from ledger.facts.structure.entries import MARK
from schemas.facts import SURVIVING, Fact

SENTENCE_CHARS_MAX = 600
"""A longer sentence is not compared word by word."""


_LAID_DOWN = frozenset({"prohibition", "instruction", "decision", "commitment", "numeric"})
"""What can be withdrawn."""

_ABOUT = frozenset({"prohibition", "instruction", "numeric"})
"""What is about nothing but what it names."""


def compared(fact: Fact, finding: Finding, source: str, summary: SummaryText, whole: str = "") -> Finding:
    """The finding, or a worse one: `source` is the sentence that states the fact, or the fact's own words; `whole`
    the text that it stands in, if it is at hand.
    """
    at = _sentence_of(finding, source, summary)
    if at is None:
        return finding
    found = _turned(fact, finding, source, summary, at)
    return _added(fact, found, source, summary, at, whole) if whole and found is finding else found


def restated(fact: Fact, finding: Finding, source: Callable[[], str], summary: SummaryText) -> Finding:
    """The finding of `survival`, or a worse one, for a fact of which only its own words are at hand; `source` gives those of
    the facts beside it.
    """
    if fact.cls not in _STATEMENTS:
        return finding
    at = _sentence_of(finding, fact.value, summary)
    whole = source() if at is not None else ""
    return _added(fact, finding, fact.value, summary, at, whole) if at is not None and whole else finding


_STATEMENTS = frozenset({"prohibition", "instruction"})
"""Facts whose value is a sentence that lays down what is to be. (A question and a statement have one value.)"""


def _sentence_of(finding: Finding, source: str, summary: SummaryText) -> int | None:
    """Which sentence of the summary holds a fact that survives; None where there is none that can be compared word by word."""
    if finding.outcome not in SURVIVING or finding.start is None or finding.end is None or not summary.sentence_spans:
        return None
    at = max(0, bisect_right(summary.sentence_spans, (finding.start, len(summary.text))) - 1)
    start, end = summary.sentence_spans[at]
    if not start <= finding.start < end or end - start > SENTENCE_CHARS_MAX or len(source) > SENTENCE_CHARS_MAX:
        return None
    return at


def _turned(fact: Fact, finding: Finding, source: str, summary: SummaryText, at: int) -> Finding:
    """The finding, or a worse one where the sentence says of the statement's words that they do not hold, or turns one."""
    assert finding.start is not None
    assert finding.end is not None
    start, end = summary.sentence_spans[at]
    known, told = contrasts_of(summary.language), fold(source)
    if fact.cls in _LAID_DOWN and _withdrawn(known, told, summary, at):
        return Finding("changed", start, end)
    if summary.may_strike and _struck(summary.text, finding.start, finding.end, source):
        return Finding("changed", start, end)
    if fact.context.startswith(MARK):  # it has no sentence whose words could be compared
        return finding
    if fact.cls == "prohibition" and not _of_manner(fact, summary) and _waived(known, told, summary.folded[start:end]):
        return Finding("inverted", start, end, polarity="inverted")
    if fact.cls == "numeric" and _superseded(
        known, told, summary.folded[start : finding.start], summary.folded[finding.end : end]
    ):
        return Finding("changed", finding.start, finding.end)
    dropped = fact.cls in {"prohibition", "instruction"}
    said = contrast(source, summary.text[start:end], summary.language, qualified=fact.cls in _ABOUT, dropped=dropped)
    if said == "inverted":
        return Finding("inverted", start, end, polarity="inverted")
    return Finding("changed", start, end) if said else finding


def _added(fact: Fact, finding: Finding, source: str, summary: SummaryText, at: int, whole: str) -> Finding:
    """The finding, or a worse one where the sentence, or the next, has words beside the statement's that make it less."""
    start, end = summary.sentence_spans[at]
    if fact.context.startswith(MARK):
        return Finding("changed", start, end) if _taken_back(fact, summary, at, whole) else finding
    text, told = summary.text[start:end], fold(source)
    if fact.cls == "prohibition" and narrowed(fact.value, text, whole, summary.language):
        return Finding("changed", start, end)
    if fact.cls in _TOLD and _asked(text, source):
        return Finding("changed", start, end)
    if fact.cls != "identifier" and _taken_back(fact, summary, at, whole):
        return Finding("changed", start, end)
    if (shaded := _shaded(fact, finding, told, summary, (start, end))) is not None:
        return shaded
    if fact.cls in _STEPS:
        sentence = summary.folded[start:end]
        language = spoken(told, sentence, summary.language)
        if exchanged(told, sentence, language) or order_turned(whole, summary.folded, fold(fact.value), language):
            return Finding("changed", start, end)
    return _less(fact, finding, told, summary, (start, end), whole)


def _shaded(fact: Fact, finding: Finding, source: str, summary: SummaryText, span: tuple[int, int]) -> Finding | None:
    """The finding where the clause that restates the fact makes it a task, a whole, a reason, or come to pass."""
    if len(summary.parts) > LONG_SUMMARY_PARTS or fact.cls == "identifier":
        return None
    start, end = span
    sentence = summary.folded[start:end]
    language = spoken(source, sentence, summary.language)
    if fact.cls not in _RULES | {"narrative"}:
        own, told = source, sentence
    else:
        own, told = fold(fact.value), summary.folded[finding.start : finding.end]
    lost = shade_lost(own, told, language, settled=fact.cls == "decision")
    if lost == "inverted":
        return Finding("inverted", start, end, polarity="inverted")
    if fact.cls in _RULES and opened(source, sentence, language):
        return Finding("changed", start, end, quantifier="changed")
    if lost or demanded(own, told, language) or case_told(source, sentence, language):
        return Finding("changed", start, end)
    return None


def _asked(summary: str, source: str) -> bool:
    """What the source tells, the summary asks."""
    return summary.rstrip(_QUOTES).endswith(_MARKS) and not source.rstrip(_QUOTES).endswith(_MARKS)


_STEPS = frozenset({"prohibition", "instruction", "decision", "commitment", "narrative"})
_QUOTES = " \"')]*_\u201d\u300d"
_MARKS = ("?", "\uff1f", "\u061f")
_TOLD = frozenset({"numeric", "narrative", "decision"})
"""What is told; orders and bans are compared with what is asked for by themselves."""


def _taken_back(fact: Fact, summary: SummaryText, at: int, whole: str) -> bool:
    start, end = summary.sentence_spans[at]
    following = summary.sentence_spans[at + 1] if at + 1 < len(summary.sentence_spans) else (end, end)
    behind = summary.folded[slice(*following)]
    told = summary.folded[start:end]
    return taken_back(told, behind, whole, spoken(told, behind, summary.language), ban=fact.cls == "prohibition")


def _less(fact: Fact, finding: Finding, source: str, summary: SummaryText, span: tuple[int, int], whole: str) -> Finding:
    """The finding, or `weakened` or `changed` where the sentence says less than the source did: in a case, of some, if."""
    start, end = span
    language = spoken(source, summary.folded[start:end], summary.language)
    ban, universal = fact.cls == "prohibition", fact.quantifier in {"all", "only"}
    if language.no_spaces:
        text = summary.folded[start:end]
        if shortened_run(source, text, additions_of(language)):
            return Finding("changed", start, end)
        first, last = _between_semicolons(finding, summary.folded, span)
        if fact.cls in _RULES and narrowed_run(source, summary.folded[first:last], whole, language):
            return replace(finding, outcome="weakened", start=start, end=end, quantifier="changed")
        return finding
    everything = vocabulary(summary.folded, language.code)
    told = Told(source, summary.folded[start:end], (vocabulary(whole, language.code), everything), language)
    if other_number(told.source, told.summary, language):
        return Finding("changed", start, end, quantifier="changed")
    if range_told_as_two(told.source, told.summary, language):
        return Finding("changed", start, end)
    if shortened(told.source, told.summary, everything, told.own, language):
        return Finding("changed", start, end)
    if fact.quantifier == "only" and only_moved(told.source, told.summary, language):
        return Finding("changed", start, end, quantifier="changed")
    if fact.quantifier == "only" and lengthened(told.summary, told.whole, told.own, language):
        return Finding("changed", start, end, quantifier="changed")
    first, last = _between_semicolons(finding, summary.folded, span)
    if (first, last) != span:
        told = Told(source, summary.folded[first:last], (vocabulary(whole, language.code), everything), language)
    rule = fact.cls in _RULES or (fact.cls == "numeric" and ("@limit" in fact.context or fact.value[:2] in {"<=", ">="}))
    if fact.cls != "identifier" and narrowed_to(told, ban=ban, universal=universal, rule=rule):
        other = universal or (ban and not told.reworded)
        return replace(finding, outcome="weakened", start=start, end=end, quantifier="changed" if other else "n/a")
    return finding


def _between_semicolons(finding: Finding, folded: str, span: tuple[int, int]) -> tuple[int, int]:
    """The part of a sentence that speaks of the fact: what stands beyond a semicolon confines something else."""
    if finding.start is None or finding.end is None:
        return span
    start, end = span
    behind = folded.find(";", min(finding.end, end), end)
    return folded.rfind(";", start, finding.start) + 1 or start, behind if behind >= 0 else end


_RULES = frozenset({"prohibition", "instruction", "decision", "commitment"})
"""What lays down what is to be."""


def _of_manner(fact: Fact, summary: SummaryText) -> bool:
    """`Roll back without asking` forbids nothing: that there is no need to ask says the same."""
    first = fold(fact.value).split(" ", 1)[0]
    return bool(summary.language.tags.single.get(first, 0) & EXC)


def _waived(known: Contrasts, source: str, summary: str) -> bool:
    """`You must not merge` told as `you do not have to merge`: what was forbidden is left free."""
    return known.waived is not None and not known.waived.search(source) and bool(known.waived.search(summary))


def _withdrawn(known: Contrasts, source: str, summary: SummaryText, at: int) -> bool:
    """`The rule "..." was lifted`, `False: ...`; or behind it `(rescinded)`, `That is obsolete now.`"""
    start, end = summary.sentence_spans[at]
    if known.withdrawn and (m := known.withdrawn.search(summary.folded[start:end].lstrip())):
        ended = [word for word in _LONG_WORD.findall(m[0]) if word in source]
        if not ended and not known.withdrawn.search(source):
            return True
    if known.afterwards is None or at + 1 >= len(summary.sentence_spans):
        return False
    start, end = summary.sentence_spans[at + 1]
    return bool(known.afterwards.match(summary.folded[start:end].lstrip("( \t\n\u2014-*_")))


_LONG_WORD = re.compile(f"[{WORD}]{{6,}}", re.ASCII)
"""What the source says itself (`the meeting is cancelled`) does not withdraw it."""

_STRUCK = re.compile(r"~~(?:(?!~~).)+~~|<!--(?:(?!-->).)*-->|<(del|s|strike)>(?:(?!</).)*</", re.ASCII | re.DOTALL)


def _struck(text: str, start: int, end: int, source: str) -> bool:
    """Struck out, or a comment that nobody sees."""
    if "~~" in source or "<!--" in source:
        return False
    first = max(0, start - SENTENCE_CHARS_MAX)
    near = text[first : end + SENTENCE_CHARS_MAX]
    return any(first + m.start() <= start + 4 and end <= first + m.end() + 1 for m in _STRUCK.finditer(near))


def _superseded(known: Contrasts, source: str, before: str, after: str) -> bool:
    """`Old limit: 40`, `was 40 and is now 80`: a value that no longer holds."""
    if known.superseded and (m := known.superseded.search(before)) and m[0].split()[0].strip(":=") not in source:
        return True
    if known.replaced is None or known.replaces is None:
        return False
    return bool(known.replaced.search(before) and known.replaces.search(after) and "now" not in source)
