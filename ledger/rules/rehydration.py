"""Rehydration (rules R1 to R6, seed 5): a summary's authority is capped at the fidelity of its last verified rehydration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from ledger.facts.language.fold import fold

Authority = Literal["verified", "write_time", "decayed", "unbacked"]
ClaimFault = Literal["", "contradicted", "key_not_derivable", "not_found", "not_raw", "not_recorded", "does_not_hold"]

FETCH_FAULTS = ("absent", "empty", "tombstone", "error")
"""R2: what a fetch may answer besides ok. All are errors to whoever acts on the claim; any other status is one too."""


def is_derivable(key: str, text: str) -> bool:
    """R1: can this key be derived from the text alone? Either it stands there as it is, or its words do, adjacent and in order,
    however they are joined (`dock-slot-17` and `dockSlot17` from "Dock slot 17: carrier Amsel").
    """
    if key in text:
        return True
    wanted, words = _joined(_words(key)), _words(text)
    return bool(wanted) and any(_stands_at(words, at, wanted) for at in range(len(words)))


def _joined(words: Sequence[str]) -> str:
    """Words as one, but for numbers that meet: `1-7` is not `17`."""
    joined = ""
    for word in words:
        joined += f"-{word}" if joined and joined[-1] in _DIGITS and word[0] in _DIGITS else word
    return joined


_DIGITS = "0123456789"


def _stands_at(words: Sequence[str], at: int, wanted: str) -> bool:
    """Do the words from here on, joined, give what is wanted and end where a word ends?"""
    joined = words[at]
    while len(joined) < len(wanted) and wanted.startswith(joined) and at + 1 < len(words):
        at += 1
        joined = _joined((joined, words[at]))
    return joined == wanted


_SPACES = "\x1c-\x20\t-\r\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
"""White space, pinned: what `str.isspace` says follows the interpreter's tables."""

_MARKS = "\u2010-\u2015\u2018-\u201f\u2022\u2026\xab\xbb\xb7\u3001\u3002\u300c-\u300f\uff08\uff09\uff0c\uff1a\uff1b"
"""Dashes, quotation marks, dots and full-width punctuation that stand between words as their ASCII kin do."""

_SEPARATORS = re.compile(rf"[-_/.:,;#()\[\]{{}}<>|'\"!?=+*&%$@~`^\\{_MARKS}{_SPACES}]+")


def _words(text: str) -> list[str]:
    """Runs of letters and digits, case folded; what stands between them only separates."""
    return [word for word in _SEPARATORS.split(fold(text)) if word]


def underivable(keys: Sequence[str], text: str) -> tuple[str, ...]:
    """R1: keys that nobody who has only the summary could ask for; a finding when the summary is written."""
    return tuple(key for key in keys if not is_derivable(key, text))


def fetch_fault(status: str) -> str:
    """R2: why a fetch substantiates nothing, or the empty string."""
    if status == "ok":
        return ""
    return status if status in FETCH_FAULTS else f"unexpected_status:{status}"


def claim_fault(
    *, contradicted: bool, key_derivable: bool, status: str, raw: bool, recorded_text: bool, holds: bool
) -> ClaimFault:
    """R1, R2, R3 on one claim at the moment it is used, the first fault that applies.

    `recorded_text` says that what was fetched is, byte for byte, the span on record; `holds` that the claim's facts stand in it
    with the same polarity, quantifier and condition.
    """
    if contradicted:
        return "contradicted"
    if not key_derivable:
        return "key_not_derivable"
    if fetch_fault(status):
        return "not_found"
    if not raw:
        return "not_raw"
    if not recorded_text:
        return "not_recorded"
    return "" if holds else "does_not_hold"


def authority(*, verified: bool, dependencies_changed: bool, backed: bool) -> Authority:
    """R4: what a summary's word is worth: nothing without a span that resolves, less once its dependencies changed, and never
    more than its last verified rehydration.
    """
    if not backed:
        return "unbacked"
    if dependencies_changed:
        return "decayed"
    return "verified" if verified else "write_time"


def may_act(faults: Sequence[ClaimFault], *, side_effects: bool) -> bool:
    """R5: an action with side effects needs every claim substantiated, and at least one claim; a read-only one needs none."""
    return not side_effects or (bool(faults) and not any(faults))


def crosses_boundary(*, key_derivable: bool, resolves: bool, live: bool) -> bool:
    """R6: the boundary marker: a live summary that reads as complete, whose key cannot be derived and whose span is gone."""
    return live and not key_derivable and not resolves
