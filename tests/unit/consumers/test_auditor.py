"""The auditor: due audits are made through the agent's own path, and publishers' manifests are looked at again (T2)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import msgspec
import pytest

from consumers import remeasuring
from consumers.auditor import (
    AUDITOR,
    Auditor,
    AuditRound,
    Unreached,
    is_sampled,
    omitted_facts,
    own_answer,
    pinned_span,
)
from ledger.errors import LogUnavailable
from ledger.facts import extract
from ledger.log import Entry
from ledger.lookup import scope_row, session_row, span_row
from ledger.retrieval import Fetched, FetchStatus
from schemas.alerts import AlertRaised
from schemas.facts import Manifest
from schemas.records import AnyRecord, AuditRecorded, ManifestRecorded, ScopeClosed, SpanRecorded
from tests.support import toy_facts as toy
from tests.support.followed import LOGS, Followed, followed
from tests.support.given import (
    closed,
    evict,
    evicted,
    expired,
    observed,
    opened,
    record,
    span,
    span_name,
    summary,
)

TEXTS = {1: "n:40 p:billing", 2: "i:host", 3: "c:friday"}
FAR = 10_000


@pytest.fixture(autouse=True)
def toys(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("consumers.remeasuring.extract", toy.extract)
    with toy.toy_facts():
        yield


@pytest.fixture(params=LOGS)
async def at(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Followed]:
    async with followed(request.param, tmp_path) as made:
        yield made


class FakeStore:
    """An agent's store: what it holds, or how it fails. Counts how often it was asked."""

    def __init__(self, texts: dict[str, str] | None = None, status: FetchStatus | None = None, error: Exception | None = None):
        self.texts, self.status, self.error = texts or {}, status, error
        self.asked: list[str] = []

    async def fetch(self, key: str) -> Fetched:
        self.asked.append(key)
        if self.error is not None:
            raise self.error
        text = self.texts.get(key, "")
        status = self.status or ("ok" if text else "absent")
        return Fetched(status=status, key=key, carrier=key, raw=True, generation=0, text=text if status == "ok" else "")


def held(scope: str = "s1") -> dict[str, str]:
    """What a sound store of the session holds."""
    return {span_name(number, scope): text for number, text in TEXTS.items()}


def due(scope: str = "s1", store: str = "ledger", *, window: int = 1, rounds: int = 1) -> list[AnyRecord]:
    """A session whose spans left the window in compactions, of which so many make an audit due."""
    whole = " ".join(TEXTS.values())
    return [
        opened(scope, scope=scope, store=store, policy={"audit.window": str(window)}),
        *(span(number, text, session=scope, scope=scope) for number, text in TEXTS.items()),
        summary(f"{scope}#m", whole, session=scope, scope=scope),
        *(
            observed(f"r{number}", f"{scope}#m", turn=3, ordinal=number, session=scope, scope=scope)
            for number in range(1, rounds + 1)
        ),
    ]


def auditor(at: Followed, stores: dict[str, FakeStore] | None = None, one_in: int = 1) -> Auditor:
    return Auditor(at.log, at.index, 0, stores, sample_one_in=one_in)


def reasons(made: AuditRound) -> list[str]:
    return [each.reason for each in made.unreached]


async def test_due_audit_of_the_ledgers_own_store_passes_and_is_no_longer_due(at: Followed) -> None:
    """T2, P6: the alert resolves, and the next call finds nothing to do."""
    await at.fold(*due())
    assert await at.open_alerts("audit_due") == 1
    made = await auditor(at).audit()
    await at.fold()
    assert [(each.session, each.passed, each.added) for each in made.audited] == [("s1", True, True)]
    assert await at.open_alerts("audit_due") == 0
    (on_record,) = await at.events(AuditRecorded)
    assert (on_record.id, on_record.span) == (made.audited[0].event, made.audited[0].span)
    assert on_record.fact
    assert await auditor(at).audit() == AuditRound(audited=(), unreached=(), whole=True)


async def test_audit_is_made_when_the_fold_says_so_and_not_before(at: Followed) -> None:
    """T2: one per N compactions."""
    await at.fold(*due(window=2))
    assert (await auditor(at).audit()).audited == ()
    await at.fold(observed("r9", "s1#m", turn=3, ordinal=2))
    assert [each.passed for each in (await auditor(at).audit()).audited] == [True]


