"""The Python API: asks before it evicts, fails closed, and gives the same answer twice (P3, P5, contracts section 5)."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from ledger.adapters.memory_log import MemoryLog
from ledger.client import LedgerClient, Place
from ledger.errors import LogDamaged, UsageError
from ledger.log import DECISIONS, EVENTS
from ledger.refusals import (
    AnswerUnknown,
    LosslessRetrievalBoundaryError,
    RecallFloorViolation,
    RecordConflict,
    Refused,
    RehydrationBoundaryError,
    UnanchoredReconstitutionError,
)
from ledger.retrieval import Fetched, Retrieval
from ops import open_ledger, open_ledger_sync
from ops.examples import fleet
from schemas.codec import decode_record
from schemas.records import Candidate, Claim, RequestWithdrawn
from tests.support.cli import ROOT

LIMIT = "The gateway accepts 40 req/s at most."
BAN = "Never restart worker-7 during the day."


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[LedgerClient]:
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as client:
        yield client


async def test_compaction_that_loses_a_number_is_refused_with_quotes_and_ways_out(ledger: LedgerClient) -> None:
    """F2, seed 3: the refusal names the words at stake, and what would pass."""
    scope = ledger.scope("s")
    spans = [await scope.record_span("m1", LIMIT), await scope.record_span("m2", BAN)]
    await scope.record_summary("sum-1", f"Gateway limits were discussed. {BAN}", covers=spans)
    with pytest.raises(RecallFloorViolation) as refused:
        await scope.request_compaction("sum-1", spans)
    quotes = {item.fact_text for item in refused.value.evidence}
    assert any("40 req/s" in quote for quote in quotes)
    assert refused.value.rule == "F2"
    assert refused.value.would_pass.skip_spans == (spans[0],)
    assert refused.value.would_pass.prefer_would_evict == (spans[1],)


async def test_compaction_refused_passes_once_a_way_out_is_taken(ledger: LedgerClient) -> None:
    """C3: each way out that the refusal names really passes."""
    scope = ledger.scope("s")
    spans = [await scope.record_span("m1", LIMIT), await scope.record_span("m2", BAN)]
    await scope.record_summary("sum-1", f"Gateway limits were discussed. {BAN}", covers=spans)
    with pytest.raises(Refused) as refused:
        await scope.request_compaction("sum-1", spans)
    ways = refused.value.would_pass
    skipped = await scope.request_compaction("sum-1", [span for span in spans if span not in ways.skip_spans])
    await scope.withdraw(skipped)
    preferred = await scope.request_compaction("sum-1", spans, mode="prefer")
    assert preferred.evict == ways.prefer_would_evict
    await scope.withdraw(preferred)
    dropped = await scope.request_compaction("sum-1", spans, tombstones=ways.tombstone_facts)
    assert dropped.evict == tuple(spans)


async def test_second_compaction_waits_for_the_pending_one(ledger: LedgerClient) -> None:
    """Design section 5: one pending compaction a session; the refusal says for what to wait."""
    scope = ledger.scope("s")
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", LIMIT, covers=[span])
    await scope.record_summary("sum-2", LIMIT, covers=[span])
    grant = await scope.request_compaction("sum-1", [span], request="first")
    with pytest.raises(Refused) as refused:
        await scope.request_compaction("sum-2", [span])
    assert refused.value.would_pass.wait_for == "first"
    assert type(refused.value) is Refused
    await scope.withdraw(grant)
    assert (await scope.request_compaction("sum-2", [span])).evict == (span,)


async def test_budget_that_cannot_be_met_is_refused_and_changes_nothing(ledger: LedgerClient) -> None:
    """F3: too little is left to evict."""
    scope = ledger.scope("s")
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", "Limits were discussed.", covers=[span])
    with pytest.raises(RecallFloorViolation, match="budget_exhausted"):
        await scope.request_compaction(
            "sum-1", [Candidate(span=span, tokens=500)], mode="prefer", tokens_before=1000, budget_tokens=600
        )
    (answer,) = [a for a in await scope.recall("40 req/s") if a.cls == "numeric"]
    assert answer.answer == "anchored"


async def test_last_carrier_in_the_store_is_kept_whatever_policy_asks(ledger: LedgerClient) -> None:
    """C1, seed 2: liveness decides, not a TTL."""
    scope = ledger.scope("s", store="ledger")
    span = await scope.record_span("m1", LIMIT, in_window=False)
    with pytest.raises(UnanchoredReconstitutionError) as refused:
        await scope.request_eviction([span], reason="ttl")
    assert refused.value.reason == "last_carrier"


async def test_summary_stored_as_raw_is_refused(ledger: LedgerClient) -> None:
    """I3, seed 1: the compactor's own prose is no evidence."""
    scope = ledger.scope("s", store="ledger")
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", LIMIT, covers=[span])
    with pytest.raises(LosslessRetrievalBoundaryError, match="summary_is_not_raw"):
        await scope.request_index_write("put", key="sum-1", text=LIMIT, claims_kind="raw")


