"""The figures as Markdown, beside those of the sources. The same input gives the same bytes: no time and no path is in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import msgspec

from ops.evidence import longrun
from ops.evidence.because import counted, key_of
from ops.evidence.longrun import Tally
from ops.evidence.rounds import KINDS, Counted, Judged, RoundCount, sample
from schemas.facts import FACT_CLASSES

SEED_4 = {"decided": (52, 8), "rejected": (182, 17), "reason": (174, 3)}
"""What the fourth source counted in eight rounds of one session: in the dropped spans, in the summaries."""

SHOWN = 120
"""Characters of a sample sentence that are printed; more is noise in a table."""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with even columns."""
    cells = [list(head), ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    widths = [max(len(row[at]) for row in cells) for at in range(len(head))]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    )


def percent(part: int | Fraction, whole: int | Fraction = 1, *, signed: bool = False) -> str:
    """A share in per cent with one digit, rounded half up, or a dash where there is nothing to share."""
    if not whole:
        return "–"
    tenths = (Fraction(part) / Fraction(whole) * 2000 + 1) // 2
    sign = "-" if tenths < 0 else "+" if signed else ""
    return f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10} %"


class Table(msgspec.Struct, frozen=True):
    """Figures as they are printed, with a row of headings."""

    head: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]

    def text(self) -> str:
        """As Markdown."""
        return table(self.head, self.rows)


