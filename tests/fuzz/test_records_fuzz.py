"""Damaged records decode or are told apart with a reason, and the fold takes whatever decodes (design 5, three faults)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from random import Random

import pytest

from ledger.fold import RulesVersionNotCarried, step
from ledger.state import Draft
from schemas.codec import NotARecord, UnknownType, decode_record, encode, scope_hint
from schemas.records import AnyRecord
from tests.fuzz.mutations import altered, damaged, encoded, seeds
from tests.support.histories import history
from tests.support.rows import MemoryRows
from tests.support.toy_facts import toy_facts


@pytest.fixture(autouse=True)
def _toy() -> Iterator[None]:
    with toy_facts():
        yield


def decoded(raw: bytes) -> AnyRecord | None:
    try:
        return decode_record(raw)
    except (NotARecord, UnknownType):
        scope_hint(raw)
        return None


def test_damaged_records_decode_or_are_told_apart() -> None:
    for number in seeds():
        chance = Random(f"record bytes {number}")
        raw = encode(chance.choice(history(number % 50, size=20)))
        try:
            found = decoded(damaged(raw, chance))
            if found is not None:
                assert encode(decode_record(encode(found))) == encode(found)
        except Exception as error:
            raise AssertionError(f"case {number}: {error!r}") from error


def test_fold_takes_whatever_decodes() -> None:
    """Rule 1 of the core: the fold never raises on a record that decodes, and no record is beyond its own rules either."""
    for number in seeds():
        chance = Random(f"fold {number}")
        rows: dict[str, MemoryRows] = {}
        for record in history(number, size=12):
            raw = encode(record)
            if chance.random() < 0.4:
                raw = encoded(altered(json.loads(raw), chance))
            found = decoded(raw)
            if found is None:
                continue
            base = rows.setdefault(found.scope, MemoryRows())
            draft = Draft(base)
            try:
                result = step(draft, found)
                assert result.error is None, result.error
                result.changes.apply_to(draft)
                base.apply(draft)
                for output in (result.decision, *result.alerts):
                    if output is not None:
                        encode(output)
            except RulesVersionNotCarried:
                continue
            except Exception as error:
                raise AssertionError(f"case {number}: {error!r} at {raw[:2000]!r}") from error