async def test_gate_holds_a_claim_that_its_span_contradicts(ledger: LedgerClient) -> None:
    """R5, seed 5: unknown trust alone does not deny what was fetched and holds; what does not hold is denied."""
    scope = ledger.scope("s", store="ledger")
    span = await scope.record_span("m1", BAN)
    allowed = await scope.gate([Claim(text=BAN, key=span)], action="plan")
    assert allowed.substantiated_by == (span,)
    with pytest.raises((RehydrationBoundaryError, LosslessRetrievalBoundaryError)) as denied:
        await scope.gate([Claim(text="Restart worker-7 during the day.", key=span)], action="restart")
    told = str(denied.value)
    assert "claim 'Restart worker-7 during the day.' (s:m1) does_not_hold: the original does not say so" in told
    assert repr(BAN) in told
    assert "record first" not in told
    with pytest.raises(Refused, match=r"(?s)nothing came back for it.*record first no-such-span"):
        await scope.gate([Claim(text=BAN, key="no-such-span")], action="restart")
    with pytest.raises(Refused):
        await scope.gate([], action="restart")


async def test_tombstone_answers_before_a_carrier_does(ledger: LedgerClient) -> None:
    """P4: unknown on purpose is another answer than absent."""
    scope = ledger.scope("s")
    await scope.record_span("m1", LIMIT)
    (before,) = [a for a in await scope.recall("40 req/s") if a.cls == "numeric"]
    await scope.tombstone(before.fact, reason="limit was lifted", authority="owner")
    after = await scope.recall(before.fact)
    assert [a.answer for a in after] == ["tombstoned"]
    with pytest.raises(UsageError):
        await scope.tombstone("40 req/s", reason="no id", authority="owner")


async def test_request_repeated_after_a_restart_gets_the_same_bytes(tmp_path: Path) -> None:
    """P3: a client that was restarted after publishing gets its answer."""
    url = f"lmdb:{tmp_path / 'log'}"
    async with open_ledger(url) as ledger:
        scope = ledger.scope("s")
        span = await scope.record_span("m1", LIMIT)
        await scope.record_summary("sum-1", LIMIT, covers=[span])
        first = await scope.request_compaction("sum-1", [span], request="r1")
    async with open_ledger(url) as ledger:
        again = await ledger.scope("s").request_compaction("sum-1", [span], request="r1")
    assert again == first


class NobodyDecides:
    """A backend whose worker is gone."""

    decides = False

    async def nudge(self) -> bool:
        return True

    async def recall(self, scope: str, session: str, fact: str, as_of: str, after: int) -> list[Any]:
        return []

    async def quote(self, scope: str, places: Sequence[Place]) -> list[str]:
        return [""] * len(places)

    async def rehydrate(self, scope: str, session: str, claim: Claim, retrieval: Retrieval | None, after: int) -> Fetched:
        return Fetched(status="error", key="")

    async def rewrites(self, scope: str, span: str, role: str, text: str) -> bool:
        return False

    async def outcome(self, scope: str, session: str, request: str, after: int) -> Any:
        return None

    async def undecided(self, scope: str) -> str:
        return f"Nobody decides for {scope}."


async def test_request_without_an_answer_is_withdrawn_before_it_is_unknown() -> None:
    """P5: a timeout fails closed, and no grant that comes later may count the phantom."""
    log = MemoryLog()
    scope = LedgerClient(log, NobodyDecides()).scope("s")
    span = await scope.record_span("m1", LIMIT)
    await scope.record_summary("sum-1", LIMIT, covers=[span])
    with pytest.raises(AnswerUnknown) as unknown:
        await scope.request_compaction("sum-1", [span], request="r1", timeout_s=0.05)
    assert "Nobody decides for s." in unknown.value.hint
    assert "Keep the spans" in unknown.value.hint
    last = decode_record((await log.read(EVENTS, 0, 0))[-1].value)
    assert isinstance(last, RequestWithdrawn)
    assert last.request == "r1"
    assert await log.end(DECISIONS, 0) == 0


async def test_many_scopes_ask_at_once_and_each_gets_its_own_answer(ledger: LedgerClient) -> None:
    """One reader of decisions serves them all; request ids need be unique in their session only."""

    async def agent(number: int) -> bool:
        scope = ledger.scope(f"agent-{number}")
        span = await scope.record_span("m1", f"Order {1000 + number} ships on 4 December 2026.")
        kept = f"Order {1000 + number} ships on 4 December 2026."
        await scope.record_summary("sum", kept if number % 2 else "Orders were discussed.", covers=[span])
        try:
            await scope.request_compaction("sum", [span], request="the-same-name")
        except RecallFloorViolation:
            return False
        return True

    assert await asyncio.gather(*(agent(number) for number in range(40))) == [bool(n % 2) for n in range(40)]


