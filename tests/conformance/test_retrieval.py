"""The retrieval adapters under the one suite, and what only a command can get wrong."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TypeVar

import pytest

from ledger.errors import UsageError
from ledger.facts import RULES_VERSION, extract
from ledger.log import EVENTS, NewEntry
from ledger.retrieval import beyond_threshold, metric_of, similarity_of
from ops.retrieval.command import CommandStore
from ops.retrieval.own_store import OwnStore
from ops.store import scratch_store
from schemas.codec import encode
from schemas.objects import with_own_id
from schemas.records import (
    AnyRecord,
    EvictionObserved,
    FactTombstoned,
    IndexEntryRecorded,
    PlainText,
    SessionOpened,
    SpanRecorded,
    SummaryRecorded,
)
from tests.conformance.retrieval_suite import DROPPED, EMPTY, STORED, SUMMARY, RetrievalSuite

COMMAND = Path(__file__).parent.parent / "support" / "retrieval_command.py"
SCOPE = "store"
R = TypeVar("R")
DROPPED_TEXT = "Gate code 4711 opens the yard."


def _record(shape: type[R], **fields: object) -> R:
    return with_own_id(shape(id="", scope=SCOPE, session=SCOPE, **fields))


def _span(name: str, text: str, turn: int) -> AnyRecord:
    manifest = extract(text, "user", scope_key=SCOPE)
    return _record(
        SpanRecorded, span=name, role="user", turns=(turn, turn), text=PlainText(text), manifest=manifest, in_window=False
    )


def _history() -> list[AnyRecord]:
    spans = [_span(name, text, turn) for turn, (name, text) in enumerate(STORED.items())]
    dropped = _span(DROPPED, DROPPED_TEXT, 9)
    tombstones = [
        _record(FactTombstoned, fact=fact.id, reason="code changed", authority="owner", occurrence=fact.id)
        for fact in extract(DROPPED_TEXT, "user", scope_key=SCOPE).facts
    ]
    return [
        _record(SessionOpened, store="ledger", rules_version=RULES_VERSION),
        *spans,
        _span(EMPTY, "", 8),
        dropped,
        *tombstones,
        _record(EvictionObserved, spans=(DROPPED,), policy="cleanup", occurrence="e1"),
        _record(SummaryRecorded, summary=SUMMARY, text=PlainText("The API has a limit.")),
        _record(IndexEntryRecorded, span=SUMMARY, key=SUMMARY),
    ]


class TestOwnStore(RetrievalSuite):
    """The ledger's own store."""

    @pytest.fixture
    async def store(self) -> AsyncIterator[OwnStore]:
        async with scratch_store() as ledger:
            await ledger.log.append(EVENTS, [NewEntry(record.scope, encode(record)) for record in _history()])
            await ledger.fold()
            with ledger.reading() as reading:
                yield OwnStore(reading, reading.session(SCOPE))


def _entries(tmp_path: Path) -> Path:
    entries = {
        name: {"status": "ok", "carrier": name, "raw": True, "generation": 0, "turns": [turn, turn], "text": text}
        for turn, (name, text) in enumerate(STORED.items())
    }
    entries[SUMMARY] = {"status": "ok", "carrier": SUMMARY, "raw": False, "generation": 1, "text": "The API has a limit."}
    entries[EMPTY] = {"status": "ok", "carrier": EMPTY, "raw": True, "text": ""}
    entries[DROPPED] = {"status": "tombstone", "carrier": DROPPED, "text": ""}
    path = tmp_path / "entries.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    return path


class TestCommandStore(RetrievalSuite):
    """A command of the user's."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> CommandStore:
        return CommandStore(f"{sys.executable} {COMMAND} {_entries(tmp_path)}")

    @pytest.mark.parametrize(("mode", "why"), [("garbage", "cannot be read"), ("fails", "ended with 3"), ("silent", "nothing")])
    async def test_v1_command_that_misbehaves_is_an_error(self, tmp_path: Path, mode: str, why: str) -> None:
        """V1: never taken for absent, and never for an answer."""
        answer = await CommandStore(f"{sys.executable} {COMMAND} {_entries(tmp_path)} {mode}").fetch("s1")
        assert answer.status == "error"
        assert why in answer.detail

    async def test_v4_command_that_is_late_is_an_error(self, tmp_path: Path) -> None:
        """V4: the deadline holds."""
        store = CommandStore(f"{sys.executable} {COMMAND} {_entries(tmp_path)} late", deadline_s=0.2)
        answer = await store.fetch("s1")
        assert (answer.status, answer.detail) == ("error", "no answer within 0.2 s")

    def test_command_that_is_not_there_is_refused_before_anything_is_asked(self) -> None:
        """A mistyped name must not be an answer of the store, for an audit would put it on record."""
        with pytest.raises(UsageError, match="no-such-retrieval-command"):
            CommandStore("no-such-retrieval-command")

    def test_command_line_that_is_none_is_refused(self) -> None:
        for line in ("", "'unclosed"):
            with pytest.raises(UsageError):
                CommandStore(line)


@pytest.mark.parametrize(
    ("metric", "score", "similarity", "far"),
    [
        ("cosine_similarity", "0.81", "0.81", False),
        ("cosine_distance", "0.08", "0.92", False),
        ("cosine_distance", "0.91", "0.09", True),
        ("distance", "0.08", "0.92", False),
        ("distance", "0.5", "0.5", False),
        ("distance", "0.7", "0.3", True),
        ("l2", "3", "0.25", True),
        ("dot", "0.4", "0.4", True),
    ],
)
def test_v5_threshold_is_read_in_the_direction_of_its_metric(metric: str, score: str, similarity: str, far: bool) -> None:
    """V5: a threshold meant for similarity, applied to a distance, would let the bad hits through."""
    assert str(similarity_of(metric, score)) == similarity
    assert beyond_threshold(metric, score, "0.5") is far
    assert metric_of(metric) == ("distance" if "distance" in metric or metric == "l2" else "similarity")


async def test_command_is_late_with_all_that_it_started(tmp_path: Path) -> None:
    """V4: a child that holds the pipe open holds nobody up."""
    script = tmp_path / "slow"
    script.write_text("#!/bin/sh\nsleep 30 &\nwait\n")
    script.chmod(0o755)
    began_s = time.monotonic()
    found = await CommandStore(str(script), deadline_s=0.3).fetch("k")
    assert (found.status, "no answer within" in found.detail) == ("error", True)
    assert time.monotonic() - began_s < 10
