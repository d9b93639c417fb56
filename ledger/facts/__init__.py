"""Text to facts, and whether a fact survives in another text. Pure, deterministic, no model (design sections 3 and 4).

`extract` runs where a record is made; `grounded` and `survival` run in the fold; `check` is both on a source and a summary.
"""

from __future__ import annotations

from ledger.facts.check import CheckResult, FactResult, Passage, check, unsupported
from ledger.facts.comparing.comparison import restated
from ledger.facts.comparing.summary import SummaryText
from ledger.facts.comparing.survival import survival
from ledger.facts.extraction.extract import extract
from ledger.facts.findings import Finding
from ledger.facts.grounded import grounded
from ledger.facts.model import EXTRACTOR, RULES_VERSION
from ledger.facts.seed_method import SeedSentence, seed_sentences, seed_survives

__all__ = [
    "EXTRACTOR",
    "RULES_VERSION",
    "CheckResult",
    "FactResult",
    "Finding",
    "Passage",
    "SeedSentence",
    "SummaryText",
    "check",
    "extract",
    "grounded",
    "restated",
    "seed_sentences",
    "seed_survives",
    "survival",
    "unsupported",
]