async def test_store_that_gives_another_text_fails_until_it_is_repaired(at: Followed) -> None:
    """T1, T2: degraded once, not once a call; then evidence that it works again."""
    await at.fold(*due(store="vectors"))
    store = FakeStore({name: text + " retold" for name, text in held().items()})
    for added in (True, False):
        made = await auditor(at, {"vectors": store}).audit()
        await at.fold()
        assert [(each.passed, each.added, each.status) for each in made.audited] == [(False, added, "ok")]
    assert await at.open_alerts("audit_failed") == 1
    assert len(await at.events(AuditRecorded)) == 1
    store.texts = held()
    assert (await auditor(at, {"vectors": store}).audit()).audited[0].passed
    await at.fold()
    assert await at.open_alerts("audit_failed") == await at.open_alerts("audit_due") == 0


@pytest.mark.parametrize("status", ["absent", "empty", "tombstone"])
async def test_store_that_lost_the_span_fails_the_audit(at: Followed, status: FetchStatus) -> None:
    """T2: an answer that is not the text is a failed audit, whatever it is called."""
    await at.fold(*due(store="vectors"))
    made = await auditor(at, {"vectors": FakeStore(status=status)}).audit()
    await at.fold()
    assert [(each.passed, each.status) for each in made.audited] == [(False, status)]
    assert await at.open_alerts("audit_failed") == 1


@pytest.mark.parametrize(
    ("store", "reason"),
    [
        (FakeStore(status="error"), "the store did not answer"),
        (FakeStore(error=LogUnavailable("no route")), "LogUnavailable: no route"),
        (FakeStore(error=ConnectionRefusedError("refused")), "ConnectionRefusedError: refused"),
    ],
)
async def test_store_out_of_reach_leaves_the_audit_due_and_is_not_asked_again(
    at: Followed, store: FakeStore, reason: str
) -> None:
    """T2: that nobody answered says nothing of what is there, so nothing goes on record and nobody waits twice."""
    store.asked.clear()
    await at.fold(*due("s1", "vectors"), *due("s2", "vectors"), *due("s3"))
    made = await auditor(at, {"vectors": store}).audit()
    assert reasons(made) == [reason, reason]
    assert len(store.asked) == 1
    assert [each.scope for each in made.audited] == ["s3"]
    await at.fold()
    assert await at.open_alerts("audit_due") == 2
    assert await at.open_alerts("audit_failed") == 0


async def test_store_nobody_configured_is_reported(at: Followed) -> None:
    await at.fold(*due(store="vectors"))
    made = await auditor(at, {"other": FakeStore()}).audit()
    assert made.unreached == (
        Unreached(scope="s1", session="s1", store="vectors", reason="no way to ask this store is configured"),
    )
    assert await at.events(AuditRecorded) == []


async def test_scope_without_a_store_or_closed_is_left_alone(at: Followed) -> None:
    await at.fold(*due("s1", "none"), *due("s2"), record(ScopeClosed, "s2", "s2", "s2"))
    assert await auditor(at).audit() == AuditRound(audited=(), unreached=(), whole=True)


async def test_calls_go_round_the_scopes_in_pieces(at: Followed) -> None:
    """Work per call does not grow with the number of scopes, and none is forgotten."""
    for number in range(5):
        await at.fold(*due(f"s{number}"))
    one = auditor(at)
    seen = [await one.audit(scopes=2) for _ in range(4)]
    assert [[each.scope for each in made.audited] for made in seen] == [["s0", "s1"], ["s2", "s3"], ["s4"], ["s0", "s1"]]
    assert [made.whole for made in seen] == [False, False, True, False]
    assert [each.added for each in seen[3].audited] == [True, True], "not folded yet: said again, under the same id"
    await at.fold()
    assert at.duplicates() == 2
    assert [(await one.audit()).audited for _ in range(2)] == [(), ()]


async def test_limit_bounds_the_audits_of_one_call(at: Followed) -> None:
    for number in range(3):
        await at.fold(*due(f"s{number}"))
    one = auditor(at)
    seen = [await one.audit(limit=1) for _ in range(3)]
    assert [each.scope for made in seen for each in made.audited] == ["s0", "s1", "s2"]


