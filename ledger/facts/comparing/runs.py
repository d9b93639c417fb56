"""Restatements that say less, where words are not separated: as in `narrowing` and `listing`, by pairs of signs (rule F2)."""

from __future__ import annotations

import re

from ledger.facts.comparing.reading import Additions, additions_of
from ledger.facts.language.lexicon import Language
from ledger.facts.values.dates import HALVES


def narrowed_run(source: str, summary: str, whole: str, language: Language) -> bool:
    """A statement that is confined: by signs that the source has nowhere, in a run that makes a case of them, or put between
    those of the source when none of its own is gone; or by a weekday.
    """
    known = additions_of(language)
    if any(day in summary for day in language.weekdays) and not any(day in whole for day in language.weekdays):
        return True
    plain = known.passed_over.sub(" ", summary) if known.passed_over else summary
    plain = _HALF.sub(" ", plain)
    own = known.passed_over.sub(" ", source) if known.passed_over else source
    kept = not any(pair not in plain for run in _RUN.findall(own) for pair in _pairs(run))
    for run in _RUN.findall(plain):
        fresh = [pair not in whole for pair in _pairs(run)]
        at = 0
        while at < len(fresh):
            end = at
            while end < len(fresh) and fresh[end]:
                end += 1
            if end - at >= 2 and (_narrows_run(source, run, at, end + 1, known) or (kept and end - at >= FRESH_MIN)):
                return True
            at = end + 1
    return False


_HALF = re.compile(rf"[の的]?(?:{HALVES})(?=\s?\d)", re.ASCII)
"""The half of the day before an hour belongs to the value."""


FRESH_MIN = 3
"""Pairs of signs that are new where a word of two signs was put between others."""


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)]


_RUN = re.compile("[\u3005\u3041-\u30ff\u4e00-\u9fff]+", re.ASCII)


def _narrows_run(source: str, run: str, start: int, end: int, known: Additions) -> bool:
    if known.bounded and known.bounded.search(source):
        return False
    near = run[max(0, start - 1) : end + 2]
    return known.fronted is not None and bool(known.fronted.search(near)) and not known.fronted.search(source)


def shortened_run(source: str, summary: str, known: Additions) -> bool:
    """A list of which a member was left out: of two words around a joint one stands in the summary, the other does not, and
    nothing else was put there.
    """
    if known.joints is None:
        return False
    fresh = sum(run[at : at + 2] not in source for run in _RUN.findall(summary) for at in range(len(run) - 1))
    for m in known.joints.finditer(source):
        left, right = source[max(0, m.start() - 2) : m.start()], source[m.end() : m.end() + 2]
        if min(len(_bare(left)), len(_bare(right))) == 2 and (left in summary) != (right in summary) and fresh <= FRESH_MAX:
            return True
    return False


FRESH_MAX = 2
"""Pairs of signs that come about where what stood between is left out."""


def _bare(text: str) -> str:
    return "".join(_RUN.findall(text))
