"""One suite for every adapter of the retrieval port; promises V1 to V5 of `ledger.retrieval`."""

from __future__ import annotations

from ledger.retrieval import Retrieval

STORED = {
    "s1": "The partner API allows 25 req/s per key.",
    "s2": "The canteen opens at 11:30.",
    "s3": 'Naïve café — ünïcode, "quotes" and\ttabs\nand lines.',
}
EMPTY, DROPPED, NEVER, SUMMARY = "s-empty", "s-dropped", "s-never", "m1"


class RetrievalSuite:
    """A binding gives `store`, which holds STORED raw, SUMMARY as a summary, EMPTY without text, and dropped DROPPED."""

    async def test_v1_fetch_answers_are_never_mixed_up(self, store: Retrieval) -> None:
        """V1: there, never there, nothing behind it, and dropped on purpose are four answers."""
        answers = {key: (await store.fetch(key)).status for key in ("s1", NEVER, EMPTY, DROPPED)}
        assert answers == {"s1": "ok", NEVER: "absent", EMPTY: "empty", DROPPED: "tombstone"}

    async def test_v2_fetch_ok_carries_provenance(self, store: Retrieval) -> None:
        """V2, I5: what came back says whether it is raw."""
        raw, summary = await store.fetch("s1"), await store.fetch(SUMMARY)
        assert (raw.carrier, raw.raw, raw.generation) == ("s1", True, 0)
        assert raw.has_provenance
        assert raw.turns is not None
        assert (summary.carrier, summary.raw) == (SUMMARY, False)
        assert summary.generation == 1

    async def test_v3_fetch_gives_back_every_byte(self, store: Retrieval) -> None:
        """V3: also what no terminal shows."""
        for key, text in STORED.items():
            assert (await store.fetch(key)).text == text

    async def test_v5_search_is_ranked_bounded_and_with_provenance(self, store: Retrieval) -> None:
        """V5: best first, at most k."""
        hits = list(await store.search("what does the partner API allow per key", 2))
        assert 1 <= len(hits) <= 2
        assert hits[0].carrier == "s1"
        assert hits[0].raw is True