async def test_two_auditors_say_the_same(at: Followed) -> None:
    """P3: an owner that was taken for dead repeats, and changes nothing."""
    await at.fold(*due())
    for _ in range(2):
        await auditor(at).audit()
    first, second = await at.events(AuditRecorded)
    assert first == second
    await at.fold()
    assert at.duplicates() == 1


async def test_next_call_for_an_audit_is_another_record(at: Followed) -> None:
    """T2: an audit that passed before does not stand for the one that is due now."""
    await at.fold(*due(store="vectors"))
    for turn in (1, 2):
        assert [each.added for each in (await auditor(at, {"vectors": FakeStore(held())}).audit()).audited] == [True]
        await at.fold()
        assert await at.open_alerts("audit_due") == 0
        await at.fold(observed(f"again{turn}", "s1#m", turn=3, ordinal=turn + 1))
        assert await at.open_alerts("audit_due") == 1
    assert len({made.id for made in await at.events(AuditRecorded)}) == 2


async def test_entry_that_was_granted_to_go_is_not_asked_for(at: Followed) -> None:
    """C1, T2: what a grant removed is rightly gone; only where the store is to hold nothing is there nothing to ask."""
    await at.fold(*due(), evict("e1", 1, 2), evicted("e1"))
    made = await auditor(at).audit()
    assert [(each.span, each.passed) for each in made.audited] == [("s1:3", True)]
    await at.fold()
    await at.fold(expired("x1", 3), observed("r9", "s1#m", turn=3, ordinal=2))
    made = await auditor(at).audit()
    assert (made.audited, reasons(made)) == ((), ["nothing that left the window is in the store"])


