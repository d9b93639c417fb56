"""Identity (rules I1 to I4, seed 1): what a raw span is stays what it is, whatever compaction does around it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

REWRITES_RAW = "rewrites_indexed_raw_span"
SUMMARY_IS_NOT_RAW = "summary_is_not_raw"
IMMUTABLE = "immutable"
SPAN_ID_REUSED = "span_id_reused"
NOT_RECORDED = "not_recorded"
ID_NOT_ITS_OWN = "id_not_its_own"


def span_conflict(known_digest: bytes | None, digest: bytes, *, tombstoned: bool) -> str:
    """I1: why this text may not be recorded under an id, or the empty string.

    A raw span is immutable: the same id with the same role and text is a duplicate, with another text it is refused, and a used
    id is never used again, not even after its facts were tombstoned.
    """
    if known_digest is None or known_digest == digest:
        return ""
    return SPAN_ID_REUSED if tombstoned else IMMUTABLE


def store_regime(key_scheme: str, *, mutable: bool, ttl_s: int | None, horizon_s: int | None) -> tuple[str, ...]:
    """I2: why a retrieval store is best effort only; empty when its keys are span ids, its entries immutable and outlive the
    session. A TTL without a known horizon is below any horizon that matters.
    """
    reasons = []
    if key_scheme == "content_hash":
        reasons.append("content_hash_keys")
    elif key_scheme != "span_id":
        reasons.append("keys_not_span_ids")
    if mutable:
        reasons.append("mutable_raw_entries")
    if ttl_s is not None and (horizon_s is None or ttl_s < horizon_s):
        reasons.append("ttl_below_horizon")
    return tuple(reasons)


def put_refusal(*, names_summary: bool, text_is_summary: bool, claims_raw: bool, raw_conflict: bool) -> str:
    """I3: why a store may not put this entry, or the empty string. A summary stored as if raw is refused, and so is a text
    that would take the place of a raw entry.
    """
    if claims_raw and (names_summary or text_is_summary):
        return SUMMARY_IS_NOT_RAW
    return REWRITES_RAW if raw_conflict else ""


def rechunk_refusal(replaces: Iterable[str], is_raw: Callable[[str], bool]) -> str:
    """I3: a compaction may add summaries and must not replace, re-key or re-chunk raw entries."""
    return REWRITES_RAW if any(is_raw(name) for name in replaces) else ""


def unrecorded(evictions: Iterable[str], is_recorded: Callable[[str], bool]) -> tuple[str, ...]:
    """I4: spans of the eviction set that are not in the retention set, by identity and in the order given."""
    return tuple(span for span in evictions if not is_recorded(span))
