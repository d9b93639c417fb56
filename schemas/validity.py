"""What makes a record nonsense although it decodes: a name that is empty, turns that run backwards.

A publisher asks before it appends. In the log such a record happened all the same, and the fold rejects it.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from schemas.objects import OBJECTS
from schemas.records import AnyRecord, Record, SpanRecorded


class Fault(msgspec.Struct, frozen=True):
    """What is wrong: `reason` as a `record.rejected` gives it, `told` for people, with what was expected."""

    reason: str
    told: str


_NAMES: Mapping[type[Record], tuple[str, ...]] = {
    shape: ("scope", "session", *(name for name in fields[:1] if name != "occurrence")) for shape, fields in OBJECTS.items()
}
"""Fields that name something and therefore hold a name. An occurrence may be empty: what happens once needs none."""


def fault_of(record: AnyRecord) -> Fault | None:
    """Why no publisher may append this record, or None."""
    for name in _NAMES[type(record)]:
        if not getattr(record, name):
            return Fault(f"empty_name:{name}", f"{name} is empty; expected a name")
    if isinstance(record, SpanRecorded) and record.turns is not None:
        first, last = record.turns
        if not 0 <= first <= last:
            expected = "the first and the last message that it covers, counted from 0"
            return Fault("turns_out_of_order", f"turns are [{first}, {last}]; expected {expected}")
    return None