async def test_secrets_are_masked_before_anything_is_appended(tmp_path: Path) -> None:
    """P11: what the log never saw cannot leak from it."""
    secret = "ghp_" + "a1B2" * 9
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as ledger:
        await ledger.scope("s").record_span("m1", f"Use the token {secret} for the mirror.")
    assert secret.encode() not in b"".join(path.read_bytes() for path in (tmp_path / "log").rglob("*") if path.is_file())


def test_synchronous_facade_answers_as_the_other_does(tmp_path: Path) -> None:
    """Contracts section 5: the same calls without an event loop."""
    with open_ledger_sync(f"lmdb:{tmp_path / 'log'}") as ledger:
        scope = ledger.scope("s")
        span = scope.record_span("m1", LIMIT)
        scope.record_summary("sum-1", "Limits were discussed.", covers=[span])
        with pytest.raises(RecallFloorViolation):
            scope.request_compaction("sum-1", [span])


@pytest.mark.parametrize(
    ("example", "says"),
    [
        ("ask_before_evicting", ("is refused", "anchored in summary-2")),
        ("gate_before_acting", ("is denied", "the original does not say so", "allowed: it stands in")),
    ],
)
def test_example_runs_again_on_one_log(example: str, says: tuple[str, ...], tmp_path: Path) -> None:
    """The examples of the README, as a user would run them."""
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-m", f"ops.examples.{example}", f"lmdb:{tmp_path / 'log'}"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert [part for part in says if part not in done.stdout] == []


@pytest.mark.parametrize("bad", [{"turn": 2**70}, {"turn": 1.5}, {"role": "bogus"}])
async def test_field_that_no_record_may_hold_is_refused_at_once_and_spoils_nothing(ledger: LedgerClient, bad: Any) -> None:
    """P9: a record that the fold would have to reject is no success, and the next one counts on from the last good one."""
    scope = ledger.scope("s")
    await scope.record_span("m1", LIMIT)
    with pytest.raises(UsageError):
        await scope.record_span("m2", BAN, **bad)
    await scope.record_span("m3", BAN)
    assert {answer.answer for answer in await scope.recall(BAN)} == {"anchored"}


@pytest.mark.parametrize("words", [("", "me"), ("off", " ")])
async def test_tombstone_needs_a_reason_and_an_authority(ledger: LedgerClient, words: tuple[str, str]) -> None:
    """P8: nothing is dropped on purpose without saying why and who."""
    scope = ledger.scope("s")
    with pytest.raises(UsageError):
        await scope.tombstone("f" + "0" * 24, reason=words[0], authority=words[1])


async def test_sessions_of_one_name_in_two_scopes_answer_for_themselves(ledger: LedgerClient) -> None:
    """I4: the handle knows its scope; another scope's session of the same name is not its business."""
    one, other = ledger.scope("one", session="s"), ledger.scope("other", session="s")
    await one.record_span("m1", LIMIT)
    await other.record_span("m1", BAN)
    assert {answer.answer for answer in await one.recall(LIMIT)} == {"anchored"}
    assert {answer.answer for answer in await other.recall(LIMIT)} == {"absent"}


async def asked_in_vain() -> tuple[MemoryLog, LedgerClient, asyncio.Task[Any]]:
    """A request on which nobody decides, and who waits for that."""
    log = MemoryLog()
    client = LedgerClient(log, NobodyDecides())
    scope = client.scope("s")
    span = await scope.record_span("m1", LIMIT)
    asking = asyncio.create_task(scope.request_compaction("sum-1", [span]))
    await asyncio.sleep(0.05)
    return log, client, asking


async def test_cancelled_request_is_withdrawn() -> None:
    """P3: whoever stops waiting never holds the grant, so it must not keep the session's spans."""
    log, _, asking = await asked_in_vain()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    last = decode_record((await log.read(EVENTS, 0, 0))[-1].value)
    assert isinstance(last, RequestWithdrawn)
    assert last.reason == "cancelled"


async def test_client_that_ends_withdraws_what_is_still_asked() -> None:
    """P3: the end of a client waits for that, for behind it the log may be closed."""
    log, client, asking = await asked_in_vain()
    await client.close()
    last = decode_record((await log.read(EVENTS, 0, 0))[-1].value)
    assert isinstance(last, RequestWithdrawn)
    with pytest.raises(asyncio.CancelledError):
        await asking
    await client.close()


