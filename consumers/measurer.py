"""The measurer: spans that were recorded without a manifest get one, so that they may leave the window again (C2).

A manifest whose facts do not stand in the text counts as none, and so gets a better one here. What a summary states is measured
by the fold itself, which takes no manifest for one, so summaries are passed over.
"""

from __future__ import annotations

from consumers.carrier_index import CarrierIndex
from consumers.remeasuring import append_manifests, extracted_again, manifest_record
from ledger.log import Log
from ledger.rows import SpanRow
from schemas.records import ManifestRecorded, SpanRecorded

MEASURER = "measurer"


async def measure(log: Log, index: CarrierIndex, partition: int, *, limit: int) -> int:
    """Append `manifest.recorded` for up to `limit` spans that lack one, and return how many were appended; 0 when every folded
    span of the partition has been looked at.

    Each call looks at what was folded since the last one. To be run by the owner of the partition; whoever else runs it repeats
    what is on record, which changes nothing (P3). Raises as `consumers.remeasuring.append_manifests` does.
    """
    return await append_manifests(log, index, partition, MEASURER, wanted=_is_unmeasured, make=_measured, limit=limit)


def _is_unmeasured(record: SpanRecorded, row: SpanRow) -> bool:
    return not row.manifested


def _measured(record: SpanRecorded, listed: frozenset[str]) -> ManifestRecorded:
    """The whole manifest, whatever is listed: what a faulty one listed rightly is listed once all the same."""
    return manifest_record(record, extracted_again(record), MEASURER)
