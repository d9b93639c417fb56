"""Gate before acting: an action rests on what a summary says, and is held until the original says the same.

Run it with: python -m ops.examples.gate_before_acting [LOG]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import uuid

from ledger.refusals import Refused
from ops import open_ledger
from schemas.records import Claim

SAID = "Let's pencil in Thursday for the migration. Do not treat the rollback path as optional."
SUMMARY = "The migration is on Thursday. The rollback path is optional."


async def main(url: str) -> None:
    """Two claims about one span: the summary's, which turned it round, and the one that stands there."""
    async with open_ledger(url) as ledger:
        scope = ledger.scope(f"migration-{uuid.uuid4().hex[:8]}", store="ledger", runtime="example")
        span = await scope.record_span("turn-12", SAID)
        await scope.record_summary("summary-1", SUMMARY, covers=[span])

        try:
            await scope.gate([Claim(text="The rollback path is optional.", summary="summary-1")], action="drop_rollback")
        except Refused as refused:
            print(f"drop_rollback: {refused}", end="\n\n")

        claim = Claim(text="Do not treat the rollback path as optional.", key=span)
        allowed = await scope.gate([claim], action="keep_rollback")
        print(f"keep_rollback: allowed: it stands in {', '.join(allowed.substantiated_by)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else f"lmdb:{folder}/log"))
