"""The tables over published corpora, as Markdown: false certification first, and every loss by its name."""

from __future__ import annotations

from collections.abc import Sequence

from ops.evidence.corpora import GUARD, KEPT, KIT, KitCount, Verdict
from ops.evidence.report import SHOWN, Table, percent, table

LABELS = ("preserved", "paraphrased", "weakened", "mutated", "contradicted", "dropped")
HALVES = ("first", "second")
FIRST_LOOK = (
    "Rules were tuned on the first half of the instructions. "
    "Read for the first time, the second half gave 13 of 20 paraphrases kept, 2 of 84 lossy contexts certified "
    "and 12 of 21 contradictions named as opposite; then rules were tuned on both."
)
OPPOSITE = ("inverted", "quantifier")
"""Names that say that the context allows what the instruction did not: an opposite sign, or a limit that is gone."""


def guard_tables(found: Sequence[Verdict]) -> str:
    """Verdicts by class, both halves, then the losses."""
    scored = [one for one in found if not one.disputed]
    rows = [_row(label, half, scored) for label in LABELS for half in HALVES]
    lossy = [one for one in scored if one.pair.label not in KEPT]
    false = [one for one in lossy if one.certified]
    parts = [
        f"## {GUARD}: {len(found)} labelled pairs, all English, no model",
        f"False certification: **{len(false)} of {len(lossy)}**. {FIRST_LOOK}",
        table(("class", "half", "pairs", "right", "certified", "named as opposite", "weakened", "changed", "missing"), rows),
        _losses("Certified though lossy", false),
        _losses("Refused though kept", [one for one in scored if one.pair.label in KEPT and not one.certified]),
        _losses(
            "Contradicted, refused, and not called an opposite",
            [one for one in lossy if one.pair.label == "contradicted" and not one.certified and one.named not in OPPOSITE],
        ),
        _disputes([one for one in found if one.disputed]),
    ]
    return "\n\n".join(part for part in parts if part)


def guard_figures(found: Sequence[Verdict]) -> Table:
    """By label: what was certified, which is right of the first two alone, and what was named."""
    scored = [one for one in found if not one.disputed]
    rows = []
    for label in LABELS:
        those = [one for one in scored if one.pair.label == label]
        counts = (len(those), sum(one.certified for one in those), sum(one.named in OPPOSITE for one in those))
        rows.append((label, *map(str, counts), percent(sum(one.right for one in those), len(those))))
    return Table(("what became of the instruction", "pairs", "certified", "named as opposite", "right"), rows)


def _row(label: str, half: str, scored: Sequence[Verdict]) -> tuple[str, ...]:
    those = [one for one in scored if one.pair.label == label and one.half == half]
    named = [sum(one.named == name for one in those) for name in ("weakened", "changed", "missing")]
    counts = (len(those), sum(one.right for one in those), sum(one.certified for one in those))
    opposite = sum(one.named in OPPOSITE for one in those)
    return label, half, *map(str, (*counts, opposite, *named))


def _losses(title: str, those: Sequence[Verdict]) -> str:
    if not those:
        return ""
    head = ("pair", "half", "instruction", "named")
    return f"{title}: {len(those)}\n\n" + table(
        head, [(one.pair.case, one.half, one.pair.source[:SHOWN], one.named or "-") for one in those]
    )


def _disputes(those: Sequence[Verdict]) -> str:
    if not those:
        return ""
    text = "Labels left out of the score, because F2 holds names and values letter for letter"
    return f"{text}: {len(those)}\n\n" + table(("pair", "why"), [(one.pair.case, one.disputed) for one in those])


def kit_table(found: Sequence[KitCount]) -> str:
    """What its reference compactors kept by its tokens, beside `check`."""
    head = ("compactor", "statements", "kept by both", "lost by both", "refused only by check", "certified only by check")
    rows = [
        (
            one.compactor,
            *map(str, (one.statements, one.both_kept, one.both_lost, one.refused_only, one.certified_only)),
        )
        for one in found
    ]
    return f"## {KIT}: planted statements after one round\n\n" + table(head, rows)