async def test_i1_span_recorded_with_another_text_raises_and_is_on_record_as_rejected(tmp_path: Path) -> None:
    """I1: by the same handle at once, by a later process too; the same text once more is no conflict."""
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as ledger:
        scope = ledger.scope("s")
        name = await scope.record_span("1", LIMIT)
        assert await scope.record_span("1", LIMIT) == name
        with pytest.raises(RecordConflict, match="on record with another role or text") as caught:
            await scope.record_span("1", BAN)
        assert (caught.value.subject, caught.value.rule) == (name, "I1")
        with pytest.raises(RecordConflict):
            await scope.record_span("1", LIMIT, role="assistant")
        assert {answer.answer for answer in await scope.recall(BAN)} == {"absent"}
    async with open_ledger(f"lmdb:{tmp_path / 'log'}") as ledger:
        await ledger.scope("s").record_span("1", LIMIT)
        with pytest.raises(RecordConflict):
            await ledger.scope("s").record_span("1", BAN)


async def test_c3_grant_applied_with_another_text_raises_and_stays_pending(ledger: LedgerClient) -> None:
    """C3: what is in the window now is not what was granted."""
    scope = ledger.scope("s")
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    grant = await scope.request_compaction("m1", [span])
    with pytest.raises(RecordConflict, match="granted for another text"):
        await scope.applied(grant, BAN)
    await scope.applied(grant, LIMIT)
    await scope.applied(grant, LIMIT)  # once more is a duplicate


async def test_p5_grant_applied_after_it_was_withdrawn_raises(ledger: LedgerClient) -> None:
    """P5: others were decided as if its spans stay."""
    scope = ledger.scope("s")
    span = await scope.record_span("1", LIMIT)
    await scope.record_summary("m1", LIMIT)
    grant = await scope.request_compaction("m1", [span])
    await scope.withdraw(grant)
    with pytest.raises(RecordConflict, match="withdrawn"):
        await scope.applied(grant, LIMIT)


async def test_p1_log_that_was_rolled_back_is_noticed_when_it_is_opened(tmp_path: Path) -> None:
    """P1, P7: an older copy of the log under the index of the newer one; nothing can be recorded on top of it."""
    url = f"lmdb:{tmp_path / 'log'}"
    async with open_ledger(url) as ledger:
        await ledger.scope("s").record_span("1", LIMIT)
    shutil.copytree(tmp_path / "log", tmp_path / "older")
    async with open_ledger(url) as ledger:
        await ledger.scope("s").record_span("2", BAN)
        await ledger.scope("s").recall(BAN)
    shutil.copytree(tmp_path / "log" / "index", tmp_path / "older" / "index", dirs_exist_ok=True)
    with pytest.raises(LogDamaged, match="folded already"):
        async with open_ledger(f"lmdb:{tmp_path / 'older'}"):
            pass


def test_example_fleet_tells_what_the_bad_compactor_lost(capsys: pytest.CaptureFixture[str]) -> None:
    """One command, no broker: refusals name what is missing, the one who evicts anyway is found by its alerts."""
    assert fleet.main(["--agents", "4", "--rounds", "2", "--seed", "7", "--run", "night"]) == 0
    told = capsys.readouterr().out
    bad = next(line for line in told.splitlines() if line.startswith("fleet-night-agent-04"))
    assert "2 numeric missing" in bad
    assert "2 prohibition inverted" in bad
    assert "evicted anyway 2 times" in bad
    assert [line.split()[-1] for line in told.splitlines() if " page " in line] == ["fact_inverted"]
    assert told.count("inverted  prohibition") == 2


def test_example_fleet_runs_again_with_other_numbers_on_the_same_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """I1: ids are for good, so each run has sessions of its own, unless an id is given; then the conflict is told."""
    url = f"lmdb:{tmp_path / 'log'}"
    for numbers in (("3", "2", "7"), ("2", "1", "8")):
        agents, rounds, seed = numbers
        assert fleet.main(["--log", url, "--agents", agents, "--rounds", rounds, "--seed", seed]) == 0
    assert fleet.main(["--log", url, "--agents", "2", "--rounds", "1", "--run", "mine"]) == 0
    capsys.readouterr()
    assert fleet.main(["--log", url, "--agents", "2", "--rounds", "1", "--run", "mine", "--seed", "8"]) != 0
    assert "leave --run out" in capsys.readouterr().err


def test_example_fleet_whose_reader_has_seen_enough_ends_without_a_traceback(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "ops.examples.fleet",
        "--log",
        f"lmdb:{tmp_path / 'log'}",
        "--agents",
        "2",
        "--rounds",
        "1",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        told = running.stderr.read().decode()
        assert running.wait(60) == 0
    assert "Traceback" not in told, told
    assert "BrokenPipe" not in told, told
