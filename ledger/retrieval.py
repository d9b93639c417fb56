"""The retrieval port: the agent's own store, as audits, gate and rehydration ask it. Never asked inside the fold.

Promises, cited by number in the conformance suite:

V1  `fetch` answers ok, absent, empty, tombstone or error, and these are never mixed up: a key that was never there is absent, a
    key with nothing behind it is empty, a store that did not answer is an error.
V2  An ok answer carries provenance: the id of what came back, whether it is raw or a summary, its generation, its turns (I5).
V3  What comes back is what is stored, byte for byte.
V4  A deadline holds: a store that is slower answers error, and nothing waits on.
V5  `search` returns at most k hits, best first, each with provenance; a threshold is read in the direction of its metric.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Literal, Protocol

import msgspec

FetchStatus = Literal["ok", "absent", "empty", "tombstone", "error"]
Metric = Literal["similarity", "distance"]

DEADLINE_S = 5.0
"""How long a store may take for one answer. Longer would hold up an agent before every action."""


class Fetched(msgspec.Struct, frozen=True, kw_only=True):
    """What `fetch` got for one key. `detail` explains anything that is not ok."""

    status: FetchStatus
    key: str
    carrier: str = ""
    raw: bool | None = None
    generation: int | None = None
    turns: tuple[int, int] | None = None
    text: str = ""
    detail: str = ""

    @property
    def has_provenance(self) -> bool:
        """I5: does the answer say what it is?"""
        return bool(self.carrier) and self.raw is not None


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """One result of a search. `score` is a decimal in the store's own metric."""

    carrier: str
    raw: bool | None = None
    generation: int | None = None
    turns: tuple[int, int] | None = None
    score: str = ""
    text: str = ""


class Retrieval(Protocol):
    """A retrieval path with the promises V1 to V5 of this module."""

    async def fetch(self, key: str) -> Fetched:
        """What stands under this key. Never raises for what a store may answer."""
        ...

    async def search(self, text: str, k: int) -> Sequence[Hit]:
        """The k best hits for a text."""
        ...


def metric_of(name: str) -> Metric:
    """Which way a metric points, by its name: `cosine_distance`, `l2` and `euclidean` are distances, all else similarities."""
    return "distance" if _words(name) & {"distance", *UNBOUNDED} else "similarity"


UNBOUNDED = ("l1", "l2", "euclidean", "manhattan", "hamming")
"""Distances without an upper end."""


def _words(name: str) -> set[str]:
    return set(name.lower().replace("-", "_").split("_"))


def similarity_of(metric: str, score: str) -> Decimal:
    """V5: a score as a similarity. A distance d is the similarity 1 - d; one without an upper end becomes 1 / (1 + d)."""
    value = Decimal(score)
    if metric_of(metric) == "similarity":
        return value
    return 1 / (1 + value) if _words(metric) & set(UNBOUNDED) else 1 - value


def beyond_threshold(metric: str, score: str, min_similarity: str) -> bool:
    """V5: is this hit too far away? The threshold is a similarity, whatever the store's metric is."""
    return similarity_of(metric, score) < Decimal(min_similarity)
