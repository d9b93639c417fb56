"""What the ledger grants loses nothing, and what it says would pass does pass (P5, C1, C3, F3)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import Phase, given, settings

from ledger.log import ALERTS
from ledger.lookup import fact_row, span_facts, span_row, summary_row
from ledger.state import SUMMARY_TEXT, fact_key, name_key
from schemas.codec import decode_alert, decode_decision
from schemas.decisions import CompactionGranted, CompactionRefused, EvictionGranted, EvictionRefused
from schemas.records import (
    AnyRecord,
    CompactionObserved,
    CompactionRequested,
    EvictionObserved,
    EvictionRequested,
    ExternalisationVerified,
    IndexRechunked,
    ManifestRecorded,
    PlainText,
    PolicySet,
    SummaryRecorded,
)
from tests.support.given import Fold, record, tombstone
from tests.support.histories import Publisher, history, seeds, shown, shrunk
from tests.support.toy_facts import toy_facts

QUICK = settings(max_examples=80, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate))
BY_ITSELF = (CompactionObserved, EvictionObserved, IndexRechunked, PolicySet)
"""What happens without being asked for, or moves the floors between a grant and its end."""

LOSSES = ("fact_lost", "prohibition_lost", "last_carrier_evicted")


@pytest.fixture(scope="module", autouse=True)
def _toy() -> Iterator[None]:
    with toy_facts():
        yield


def losses(records: list[AnyRecord]) -> list[str]:
    """Alerts of lost facts, when publishers do only what they were granted and name the facts before they ask. What a manifest
    left out until a grant was given, no grant can keep.
    """
    fold, late = Fold(recount=False), set[str]()
    for item in records:
        if isinstance(item, ManifestRecorded):
            late |= _named_too_late(fold, item)
        if not isinstance(item, BY_ITSELF):
            fold.take([item])
    alerts = [decode_alert(raw) for topic, raw in fold.outputs if topic == ALERTS]
    return [
        f"{alert.kind} {alert.subject}"
        for alert in alerts
        if alert.kind in LOSSES and alert.subject.partition("@")[0] not in late
    ]


def _named_too_late(fold: Fold, item: ManifestRecorded) -> set[str]:
    span = span_row(fold.rows, item.span)
    if span is None or not (span.leaving or span.leaving_store):
        return set()
    known = {ref.fact for ref in span_facts(fold.rows, item.span).refs}
    return {fact.id for fact in item.manifest.facts if fact_key(fact.id) not in known}


@QUICK
@given(seeds)
def test_p5_no_order_of_granted_evictions_and_compactions_loses_a_fact(seed: int) -> None:
    """P5, C1, C3: grants of many sessions, carried out, withdrawn or left pending in any order."""
    records = history(seed, size=80)
    if losses(records):
        short = shrunk(records, losses)
        pytest.fail(f"{losses(short)}\n{shown(short)}")


def ways(fold: Fold, asked: CompactionRequested | EvictionRequested, refused: Any) -> Iterator[tuple[str, list[AnyRecord]]]:
    """Each way out of a refusal, followed in full, with the same request under a new id at its end."""
    again = record(type(asked), "again", asked.session, asked.scope, **{**_fields(asked), "request": "again"})
    out = refused.would_pass
    if out.skip_spans:
        yield "skip", [_without(again, set(out.skip_spans))]
    if out.tombstone_facts:
        stones: list[AnyRecord] = [
            tombstone(fact, session=asked.session, scope=asked.scope, occurrence="way") for fact in out.tombstone_facts
        ]
        yield "tombstone", [*stones, again]
        if isinstance(again, CompactionRequested):
            yield (
                "tombstone in the request",
                [msgspec.structs.replace(again, tombstones=again.tombstones + out.tombstone_facts)],
            )
    if out.externalise_spans:
        yield "externalise", [*(_externalise(fold, asked, name) for name in out.externalise_spans), again]
    if isinstance(again, CompactionRequested):
        if out.carry_facts:
            yield "carry", _carrying(fold, again, out.carry_facts)
        if out.prefer_would_evict:
            yield "prefer", [msgspec.structs.replace(again, mode="prefer")]


def _fields(asked: AnyRecord) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(asked).items() if name not in ("id", "session", "scope")}


def _without(asked: Any, skipped: set[str]) -> AnyRecord:
    if isinstance(asked, CompactionRequested):
        return msgspec.structs.replace(asked, evictions=tuple(each for each in asked.evictions if each.span not in skipped))
    replaced: AnyRecord = msgspec.structs.replace(asked, spans=tuple(name for name in asked.spans if name not in skipped))
    return replaced


def _externalise(fold: Fold, asked: AnyRecord, name: str) -> AnyRecord:
    span = span_row(fold.rows, name)
    assert span is not None
    return record(
        ExternalisationVerified, f"{name}/way", asked.session, asked.scope,
        span=name, store="files", key=name, sha256=span.text_sha256, occurrence="way",
    )  # fmt: skip


def _carrying(fold: Fold, asked: CompactionRequested, facts: tuple[str, ...]) -> list[AnyRecord]:
    """A summary as before that states these facts too."""
    before, text = summary_row(fold.rows, asked.summary), fold.rows.get(SUMMARY_TEXT, name_key(asked.summary))
    rows = [fact_row(fold.rows, fact_key(fact)) for fact in facts]
    assert before is not None
    assert text is not None
    words = " ".join([text.text, *(row.value for row in rows if row is not None)])
    better = record(
        SummaryRecorded, "better", asked.session, asked.scope,
        summary="better", text=PlainText(words), covers_summaries=before.covers_summaries, tokens=before.tokens,
    )  # fmt: skip
    return [better, msgspec.structs.replace(asked, summary="better")]


def false_promises(records: list[AnyRecord]) -> list[str]:
    """Ways out that were followed and led nowhere."""
    fold, found = Fold(recount=False), []
    for item in records:
        before = fold.rows.copy()
        said = len(fold.outputs)
        fold.take([item])
        if not isinstance(item, CompactionRequested | EvictionRequested) or len(fold.outputs) == said:
            continue
        refused = decode_decision(fold.outputs[said][1])
        if not isinstance(refused, CompactionRefused | EvictionRefused) or refused.rule == "I4":
            continue
        for way, steps in ways(fold, item, refused):
            trial = Fold(before.copy(), recount=False).take(steps)
            answer = [decode_decision(raw) for topic, raw in trial.outputs if topic != ALERTS][-1]
            if not isinstance(answer, CompactionGranted | EvictionGranted):
                found.append(f"{way}: {answer}")
            elif way == "prefer" and answer.evict != refused.would_pass.prefer_would_evict:  # type: ignore[union-attr]
                found.append(f"prefer granted {answer}, not {refused.would_pass.prefer_would_evict}")
    return found


@QUICK
@given(seeds)
def test_c3_f3_every_way_out_of_a_refusal_passes_when_followed(seed: int) -> None:
    """C1, C2, C3, F2, F3: any list of `would_pass`, done in full, lets the same request pass."""
    records = history(seed)
    if false_promises(records):
        short = shrunk(records, false_promises)
        pytest.fail(f"{false_promises(short)[0]}\n{shown(short)}")


def test_histories_reach_every_kind_of_decision() -> None:
    """The properties say something: among few histories there are grants, refusals and losses of each kind."""
    seen: set[str] = set()
    for seed in range(60):
        fold = Fold(recount=False).take(history(seed))
        for topic, raw in fold.outputs:
            output: Any = decode_alert(raw) if topic == ALERTS else decode_decision(raw)
            seen.add(output.kind if topic == ALERTS else f"{type(output).__name__}:{output.reason.partition(':')[0]}")
    wanted = {
        "CompactionGranted:",
        "CompactionRefused:below_floor",
        "CompactionRefused:budget_exhausted",
        "CompactionRefused:pending",
        "CompactionRefused:not_in_window",
        "CompactionRefused:unmanifested",
        "CompactionJudged:",
        "CompactionJudged:summary_missing",
        "EvictionGranted:",
        "EvictionRefused:last_carrier",
        "EvictionRefused:below_floor",
        "EvictionRefused:not_recorded",
        "EvictionJudged:ttl",
        "RecordRejected:immutable",
        "RecordRejected:no_pending_request",
        "RecordRejected:session_not_opened",
        "fact_lost",
        "fact_inverted",
        "quantifier_changed",
        "hedge_stripped",
        "last_carrier_evicted",
        "prohibition_lost",
        "unmanifested_span_left",
        "trust_changed",
    }
    assert wanted <= seen
    assert random.Random("s").random() == random.Random("s").random()
    assert Publisher(1).begin() == Publisher(1).begin()
