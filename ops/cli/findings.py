"""How rounds, totals and trust look on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from ops.cli.screen import say
from ops.cli.words import count, listed, of_class, short_ids, short_path

if TYPE_CHECKING:
    from ops.queries.forgotten import ForgottenAnswer
    from ops.queries.overview import RoundAnswer

_TRUST_STYLES = {"lossless": "green", "degraded": "bold red", "unknown": "yellow"}

ROUNDS_NAMED = 4
"""Rounds of which each is named; of more, how many they are."""

_UNREAD = {
    "opaque": ("is encrypted in the transcript", "are encrypted in the transcript"),
    "empty": ("is left out of the transcript", "are left out of the transcript"),
    "missing": ("is missing", "are missing"),
    "error_text": ("is an error message", "are error messages"),
}

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
    told = listed([part for part in (row.trigger, tokens_told(row.tokens_before, row.tokens_after)) if part], none="")
    say((f"round {row.round}", "bold"), f" ({told})" if told else "", f": {_fates(row)}", indent=2)
    moved = [count(row.summarised, "span") + " summarised", f"{row.kept} kept"]
    moved += [(f"{row.unseen} dropped before any summariser saw them")] if row.unseen else []
    say(listed(moved), indent=4)
    if row.summary_state != "text":
        say(f"cannot be judged: {unreadable_told([(row.round, row.summary_state)])}", indent=4)
    again = row.lost - sum(classes.values())
    if again > 0:
        say(f"stated again since, or dropped on purpose: {again}", indent=4)
    if classes:
        say("still lost: " if again > 0 else "lost: ", listed([of_class(n, cls) for cls, n in classes.items()]), indent=4)


def tokens_told(before: int | None, after: int | None) -> str:
    """The size of the window around a compaction, as far as it is on record."""
    if before is not None and after is not None:
        return f"{before:,} -> {after:,} tokens"
    return f"{before:,} tokens before" if before is not None else f"{after:,} tokens after" if after is not None else ""


def _fates(row: RoundAnswer) -> str:
    parts = [f"{row.survived} survived", f"{row.lost} lost"]
    if row.unknown:
        parts.append(f"{row.unknown} unknown")
    return f"{count(row.dropped, 'fact')} left the window: {listed(parts)}"


def unreadable_told(rounds: Iterable[tuple[int, str]]) -> str:
    """Which summaries of these rounds and states nobody can read, and why; the empty string where all can be read."""
    by_state: dict[str, list[int]] = {}
    for number, state in rounds:
        if state != "text":
            by_state.setdefault(state, []).append(number)
    return "; ".join(_unread(state, numbers) for state, numbers in by_state.items())


def _unread(state: str, numbers: list[int]) -> str:
    one, several = _UNREAD.get(state, (state, state))
    if len(numbers) == 1:
        return f"the summary of round {numbers[0]} {one}"
    if len(numbers) > ROUNDS_NAMED:
        return f"{len(numbers)} summaries, from round {numbers[0]} to round {numbers[-1]}, {several}"
    return f"the summaries of rounds {listed([str(number) for number in numbers[:-1]])} and {numbers[-1]} {several}"


def show_totals(answer: ForgottenAnswer) -> None:
    """The totals of a session, which add up, and the named answer where nothing is listed. Where nothing can be judged, why is
    said first.
    """
    from ops.queries.forgotten import UNREADABLE

    parts = [f"{answer.survived_in_summary:,} still held", f"{answer.forgotten_total:,} forgotten"]
    counted = f"{count(answer.rounds, 'round')}, {count(answer.dropped_total, 'fact')} left the window: {listed(parts)}"
    unread = unreadable_told((one.round, one.summary_state) for one in answer.unreadable)
    lead = f"cannot be judged: {unread}" if unread and answer.note == "unknown" else ""
    say((f"session {answer.session_id}", "bold"), f": {lead or counted}")
    if answer.receipt.source_path:
        say(short_path(answer.receipt.source_path), indent=2)
    if lead:
        say(counted, indent=2)
    elif unread:
        say(f"not judged: {unread}", indent=2)
    if answer.unknown_total:
        say(f"{answer.unknown_total:,} more went with a summary that cannot be read", indent=2)
    if answer.tombstoned_total:
        say(f"{answer.tombstoned_total:,} more were dropped on purpose", indent=2)
    if answer.note and not (lead and answer.reason == UNREADABLE):
        say(answer.note, f": {answer.reason}" if answer.reason else "", indent=2)


def show_trust(trust: str, reasons: Iterable[str]) -> None:
    """The trust in a session, and why."""
    say("trust: ", (trust, _TRUST_STYLES.get(trust, "bold")), indent=2)
    for reason in reasons:
        known = REASONS.get(reason.partition(":")[0])
        say(f"- {short_ids(reason)}" + (f": {known}" if known else ""), indent=4, hang=2)
