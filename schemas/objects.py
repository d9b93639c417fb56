"""What each record speaks of, as its fields name it: the object in the record's id (contracts section 1).

The id of a record is a function of its own type, session and object, so whoever reads a record can tell whether its id is its
own. A record under the id of another one would stand in its place (P1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import msgspec

from schemas import records
from schemas.ids import EventId, event_id

R = TypeVar("R", bound=records.Record)

OBJECTS: Mapping[type[records.Record], tuple[str, ...]] = {
    records.SessionOpened: ("session",),
    records.SessionClosed: ("session",),
    records.ScopeClosed: ("scope",),
    records.ScopeLinked: ("parent_scope", "parent_session"),
    records.SpanRecorded: ("span",),
    records.SummaryRecorded: ("summary",),
    records.ManifestRecorded: ("span", "occurrence"),
    records.CompactionRequested: ("request",),
    records.CompactionApplied: ("request",),
    records.RequestWithdrawn: ("request",),
    records.CompactionObserved: ("round",),
    records.IndexDeclared: ("store", "occurrence"),
    records.IndexEntryRecorded: ("span", "occurrence"),
    records.IndexWriteRequested: ("request",),
    records.IndexRechunked: ("occurrence",),
    records.IndexChecked: ("occurrence",),
    records.TranscriptRead: ("occurrence",),
    records.RetrievalMeasured: ("occurrence",),
    records.EvictionRequested: ("request",),
    records.EvictionApplied: ("request",),
    records.EvictionObserved: ("occurrence",),
    records.ExternalisationVerified: ("span", "occurrence"),
    records.FactTombstoned: ("fact", "occurrence"),
    records.RetrievalObserved: ("occurrence",),
    records.AuditRecorded: ("occurrence",),
    records.ActionProposed: ("request",),
    records.PolicySet: ("occurrence",),
    records.DegradationAcknowledged: ("occurrence",),
    records.Tick: ("timer", "due_ms"),
}
"""The fields that name a record's object, in order. A second one that is empty is left out: what happens once needs no
occurrence of its own.
"""


def object_of(record: records.Record) -> tuple[str, ...]:
    """The parts of a record's object id, as its fields hold them."""
    first, *rest = (str(getattr(record, name)) for name in OBJECTS[type(record)])
    return (first, *filter(None, rest))


def own_id(record: records.Record) -> EventId:
    """The id that a record must have: the hash of its type without version, its session and its object."""
    return event_id(str(record.__struct_config__.tag), record.session, *object_of(record))


def with_own_id(record: R) -> R:
    """The record under its own id."""
    return msgspec.structs.replace(record, id=own_id(record))
