"""What `check` says of the project's own pairs of a source and its summary, by language and by class of fact.

The pairs are test data of a checkout (`tests/pairs`), each with the verdict that a careful reader gives. A pair is *lossy* if
the reader refuses the summary or could not read the source; certifying one is the worst that a verdict can do, so it is counted
first and named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ledger.facts import check
from ledger.facts.language.lexicon import LANGUAGES
from ops.evidence.report import SHOWN, Table, percent, table
from schemas.facts import FACT_CLASSES
from schemas.records import Role

FOLDER = Path(__file__).parents[2] / "tests" / "pairs"
HEAD = ("pairs", "lossy", "certified though lossy", "faithful", "refused though faithful", "right", "right, held out")


class Row(msgspec.Struct, frozen=True):
    """A line of a file of pairs."""

    id: str
    source: str
    summary: str
    source_role: Role = "user"
    verdict: str = ""
    expected: str = ""
    language: str = "en"
    cls: str = msgspec.field(default="", name="class")
    split: str = ""
    kind: str = ""


class Judged(msgspec.Struct, frozen=True):
    """A pair and the verdict that `check` gives."""

    row: Row
    verdict: str

    @property
    def wanted(self) -> str:
        """The reader's verdict."""
        return self.row.verdict or self.row.expected

    @property
    def lossy(self) -> bool:
        """May the summary not be certified?"""
        return self.wanted != "evict_ok"

    @property
    def certified(self) -> bool:
        """Does `check` let the source go?"""
        return self.verdict == "evict_ok"


def judged_pairs(folder: Path = FOLDER) -> list[Judged]:
    """Every pair of the folder in order of files and lines; none where there is no folder."""
    decode = msgspec.json.Decoder(Row).decode
    rows = [decode(line) for path in sorted(folder.rglob("*.jsonl")) for line in path.read_bytes().splitlines()]
    return [Judged(row, check(row.source, row.summary, row.source_role).verdict) for row in rows]


def by_language(found: Sequence[Judged]) -> Table:
    """Counts for each language, all of them first; `other` is what no table covers, which must be *unknown*."""
    names = sorted({one.row.language for one in found} & set(LANGUAGES))
    rows = [_counts("all", found)]
    rows += [_counts(name, [one for one in found if one.row.language == name]) for name in names]
    unread = [one for one in found if one.row.language not in names]
    return Table(("language", *HEAD), [*rows, *([_counts("other", unread)] if unread else [])])


def by_class(found: Sequence[Judged]) -> Table:
    """Counts for each class of fact, of pairs that were written for one."""
    rows = [(name, [one for one in found if one.row.cls == name]) for name in FACT_CLASSES]
    return Table(("class", *HEAD), [_counts(name, those) for name, those in rows if those])


def _of(found: Sequence[Judged], wanted: Callable[[Judged], bool]) -> list[Judged]:
    return [one for one in found if wanted(one)]


def _counts(name: str, those: Sequence[Judged]) -> tuple[str, ...]:
    lossy, faithful = _of(those, lambda one: one.lossy), _of(those, lambda one: not one.lossy)
    held = _of(those, lambda one: one.row.split == "held_out")
    false, alarms = _of(lossy, lambda one: one.certified), _of(faithful, lambda one: not one.certified)
    return name, *map(str, (len(those), len(lossy), len(false), len(faithful), len(alarms))), _right(those), _right(held)


def _right(those: Sequence[Judged]) -> str:
    return percent(sum(one.verdict == one.wanted for one in those), len(those))


def pair_tables(found: Sequence[Judged]) -> str:
    """Both tables, then every pair that is judged wrongly, lossy ones first."""
    if not found:
        return "Own pairs: not measured, for this is no checkout with tests."
    lossy, alarms = _of(found, lambda one: one.lossy and one.certified), _of(found, lambda one: not one.lossy)
    parts = [
        f"## {len(found)} pairs of our own, in sixteen languages and some others",
        by_language(found).text(),
        by_class(found).text(),
        _losses("Certified though lossy", lossy),
        _losses("Refused though faithful", _of(alarms, lambda one: not one.certified)),
    ]
    return "\n\n".join(part for part in parts if part)


def _losses(title: str, those: Sequence[Judged]) -> str:
    if not those:
        return f"{title}: 0"
    rows = [(one.row.id, one.row.language, one.row.kind, _shown(one.row.source), _shown(one.row.summary)) for one in those]
    return f"{title}: {len(those)}\n\n" + table(("pair", "language", "kind", "source", "summary"), rows)


def _shown(text: str) -> str:
    return text[:SHOWN].replace("\n", " / ")
