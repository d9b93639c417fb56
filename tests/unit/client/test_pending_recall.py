"""While a grant is pending, answers keep the state before (design section 5; P4)."""

from __future__ import annotations

from pathlib import Path

from ops import open_ledger

LIMIT = "The gateway accepts 42 req/s at most."


async def test_p4_recall_under_a_pending_grant_names_the_carrier_as_before(tmp_path: Path) -> None:
    async with open_ledger(f"lmdb:{tmp_path}") as ledger:
        scope = ledger.scope("p1", store="none")
        span = await scope.record_span("a", LIMIT, role="user")
        await scope.record_summary("m1", LIMIT, covers=[span])
        before = await scope.recall("42 req/s")
        grant = await scope.request_compaction("m1", [span])
        pending = await scope.recall("42 req/s")
        assert [[carrier.id for carrier in answer.carriers] for answer in pending] == [["p1:a"]]
        assert [answer.carriers for answer in pending] == [answer.carriers for answer in before]
        await scope.applied(grant, LIMIT)
        (after,) = await scope.recall("42 req/s")
        assert [(carrier.id, carrier.raw) for carrier in after.carriers] == [("m1", False)]
