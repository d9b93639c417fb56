"""decide(view, record) -> decision: what the rules say of a request, or of what was observed, at its own offset.

Pure: the view is read, nothing is changed; the decision lists its whole effect, and only `evolve` turns it into state.
"""

from __future__ import annotations

from ledger.decide.action import decide_action
from ledger.decide.late import judge_late
from ledger.decide.observed import judge_compaction
from ledger.decide.requested import decide_compaction
from ledger.decide.store import decide_eviction, decide_index_write, judge_eviction
from ledger.state import Rows
from schemas.decisions import AnyDecision
from schemas.records import (
    ActionProposed,
    AnyRecord,
    CompactionObserved,
    CompactionRequested,
    EvictionObserved,
    EvictionRequested,
    IndexWriteRequested,
    ManifestRecorded,
)

__all__ = ["decide"]


def decide(view: Rows, record: AnyRecord) -> AnyDecision | None:
    """The decision on a record that asks for one, else None. The record's session is open and its event id new."""
    match record:
        case CompactionRequested():
            return decide_compaction(view, record)
        case CompactionObserved():
            return judge_compaction(view, record)
        case EvictionRequested():
            return decide_eviction(view, record)
        case EvictionObserved():
            return judge_eviction(view, record)
        case IndexWriteRequested():
            return decide_index_write(view, record)
        case ActionProposed():
            return decide_action(view, record)
        case ManifestRecorded():
            return judge_late(view, record)
        case _:
            return None
