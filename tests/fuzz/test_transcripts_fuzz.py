"""Damaged transcripts of every format: no reader falls over, shares add up, nothing is lost without a word (T1, design 7)."""

from __future__ import annotations

import json
from io import BytesIO
from random import Random
from typing import Any

import msgspec
import pytest

from ledger.transcripts.formats import detect
from ledger.transcripts.lines import LineSplitter, lines_of
from ledger.transcripts.model import Item, Message, Round, Summary
from ledger.transcripts.reading import FORMATS
from ledger.transcripts.report import InspectReport, report_of
from schemas.codec import RECORD_BYTES_MAX, decode_record, encode
from tests.fuzz.corpus import SEEDS, Seed
from tests.fuzz.mutations import altered, damaged, seeds
from tests.unit.transcripts.recording import records

PLAIN = {seed.name: seed.lay_out(seed.entries) for seed in SEEDS}

HIDES = frozenset(
    {
        # Fields by which a writer says that words are none of the window's: `true` there loses words as it should.
        "isMeta", "isSidechain", "ephemeral", "ignored", "synthetic", "excludeFromContext", "isApiErrorMessage", "success",
        # Fields that name what an entry is, or to which entry another one is equal; the pool holds words that are valid there.
        "type", "id", "uuid", "role", "info", "summary", "kind", "action", "observation", "source", "isCompactSummary",
        "data", "payload", "call_id", "toolCallId", "name", "tool", "commandMode", "attachment",
    }
)  # fmt: skip


def read_whole(seed: Seed, data: bytes) -> list[Item]:
    reader = seed.reader()
    return [*reader.read(lines_of(BytesIO(data))), *reader.finish()]


def read_in_pieces(seed: Seed, data: bytes, chance: Random) -> list[Item]:
    reader, splitter = seed.reader(), LineSplitter()
    items: list[Item] = []
    at = 0
    while at < len(data):
        size = chance.choice((1, 7, 100, 4096))
        for line in splitter.feed(data[at : at + size]):
            items += reader.feed(line)
        at += size
    last = splitter.finish()
    if last is not None:
        items += reader.feed(last)
    return [*items, *reader.finish()]


def bare(items: list[Item]) -> list[Item]:
    """Items without what depends on whether a line is held with its line break."""
    return [msgspec.structs.replace(one, where=None) if hasattr(one, "where") else one for one in items]


def check(seed: Seed, data: bytes, chance: Random) -> tuple[list[Item], InspectReport]:
    items = read_whole(seed, data)
    if chance.random() < 0.2:
        assert bare(items) == bare(read_in_pieces(seed, data, chance))
    report = report_of("t", seed.format, items)
    msgspec.json.encode(report)
    live: dict[str, list[str]] = {}
    for item in items:
        if isinstance(item, Message):
            live.setdefault(item.session, []).append(item.key)
        elif isinstance(item, Round):
            shares = [*item.summarised.keys, *item.kept.keys, *item.unseen.keys]
            assert len(shares) == len(set(shares))
            assert set(shares) <= set(live.get(item.session, ()))
            assert report.rounds
    for made in records(items):
        raw = encode(made)
        assert len(raw) <= RECORD_BYTES_MAX
        assert encode(decode_record(raw)) == raw
    detect(BytesIO(data), FORMATS)
    return items, report


def is_json(data: bytes) -> bool | None:
    """Is this one JSON value, or several with nothing between them? None where the standard library's limits keep it silent.

    Bytes that are no UTF-8 are another matter: in a field that nobody reads they harm nothing.
    """
    text = data.decode("utf-8-sig", "replace")
    decoder = json.JSONDecoder()
    at, end = 0, len(text)
    try:
        while at < end:
            if text[at] in " \t\r\n":
                at += 1
                continue
            _, at = decoder.raw_decode(text, at)
    except json.JSONDecodeError:
        return False
    except (ValueError, RecursionError):
        return None
    return True


@pytest.mark.parametrize("seed", SEEDS, ids=[seed.name for seed in SEEDS])
def test_damaged_bytes_never_fail_and_are_never_called_complete(seed: Seed) -> None:
    """T1: a line that is no JSON makes the reading incomplete, whatever else it says, and so do words that had to be mended."""
    for number in seeds():
        chance = Random(f"bytes {seed.name} {number}")
        data = damaged(PLAIN[seed.name], chance)
        try:
            items, report = check(seed, data, chance)
            parts = data.split(b"\n") if seed.by_line else [data]
            if any(is_json(part) is False for part in parts if part.strip(b" \t\r")):
                assert report.reading == "degraded"
            if any("\ufffd" in one.text for one in items if isinstance(one, (Message, Summary))) and b"\\u" not in data:
                assert report.reading == "degraded"
        except Exception as error:
            raise AssertionError(f"case {number}: {error!r}") from error


@pytest.mark.parametrize("seed", SEEDS, ids=[seed.name for seed in SEEDS])
def test_wrong_types_in_any_field_never_fail(seed: Seed) -> None:
    for number in seeds():
        chance = Random(f"types {seed.name} {number}")
        entries = list(seed.entries)
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(len(entries))
            entries[at] = altered(entries[at], chance)
        try:
            check(seed, seed.lay_out(entries), chance)
        except Exception as error:
            raise AssertionError(f"case {number}: {error!r}") from error


WORDS: dict[str, frozenset[str]] = {
    seed.name: frozenset(
        one.text for one in read_whole(seed, PLAIN[seed.name]) if isinstance(one, (Message, Summary)) and " " in one.text
    )
    for seed in SEEDS
}


def words_in(value: Any, wanted: frozenset[str]) -> set[str]:
    """Which of the texts stand in this entry, as whole strings; what repeats an entry for display or for replay aside."""
    found: set[str] = set()
    todo = [value]
    while todo:
        one = todo.pop()
        if isinstance(one, str):
            found |= {one} & wanted
        elif isinstance(one, list):
            todo += one
        elif isinstance(one, dict):
            todo += [
                inner for key, inner in one.items() if key not in REPEATED and not (key == "message" and isinstance(inner, str))
            ]
    return found


REPEATED = frozenset({"replacement_history", "toolUseResult", "extra", "message_text"})


@pytest.mark.parametrize("seed", SEEDS[:9], ids=[seed.name for seed in SEEDS[:9]])
def test_words_that_still_stand_in_the_file_are_read_or_the_reading_is_not_complete(seed: Seed) -> None:
    """P1, T1: a reader that meets an unforeseen shape says so rather than leave out what somebody said."""
    for number in seeds():
        chance = Random(f"words {seed.name} {number}")
        entries = list(seed.entries)
        at = chance.randrange(len(entries))
        entries[at] = altered(entries[at], chance, spare=HIDES, moves=False)
        items, report = check(seed, seed.lay_out(entries), chance)
        if report.reading == "complete":
            told = "\n".join(one.text for one in items if isinstance(one, (Message, Summary)))
            lost = [one for one in words_in(entries[at], WORDS[seed.name]) if one not in told]
            assert not lost, f"case {number}: {lost} in {entries[at]}"
