"""Bytes outlive code: what was written once is read, and written again, byte for byte (P2)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import jsonschema
import msgspec
import pytest

from ops.schema_export import schema_of
from schemas import codec
from schemas.upcasts import UPCASTS
from tests.golden.generate import FOLDER
from tests.support.strategies import SHAPES, bare, filled, tag_of

FILES = sorted(FOLDER.glob("*.json"))
TOPICS: tuple[tuple[str, frozenset[str], Callable[[bytes], msgspec.Struct]], ...] = (
    ("compaction.events", codec.RECORD_TAGS, codec.decode_record),
    ("compaction.decisions", codec.DECISION_TAGS, codec.decode_decision),
    ("compaction.alerts", codec.ALERT_TAGS, codec.decode_alert),
)


def topic_of(tag: str) -> tuple[str, Callable[[bytes], msgspec.Struct]]:
    return next((topic, decode) for topic, tags, decode in TOPICS if tag in tags)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_bytes_decode_and_encode_to_the_same_bytes(path: Path) -> None:
    """P2: a shape of today writes what it wrote when its file was made."""
    if path.stem in UPCASTS:
        pytest.skip("a retired shape: read by its upcast, never written again")
    _, decode = topic_of(path.stem)
    for line in path.read_bytes().splitlines():
        value = decode(line)
        assert codec.encode(value) == line
        assert tag_of(type(value)) == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_bytes_satisfy_the_exported_schema(path: Path) -> None:
    """What other languages validate with the exported schema is what this one writes."""
    if path.stem in UPCASTS:
        pytest.skip("a retired shape: its schema is history")
    topic, _ = topic_of(path.stem)
    validator = jsonschema.Draft202012Validator(schema_of(topic))
    for line in path.read_bytes().splitlines():
        validator.validate(json.loads(line))


def test_golden_bytes_exist_for_every_shape() -> None:
    """A shape without golden bytes: run `python -m tests.golden.generate` and check its file in."""
    assert {tag_of(shape) for shape in SHAPES} <= {path.stem for path in FILES}


def test_golden_bytes_of_every_file_belong_to_a_shape() -> None:
    """A shape that was ever written is decoded for good: its tag is live or has an upcast."""
    live = codec.RECORD_TAGS | codec.DECISION_TAGS | codec.ALERT_TAGS
    assert {path.stem for path in FILES} <= live | set(UPCASTS)


@pytest.mark.parametrize("shape", SHAPES, ids=tag_of)
def test_golden_first_line_sets_every_field(shape: type[msgspec.Struct]) -> None:
    """No field has left its shape since the file was made, and the lines differ where fields have defaults."""
    full, *others = (json.loads(line) for line in (FOLDER / f"{tag_of(shape)}.json").read_bytes().splitlines())
    names = {"type", *shape.__struct_encode_fields__}
    assert set(full) <= names
    assert all(set(least) <= set(full) for least in others)
    assert codec.encode(bare(shape)) != codec.encode(filled(shape))
