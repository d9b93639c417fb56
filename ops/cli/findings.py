"""How losses, rounds and trust look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ops.cli.screen import one_line, say
from ops.cli.words import count, listed, of_class, place, short_path

if TYPE_CHECKING:
    from ops.queries.forgotten import Forgotten, ForgottenAnswer
    from ops.queries.overview import RoundAnswer

QUOTE_CHARACTERS = 300
"""A quote longer than this is cut on screen; `--json` has all of it."""

_OUTCOME_STYLES = {"inverted": "bold red", "changed": "bold yellow", "weakened": "yellow", "missing": "bold"}
_TRUST_STYLES = {"lossless": "green", "degraded": "bold red", "unknown": "yellow"}

REASONS = {
    "no_declared_store": "no retrieval store was declared: what left the window is gone for the agent",
    "no_audit_passed": "no audit has shown yet that an evicted fact comes back",
    "no_audit_in_window": "the last passed audit is too many compactions ago",
    "unread_transcript_lines": "some transcript lines could not be read",
    "conflicting_transcript_lines": "some transcript lines share an id and differ in text",
    "audit_failed": "an evicted span did not come back as it was recorded",
    "last_carrier_evicted": "the store dropped entries that nothing else carries",
    "hit_rate_jump": "the hit rate rose by more than 15 % over one pass: distinct entries were merged",
    "ttl_below_horizon": "entries expire before the session ends",
    "index_entries_missing": "a check of the store found entries missing",
    "index_entries_orphaned": "a check of the store found entries without a span",
    "opaque_summary": "a summary is encrypted, so nobody can tell what it keeps",
    "empty_summary": "a summary is empty, so nobody can tell what was kept",
    "missing_summary": "a compaction left no summary",
    "error_text_summary": "an error message stands where a summary should",
    "linked_scope_not_imported": "the session belongs to another scope that was not read yet",
    "index_behind_log": "another process is folding; records are not counted yet",
    "internal_error": "a record could not be folded; see the runbook",
}


def show_round(row: RoundAnswer, classes: Mapping[str, int]) -> None:
    """One compaction: what left, what became of it, and what is lost by class."""
    tokens = ""
    if row.tokens_before is not None:
        after = f"{row.tokens_after:,}" if row.tokens_after is not None else "?"
        tokens = f", {row.tokens_before:,} -> {after} tokens"
    trigger = f" ({row.trigger}{tokens})" if row.trigger else f" ({tokens.removeprefix(', ')})" if tokens else ""
    say((f"round {row.round}", "bold"), trigger, f": {_fates(row)}", indent=2)
    moved = [count(row.summarised, "span") + " summarised", f"{row.kept} kept"]
    moved += [(f"{row.unseen} dropped before any summariser saw them")] if row.unseen else []
    if row.summary_state != "text":
        moved.append(f"the summary is {row.summary_state.replace('_', ' ')}, so nothing can be judged")
    say(listed(moved), indent=4)
    if classes:
        say("lost: ", listed([of_class(number, cls) for cls, number in classes.items()]), indent=4)


def _fates(row: RoundAnswer) -> str:
    parts = [f"{row.survived} survived", f"{row.lost} lost"]
    if row.unknown:
        parts.append(f"{row.unknown} unknown")
    return f"{count(row.dropped, 'fact')} left the window: {listed(parts)}"


def show_losses(entries: Iterable[Forgotten], home: str) -> None:
    """Losses, worst first: what was said, where it stood, what the summary says instead, what followed.

    `home` is the file that the reader was told of already; only another one is named.
    """
    for number, entry in enumerate(entries, 1):
        where = f"line {entry.line}" if entry.path == home and entry.line is not None else place(entry.path, entry.line)
        kind = f"{entry.cls} ({entry.kind})" if entry.kind else entry.cls
        say(
            f"{number:>3}. ",
            (entry.outcome.upper(), _OUTCOME_STYLES.get(entry.outcome, "bold")),
            f" {kind}, rule {entry.rule}, round {entry.round}, {entry.role}, {where}",
            f"; {_settled(entry)}" if entry.settled else "",
            indent=1,
            hang=5,
        )
        say(f"“{one_line(entry.text, QUOTE_CHARACTERS)}”", indent=6)
        if entry.summary_says:
            say("the summary says: ", (f"“{one_line(entry.summary_says, QUOTE_CHARACTERS)}”", "italic"), indent=6)
        if entry.reversed_at:
            say(f"reversed later, at {entry.reversed_at}", indent=6)
        elif entry.acted:
            shown = [one_line(action, 60) for action in entry.followed_by[:3]]
            more = len(entry.followed_by) - len(shown)
            say("followed by: ", listed(shown), f" and {more} more" if more else "", indent=6)


def _settled(entry: Forgotten) -> str:
    where = f", line {entry.settled_line}" if entry.settled_line is not None else ""
    return f"settled: {one_line(entry.settled or '').replace('_', ' ')}{where}"


def more_settled(answer: ForgottenAnswer) -> str:
    """How many losses seem settled, and why."""
    counts = answer.settled_matching
    reasons = ", ".join(f"{reason.replace('_', ' ')} {number:,}" for reason, number in counts.items())
    return f"{sum(counts.values()):,} {'more' if answer.open_matching else 'lost, none open,'} that seem settled ({reasons})"


def show_totals(answer: ForgottenAnswer) -> None:
    """The totals of a session, which add up, and the named answer where nothing is listed."""
    parts = [f"{answer.survived_in_summary:,} still held", f"{answer.forgotten_total:,} forgotten"]
    extra = []
    if answer.unknown_total:
        extra.append(f"{answer.unknown_total:,} more went with a summary that cannot be read")
    if answer.tombstoned_total:
        extra.append(f"{answer.tombstoned_total:,} more were dropped on purpose")
    say(
        (f"session {answer.session_id}", "bold"),
        f": {count(answer.rounds, 'round')}, {count(answer.dropped_total, 'fact')} left the window: {listed(parts)}",
    )
    if answer.receipt.source_path:
        say(short_path(answer.receipt.source_path), indent=2)
    for line in extra:
        say(line, indent=2)
    if answer.note:
        say(answer.note, f": {answer.reason}" if answer.reason else "", indent=2)


def show_trust(trust: str, reasons: Iterable[str]) -> None:
    """The trust in a session, and why."""
    say("trust: ", (trust, _TRUST_STYLES.get(trust, "bold")), indent=2)
    for reason in reasons:
        known = REASONS.get(reason.partition(":")[0])
        say(f"- {reason}" + (f": {known}" if known else ""), indent=4, hang=2)