async def test_text_that_was_edited_in_the_log_fails_the_audit(at: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """P8, T2: the own store is asked for what it gives now, not for what the index remembers."""
    await at.fold(*due())
    read = at.log.read

    async def edited(topic: str, partition: int, offset: int, **limits: int) -> list[Entry]:
        found = await read(topic, partition, offset, **limits)
        return [msgspec.structs.replace(each, value=each.value.replace(b'"text":"', b'"text":"not ')) for each in found]

    monkeypatch.setattr(at.log, "read", edited)
    made = await auditor(at).audit()
    assert [(each.passed, each.status) for each in made.audited] == [(False, "ok")]


async def test_record_that_is_gone_from_the_log_fails_the_audit(at: Followed, monkeypatch: pytest.MonkeyPatch) -> None:
    """P1, T2: nothing under the span's offset is an empty entry, and no success."""
    await at.fold(*due())

    async def nothing(topic: str, partition: int, offset: int, **limits: int) -> list[Entry]:
        return []

    monkeypatch.setattr(at.log, "read", nothing)
    made = await auditor(at).audit()
    assert [(each.passed, each.status) for each in made.audited] == [(False, "empty")]


async def test_other_session_of_the_scope_is_asked_where_the_named_one_has_nothing(at: Followed) -> None:
    """T2: an audit stands for the scope."""
    await at.fold(*due("s1", window=2), opened("s1/a", scope="s1"), observed("r9", None, turn=0, session="s1/a", scope="s1"))
    assert [alert.session for alert in await at.alerts("audit_due")] == ["s1/a"]
    with at.index.snapshot() as view:
        rows = view.scope("s1")
        assert rows is not None
        other, main = session_row(rows, "s1/a"), session_row(rows, "s1")
        assert other is not None
        assert main is not None
        assert pinned_span(rows, other) is None
        pinned = pinned_span(rows, main)
        assert pinned is not None
    made = await auditor(at).audit()
    assert [(each.session, each.span) for each in made.audited] == [("s1", pinned.id)]


async def test_pinned_span_moves_with_the_rounds_and_is_no_window_span(at: Followed) -> None:
    """T2: chosen by a rule that every replay repeats; a span in the window proves nothing."""
    await at.fold(*due(rounds=1), span(4, "n:7", turn=9))
    chosen = []
    for number in range(2, 12):
        with at.index.snapshot() as view:
            rows = view.scope("s1")
            assert rows is not None
            main = session_row(rows, "s1")
            assert main is not None
            pinned = pinned_span(rows, main)
            assert pinned is not None
            chosen.append(pinned.id)
        await at.fold(observed(f"r{number}", "s1#m", turn=3, ordinal=number, kept=[4]))
    assert set(chosen) == {"s1:1", "s1:2", "s1:3"}


# The sample.


def leaving_out(text: str, kept: str, scope: str = "s1") -> Manifest:
    """A manifest that lists part of a text, rightly."""
    whole = toy.extract(text, "user", scope_key=scope)
    return msgspec.structs.replace(whole, facts=tuple(fact for fact in whole.facts if fact.value in kept.split()))


async def test_fact_that_a_manifest_left_out_is_added_and_paged_once(at: Followed) -> None:
    """T2: compactors lie by omission, publishers too."""
    await at.fold(opened(), span(1, "n:40 p:billing i:host", manifest=leaving_out("n:40 p:billing i:host", "n:40")))
    assert await auditor(at).sample(limit=FAR) == 1
    await at.fold()
    (alert,) = await at.alerts("fact_omitted")
    assert isinstance(alert, AlertRaised)
    assert (alert.severity, alert.subject) == ("page", "manifest:s1:1")
    (made,) = await at.events(ManifestRecorded)
    assert [fact.value for fact in made.manifest.facts] == ["p:billing", "i:host"]
    assert await auditor(at).sample(limit=FAR) == 0
    (at.index.directory / f"{AUDITOR}.checkpoint").unlink()
    assert await auditor(at).sample(limit=FAR) == 0, "what was added is listed"


async def test_whole_manifest_and_missing_one_are_no_omission(at: Followed) -> None:
    """C2: a span without a manifest is the measurer's."""
    await at.fold(opened(), span(1, "n:40 p:billing"), span(2, "n:7", manifest=False), span(3, "hello"))
    assert await auditor(at).sample(limit=FAR) == 0
    assert await at.alerts("fact_omitted") == []


async def test_sample_is_the_same_for_everybody_and_about_one_in_n(at: Followed) -> None:
    """T2: by scope and span id alone, today and in later releases."""
    assert [number for number in range(1, 61) if is_sampled("s1", span_name(number), 10)] == [25, 39, 48]
    texts = {number: f"n:{number}" for number in range(1, 401)}
    await at.fold(opened(), *(span(number, text, manifest=leaving_out(text, "")) for number, text in texts.items()))
    made = await auditor(at, one_in=10).sample(limit=FAR)
    assert 20 <= made <= 60
    found = [each.span for each in await at.events(ManifestRecorded)]
    assert found == [span_name(number) for number in texts if is_sampled("s1", span_name(number), 10)]


async def test_sample_bounded_by_its_limit_goes_on(at: Followed) -> None:
    await at.fold(opened(), *(span(number, "n:40", manifest=leaving_out("n:40", "")) for number in range(1, 6)))
    assert [await auditor(at).sample(limit=2) for _ in range(4)] == [2, 2, 1, 0]


def test_span_with_a_validity_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """T2: a page that is false costs more than one that is late. Validity is part of a fact's id."""
    monkeypatch.setattr(remeasuring, "extract", extract)
    text, valid = "Service api-1 accepts 100 req/s. Never restart host-1.", ("2026-01-01", "2026-02-01")
    listed = frozenset(fact.id for fact in extract(text, "user", scope_key="s1", valid=valid).facts)
    bare = span(1, text, manifest=False)
    assert isinstance(bare, SpanRecorded)
    assert omitted_facts(msgspec.structs.replace(bare, valid_from=valid[0], valid_to=valid[1]), listed) is None
    assert omitted_facts(bare, listed) is not None


async def test_own_answer_tells_gone_from_dropped_from_empty(at: Followed) -> None:
    """V1, V2: four answers, and an ok one says what it is."""
    await at.fold(opened(store="ledger"), span(1, "n:40"), closed())
    with at.index.snapshot() as view:
        rows = view.scope("s1")
        assert rows is not None
        assert scope_row(rows).store == "ledger"
        row = span_row(rows, "s1:1")
        assert row is not None
    gone, replace = msgspec.structs.replace(row, in_store=False), msgspec.structs.replace
    answers = [own_answer("k", each, "n:40") for each in (row, gone, replace(gone, tombstoned=True))]
    assert [answer.status for answer in answers] == ["ok", "absent", "tombstone"]
    assert own_answer("k", row, "").status == "empty"
    assert answers[0].has_provenance
    assert (answers[0].turns, answers[0].text) == ((1, 1), "n:40")
