"""`demo`: the main job on a bundled transcript, with a temporary log. Everything shown is decided while it runs."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from ops.cli.findings import show_round, show_trust
from ops.cli.ingesting import show_alert_counts
from ops.cli.losses import settled_told, show_losses
from ops.cli.options import Json
from ops.cli.pairing import beside
from ops.cli.screen import listing, one_line, print_json, rule_off, say
from ops.cli.words import count, listed, short_ids

if TYPE_CHECKING:
    from ops.store import Store
    from ops.whatif import AskedFirst
    from schemas.records import AnyRecord

SAMPLE = "claude-code-retry-budget.jsonl"
LOSSES_SHOWN = 6
PAGE_LINES = 3

DROPPED = "staging-old.harbor.example:8443"
"""What the user of the bundled session says nobody needs any more (line 56): the demo puts that on record."""

QUESTIONS = (
    "The change has to be live by 2026-12-04.",
    "The retry budget is 3 attempts per 15-minute window and booking.",
    DROPPED,
    "The gateway gives up after 250 ms.",
    "How are things?",
)
"""One question for each answer that a transcript can give: held, lost, dropped on purpose, never said, and no fact at all."""


def demo(json: Json = False) -> None:
    """Show what it does, on a bundled transcript.

    What two compactions lost, what would have been refused, who would have been told, what is still held.
    """
    asyncio.run(_demo(json))


async def _demo(json: bool) -> None:
    with as_file(files("ops") / "samples" / SAMPLE) as path, tempfile.TemporaryDirectory(prefix="cledger-demo-") as folder:
        await _run(path, f"lmdb:{folder}/log", json)


async def _run(path: Path, url: str, json: bool) -> None:
    from ledger.transcripts.reading import Transcript
    from ops.ingest import Ingest
    from ops.store import open_store
    from ops.transcripts import read_records

    with Transcript(path) as transcript:
        records = list(read_records(transcript))
    parts: list[Callable[[Store, str, bool], Awaitable[None]]] = [_lost, _alerts, _tombstone, _answers, _trust]
    async with open_store(url, create=True) as store:
        job = Ingest(store)
        await job.file(str(path), records)
        await job.fold()
        session = next(iter(job.sessions))
        if not json:
            _introduce(path, job.total.records, session)
        await _lost(store, session, json)
        await _refused(records, json)
        for part in parts[1:]:
            await part(store, session, json)
    await _audited(url, json)
    if not json:
        _next_steps()


def _introduce(path: Path, records: int, session: str) -> None:
    say(("The compaction ledger on a bundled transcript", "bold"))
    say(
        f"{path.name}: a developer and an agent build a retry budget; the agent's context is compacted twice. "
        f"The transcript is now {count(records, 'record')} in a temporary log, session {short_ids(session)}."
    )


async def _lost(store: Store, session: str, json: bool) -> None:
    from ops.queries.forgotten import forgotten, lost_by_class
    from ops.queries.overview import rounds_of

    with store.reading() as reading:
        found = reading.session(session)
        answer = await forgotten(reading, found, round_=None, classes=frozenset(), limit=LOSSES_SHOWN)
        rounds, classes = rounds_of(found), lost_by_class(found)
    if json:
        print_json({"part": "lost", "rounds": rounds, "forgotten": answer})
        return
    rule_off("1. What the compactions lost")
    for row in rounds:
        show_round(row, classes.get(row.round, {}))
    say(("worst first", "bold"), indent=2)
    shown = [entry for entry in answer.forgotten if entry.settled is None]
    show_losses(shown, answer.receipt.source_path)
    say(f"… and {answer.open_total - len(shown)} more open; {settled_told(answer.settled_matching, more=True)}", indent=2)


async def _refused(records: list[AnyRecord], json: bool) -> None:
    from ops.whatif import asked_first

    answer = await asked_first(records)
    if json:
        print_json({"part": "asked_first", "answer": answer})
        return
    rule_off("2. What would have been refused")
    if answer is None:
        say("The transcript holds no round with a summary.", indent=2)
        return
    _show_asked(answer)


def _show_asked(answer: AskedFirst) -> None:
    say(
        f"Had the agent asked before round 1 whether {count(answer.spans, 'span')} may leave for this summary: ",
        (answer.decision, "bold red" if answer.decision == "refused" else "green"),
        f" (rule {answer.rule}, {answer.reason}; {count(answer.evidence_total, 'fact')} at stake)",
        indent=2,
    )
    for item in answer.evidence[:3]:
        say(f"- {item.outcome} {item.cls}, line {item.line}, {item.fidelity} kept, floor {item.floor}", indent=4)
        say(f"“{one_line(item.text, 200)}”", indent=6)
        if item.summary_says:
            lead = beside(item.text, item.cls, item.outcome, item.summary_says)
            say(f"{lead}: “{one_line(item.summary_says, 200)}”", indent=6)
    ways = answer.would_pass
    say("Any one of these would let it pass:", indent=2)
    choices = [
        (ways.carry_facts, f"carry {count(len(ways.carry_facts), 'fact')} in the summary"),
        (ways.skip_spans, f"leave {count(len(ways.skip_spans), 'span')} in the window"),
        (ways.externalise_spans, f"store {count(len(ways.externalise_spans), 'span')} elsewhere, with a verified round trip"),
        (ways.tombstone_facts, f"drop {count(len(ways.tombstone_facts), 'fact')} on purpose, by name"),
        (ways.prefer_would_evict, f"ask in mode prefer, which would let {count(len(ways.prefer_would_evict), 'span')} go"),
    ]
    for names, text in choices:
        if names:
            say(f"- {text}", indent=4)


async def _alerts(store: Store, session: str, json: bool) -> None:
    from ops.queries.alerts import AlertAnswer, Cursor, stream, tally

    counted = [item for item in await tally(store.log, Cursor()) if item.session == session]
    if json:
        print_json({"part": "alerts", "counts": counted})
        return
    pages: dict[str, list[AlertAnswer]] = {}
    with store.reading() as reading:
        async for alert in stream(reading):
            if alert.severity == "page" and alert.state == "raised" and alert.session == session:
                pages.setdefault(alert.group, []).append(alert)
    rule_off("3. Who would have been told")
    show_alert_counts(counted)
    for number, group in enumerate(pages.values(), 1):
        say((f"page {number}", "bold red"), f", {group[0].time or 'no time'}, for {count(len(group), 'alert')}:", indent=2)
        for alert in sorted(group, key=lambda one: one.kind != "fact_inverted")[:PAGE_LINES]:
            say(f"- {alert.kind} (rule {alert.rule}): “{one_line(' '.join(alert.quotes), 160)}”", indent=4, hang=2)
        if len(group) > PAGE_LINES:
            say(f"… and {len(group) - PAGE_LINES} more", indent=4)
    say("Alerts of one compaction share a group, so that it is one page, whatever it lost.", indent=2)


async def _tombstone(store: Store, session: str, json: bool) -> None:
    from ops.queries.alerts import end_of, stream
    from ops.requests import tombstone

    cursor = await end_of(store.log)
    answers = await tombstone(store, session, DROPPED, "switched off on purpose", "the user, line 56")
    if json:
        print_json({"part": "tombstoned", "answers": answers})
        return
    rule_off("4. Dropped on purpose")
    for answer in answers:
        say(f"{answer.cls} {one_line(answer.value)}: {answer.reason}, says {answer.authority}", indent=2)
    with store.reading() as reading:
        async for alert in stream(reading, cursor=cursor):
            say(f"{alert.state}: {alert.severity} {alert.kind} (rule {alert.rule})", indent=2)


async def _answers(store: Store, session: str, json: bool) -> None:
    from ops.queries.recall import recall

    with store.reading() as reading:
        found = reading.session(session)
        asked = [(text, await recall(reading, found, text)) for text in QUESTIONS]
    if json:
        for text, answers in asked:
            print_json({"part": "recall", "question": text, "answers": answers})
        return
    rule_off("5. What the session still knows, asked afterwards")
    for text, answers in asked:
        kinds = listed(list(dict.fromkeys(answer.answer for answer in answers)))
        holders = ["a raw span" if one.raw else f"a summary of generation {one.generation}" for one in answers[0].carriers]
        reason = answers[0].reason or f"held by {listed(list(dict.fromkeys(holders)))}"
        say((kinds, "bold"), f"  “{text}”", indent=2, hang=2)
        say(reason, indent=6)
    say(
        "The sixth answer, empty, is a store's: the key is live and resolves to nothing. This session declares no store.",
        indent=2,
    )


async def _trust(store: Store, session: str, json: bool) -> None:
    from ops.queries.overview import status

    with store.reading() as reading:
        answer = status(reading, reading.session(session))
    if json:
        print_json({"part": "status", "status": answer})
        return
    rule_off("6. How far to trust it")
    show_trust(answer.trust, answer.reasons)


async def _audited(url: str, json: bool) -> None:
    from ops.verify import audit

    answer, _ = await audit(url)
    if json:
        print_json({"part": "replay", "replay": answer})
        return
    rule_off("7. Decided again from the log alone")
    say(
        f"{count(answer.records, 'record')}, {count(answer.decisions, 'decision')}, {count(answer.alerts, 'alert')}: "
        f"{count(len(answer.differences), 'difference')}",
        indent=2,
    )


def _next_steps() -> None:
    rule_off("Next: your own sessions")
    listing(
        [
            ("cledger forgotten TRANSCRIPT.jsonl", "one transcript, no log needed"),
            ("cledger ingest ~/.claude/projects", "all of Claude Code's, into a log"),
            ("cledger check SOURCE SUMMARY", "may this summary replace this text?"),
            ("cledger --help", "everything else"),
        ],
        indent=2,
    )
