"""Ask before evicting: a compaction that loses a limit is refused, carries it, is granted and applied.

Run it with: python -m ops.examples.ask_before_evicting [LOG]
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import uuid

from ledger.refusals import Refused
from ops import open_ledger
from schemas.records import Role

SPOKEN: list[tuple[str, Role, str]] = [
    ("m1", "user", "The payments gateway accepts 40 req/s at most. Do not contact the billing endpoint without approval."),
    ("m2", "assistant", "Understood: I will stay at 40 req/s and ask before I touch billing."),
    ("m3", "user", "Then go on with the refund worker, please."),
]


async def main(url: str) -> None:
    """Record three messages, try to replace two of them by a summary, and mend the summary from the refusal."""
    async with open_ledger(url) as ledger:
        scope = ledger.scope(f"example-{uuid.uuid4().hex[:8]}", store="none", runtime="example")
        spans = [await scope.record_span(native, text, role=role) for native, role, text in SPOKEN]

        draft = "We discussed the payments gateway limits; the billing endpoint needs approval before contact."
        await scope.record_summary("summary-1", draft, covers=spans[:2])
        try:
            await scope.request_compaction("summary-1", spans[:2])
        except Refused as refused:
            print(refused, end="\n\n")
            missing = [item.fact_text for item in refused.evidence]

        mended = draft + " Kept word for word: " + " | ".join(dict.fromkeys(missing))
        await scope.record_summary("summary-2", mended, covers=spans[:2])
        grant = await scope.request_compaction("summary-2", spans[:2])
        print(f"granted: {', '.join(grant.evict)} may leave")
        await scope.applied(grant, mended)

        for answer in await scope.recall("40 req/s"):
            print(f"recall 40 req/s: {answer.answer} in {', '.join(carrier.id for carrier in answer.carriers)}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(main(sys.argv[1] if len(sys.argv) > 1 else f"lmdb:{folder}/log"))