def session_figures(without: Tally, with_: Tally) -> Table:
    """The long session with and without the rules."""

    def row(what: str, value: Sequence[str], said: str) -> tuple[str, ...]:
        return what, *value, said

    both = (without, with_)
    context = Fraction(with_.window_tokens, with_.turns) / Fraction(without.window_tokens, without.turns) - 1
    stored = Fraction(with_.store_bytes, without.stored_for_ever) - 1
    rows = [
        row("compaction passes", [str(one.passes) for one in both], ""),
        row("passes refused as a whole", ["–", str(with_.passes_refused)], "one pass halted (seed 1)"),
        row("hit rate, largest change over one pass", [percent(one.spread) for one in both], "within 3 % (seed 1)"),
        row(
            "hit rate, largest relative rise over one pass",
            [percent(one.rise) for one in both],
            "over 15 % is a red flag (seed 1)",
        ),
        row("questions asked", [str(one.questions) for one in both], ""),
        row("answered with the value that was said", [percent(one.right, one.questions) for one in both], ""),
        row("answered with success and wrongly", [percent(one.wrong, one.questions) for one in both], "none (seeds 1 and 2)"),
        row("said not to have it", [percent(one.honest, one.questions) for one in both], "two misses, reported (seed 1)"),
        row(
            "statements that drifted at least once", [f"{len(one.drifted)} of {len(one.stated)}" for one in both], "0 (seed 2)"
        ),
        row("facts lost by the ledger's own count", [str(one.lost) for one in both], ""),
        row("index bytes against raw and last summary kept for ever", ["–", percent(stored, signed=True)], "+8 % (seed 1)"),
        row("context held, mean tokens", [str(one.window_tokens // one.turns) for one in both], ""),
        row("context held, against the run without", ["–", percent(context, signed=True)], "+9 % (seed 2)"),
        row("raw entries that a TTL would drop", ["all", str(with_.evictions_asked)], ""),
        row("of these refused: the last to say something", ["0", percent(with_.evictions_refused, with_.evictions_asked)], ""),
        row("actions with side effects", [str(one.actions) for one in both], ""),
        row(
            "claims fetched again and held before the action",
            [str(one.rehydrated) for one in both],
            "cluster before actions (seed 5)",
        ),
        row("actions denied", [str(one.denied) for one in both], "blocking, not silent (seed 5)"),
        row("actions that rested on a wrong answer", [str(one.acted_on_wrong) for one in both], "none (seed 5)"),
        row("trust at the end", [one.trust for one in both], ""),
    ]
    return Table(("figure", "rules off", "rules on", "the sources' figure"), rows)


def long_session(without: Tally, with_: Tally) -> str:
    """The long session with and without the rules, and what the figures do not say."""
    notes = [
        (
            f"{without.turns:,} turns. Window {longrun.WINDOW_TOKENS:,} tokens, compacted at {percent(longrun.WATERMARK)}; "
            f"the facts of {percent(Fraction(str(longrun.UNMEASURED)))} of the tool messages become known only "
            f"{longrun.MEASURED_AFTER} turns later, and until then rule C2 keeps the message raw: the context held depends on "
            "that share more than on anything else."
        ),
        (
            "An answer is right if it holds the value that was said. Without the rules retrieval returns the nearest text; "
            "with them it returns the text of a carrier of the fact that is asked for, by its id, or says that there is none."
        ),
    ]
    if with_.denied:
        kinds = ", ".join(f"{count} {reason}" for reason, count in sorted(with_.denials.items()))
        notes.append(f"Denied: {kinds}. In this session no statement contradicts another, so each of them is a false alarm.")
    figures = session_figures(without, with_).text()
    return "\n\n".join(["## One long session, with the rules and without", figures, *notes])


def seed_figures(found: Judged) -> Table:
    """The fourth source's table, over all rounds at hand."""
    rounds = found.rounds
    ours = _sum(one.ours for one in rounds)
    seed = _sum(one.seed for one in rounds)
    rows = [
        (
            kind,
            f"{SEED_4[kind][0]} → {SEED_4[kind][1]}",
            percent(SEED_4[kind][1], SEED_4[kind][0]),
            f"{seed[kind].dropped} → {seed[kind].stated}",
            percent(seed[kind].stated, seed[kind].dropped),
            f"{seed[kind].survived} of {seed[kind].dropped}",
            f"{ours[kind].survived} of {ours[kind].dropped}",
            percent(ours[kind].survived, ours[kind].dropped),
        )
        for kind in KINDS
    ]
    head = (
        "kind",
        "the source: in → out",
        "its rate",
        "here: in → out",
        "its rate here",
        "look-alike found",
        "ours: kept",
        "rate",
    )
    return Table(head, rows)


def seed_table(found: Judged) -> str:
    """The fourth source's table, what it leaves out, and the same by class and by round."""
    rounds = found.rounds
    ours = _sum(one.ours for one in rounds)
    sentences = Counted()
    for one in rounds:
        sentences.add(one.sentences)
    longer = sum(one.long_sentences for one in rounds)
    per_class = [
        (cls, str(ours[cls].dropped), str(ours[cls].survived), percent(ours[cls].survived, ours[cls].dropped))
        for cls in FACT_CLASSES
    ]
    return "\n\n".join(
        [
            "## What real rounds keep: the fourth source's table",
            f"{found.files} files, {len(rounds)} rounds with a summary that can be read, {found.unread} without.",
            seed_figures(found).text(),
            (
                f"Distinct sentences: {sentences.dropped} in, {sentences.stated} out, {sentences.survived} of those that went "
                "in have a look-alike among those that came out; the source counted 402 in and 28 out. *In → out* divides two "
                "counts and pairs nothing, so its rate can exceed 100 %. *Ours* reads user text too, has no length limit and "
                "knows more words."
            ),
            f"Longer than 400 characters, and so outside the source's count: {longer} sentences that match a pattern.",
            "### By class, our rule, all roles",
            table(("class", "facts dropped", "kept in the round's summary", "rate"), per_class),
            "### By round",
            table(
                ("file", "round", *(f"{kind}: in, paired, out" for kind in KINDS), "our facts: kept of dropped"),
                map(_round, rounds),
            ),
        ]
    )


def _round(one: RoundCount) -> tuple[str, ...]:
    whole = [one.ours[cls] for cls in FACT_CLASSES]
    kinds = (f"{one.seed[kind].dropped}, {one.seed[kind].survived}, {one.seed[kind].stated}" for kind in KINDS)
    return one.file, str(one.number), *kinds, f"{sum(c.survived for c in whole)} of {sum(c.dropped for c in whole)}"


def _sum(parts: Iterable[dict[str, Counted]]) -> dict[str, Counted]:
    totals: dict[str, Counted] = {name: Counted() for name in (*FACT_CLASSES, *KINDS)}
    for part in parts:
        for name, count in part.items():
            totals[name].add(count)
    return totals


def because(rounds: Sequence[RoundCount]) -> str:
    """The open question of the fourth source: how often is *because* a false alarm?"""
    drawn = sample(rounds)
    counts = counted(drawn)
    judged = len(drawn) - counts["not judged"]
    rows = [(kind, str(counts[kind]), percent(counts[kind], judged)) for kind in ("choice", "explanation", "nothing")]
    listed = "\n".join(f"- `{key_of(text)}` {_cut(text)}" for text in drawn)
    return "\n\n".join(
        [
            "## How often *because* is a false alarm",
            f"{len(drawn)} dropped sentences drawn, {judged} of them judged by reading.",
            table(("what it is", "sentences", "share"), rows),
            (
                f"Not the reason of any choice: {percent(counts['explanation'] + counts['nothing'], judged)}. "
                f"No reason in it at all: {percent(counts['nothing'], judged)}."
            ),
            listed or "No sentence was drawn.",
        ]
    )


def _cut(text: str) -> str:
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= SHOWN else line[: SHOWN - 1] + "…"
