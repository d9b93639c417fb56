"""The codec: struct to bytes and back, and the three ways in which bytes are refused (design section 5, three faults)."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas import codec, upcasts
from schemas.records import PlainText, SpanRecorded, Tick
from tests.support.strategies import SHAPES, tag_of, values

TICK = b'{"type":"tick.v1","id":"e1","scope":"s","session":"t","timer":"audit","due_ms":1700000000000}'


def decode(data: bytes, shape: type[msgspec.Struct]) -> msgspec.Struct:
    tag = tag_of(shape)
    if tag in codec.RECORD_TAGS:
        return codec.decode_record(data)
    return codec.decode_decision(data) if tag in codec.DECISION_TAGS else codec.decode_alert(data)


def with_field(name: str, raw: bytes) -> bytes:
    """The tick with one more field at its end."""
    return TICK[:-1] + b',"' + name.encode() + b'":' + raw + b"}"


@pytest.mark.parametrize("shape", SHAPES, ids=tag_of)
def test_codec_any_value_comes_back_as_it_was(shape: type[msgspec.Struct]) -> None:
    """P2: decode(encode(x)) == x, and encoding it once more gives the same bytes."""

    @settings(max_examples=50)
    @given(values(shape))
    def round_trip(value: msgspec.Struct) -> None:
        data = codec.encode(value)
        again = decode(data, shape)
        assert again == value
        assert type(again) is type(value)
        assert codec.encode(again) == data
        assert b"\n" not in data

    round_trip()


@pytest.mark.parametrize("shape", SHAPES, ids=tag_of)
def test_codec_shape_is_frozen_keyword_only_and_tagged_with_a_version(shape: type[msgspec.Struct]) -> None:
    """A record cannot be changed once made, and its tag names no class."""
    assert shape.__struct_config__.frozen
    assert shape.__struct_config__.omit_defaults
    assert shape.__struct_config__.tag_field == "type"
    stem, version = tag_of(shape).rsplit(".v", 1)
    assert version == "1"
    assert stem == stem.lower()
    with pytest.raises(TypeError):
        shape("positional")


def test_codec_tags_are_unique_over_all_topics() -> None:
    assert len({tag_of(shape) for shape in SHAPES}) == len(SHAPES)
    assert not codec.RECORD_TAGS & (codec.DECISION_TAGS | codec.ALERT_TAGS)


def test_codec_default_fields_are_left_out_of_the_bytes() -> None:
    span = SpanRecorded(id="e", scope="s", session="t", span="t:1", role="user", turns=(1, 1), text=PlainText("hi"))
    assert codec.encode(span) == (
        b'{"type":"span.recorded.v1","id":"e","scope":"s","session":"t","span":"t:1","role":"user","turns":[1,1],'
        b'"text":{"kind":"plain","text":"hi"}}'
    )


@pytest.mark.parametrize("type_", ["tick.v2", "span.forgotten.v1", "compaction.granted.v1", "alert.raised.v1", ""])
def test_codec_type_of_another_build_or_topic_is_unknown(type_: str) -> None:
    """A well-formed record of an unknown type stops the fold; it is not taken for damage."""
    with pytest.raises(codec.UnknownType) as caught:
        codec.decode_record(json.dumps({"type": type_, "id": "e", "scope": "s", "session": "t"}).encode())
    assert caught.value.type == type_


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b" ",
        b"null",
        b"[]",
        b'"tick.v1"',
        b"{}",
        b'{"type":1}',
        b'{"type":null}',
        b'{"type":"tick.v1"}',
        TICK[:-1],
        TICK + b"x",
        TICK + TICK,
        b"\xef\xbb\xbf" + TICK,
        TICK.decode().encode("utf-16"),
        TICK.replace(b"1700000000000", b"NaN"),
        TICK.replace(b"1700000000000", b"Infinity"),
        TICK.replace(b"1700000000000", b"1.5"),
        TICK.replace(b"1700000000000", b"1e999"),
        TICK.replace(b"1700000000000", b'"1"'),
        TICK.replace(b'"audit"', b"null"),
        TICK.replace(b'"audit"', b'"\xff\xfe"'),
        TICK.replace(b'"audit"', b'"\xed\xa0\x80"'),
        TICK.replace(b'"audit"', b'"\\ud800"'),
        TICK.replace(b'"audit"', b'"a\nb"'),
        with_field("extra", b"NaN"),
        with_field("extra", b"[" * 100_000 + b"]" * 100_000),
        with_field("extra", b'{"a":' * 100_000 + b"1" + b"}" * 100_000),
        b"[" * 100_000,
        b'{"type":"tick.v1",' * 100_000,
    ],
    ids=range(29),
)
def test_codec_bytes_that_are_no_record_are_refused_with_a_reason(data: bytes) -> None:
    """P1: damage, wrong types, numbers without a value, deep nesting and broken UTF-8 are one fault, and never a crash."""
    with pytest.raises(codec.NotARecord) as caught:
        codec.decode_record(data)
    assert str(caught.value)
    assert isinstance(codec.scope_hint(data), str)


def test_codec_refusal_of_a_known_type_names_it() -> None:
    with pytest.raises(codec.NotARecord, match=r"tick\.v1: .*due_ms"):
        codec.decode_record(TICK.replace(b"1700000000000", b'"soon"'))


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
def test_codec_random_bytes_give_a_typed_answer(data: bytes) -> None:
    for read in (codec.decode_record, codec.decode_decision, codec.decode_alert):
        with pytest.raises((codec.NotARecord, codec.UnknownType)):
            read(data)


@given(st.integers(min_value=0, max_value=len(TICK) - 1), st.integers(min_value=0, max_value=255))
def test_codec_one_changed_byte_never_raises_anything_else(at: int, byte: int) -> None:
    changed = TICK[:at] + bytes([byte]) + TICK[at + 1 :]
    with contextlib.suppress(codec.NotARecord, codec.UnknownType):
        codec.decode_record(changed)


@pytest.mark.parametrize("raw", [b"null", b"1", b'"x"', b'{"a":[1,{"b":null}]}', b"[" * 500 + b"]" * 500])
def test_codec_fields_of_a_later_build_are_ignored(raw: bytes) -> None:
    """Shapes only grow: a field that this build does not know is passed over, and is gone when the value is written again."""
    assert codec.decode_record(with_field("added_later", raw)) == codec.decode_record(TICK)
    assert codec.encode(codec.decode_record(with_field("added_later", raw))) == TICK


def test_codec_key_that_stands_twice_counts_once() -> None:
    """The last one counts, as most readers of JSON have it, and it is written once; a second, other type is refused."""
    assert codec.encode(codec.decode_record(with_field("id", b'"e2"'))) == TICK.replace(b'"e1"', b'"e2"')
    with pytest.raises(codec.NotARecord):
        codec.decode_record(with_field("type", b'"session.closed.v1"'))


def test_codec_order_of_keys_and_blanks_does_not_matter() -> None:
    loose = json.dumps(dict(reversed(json.loads(TICK).items())), indent=2).encode()
    assert codec.encode(codec.decode_record(loose)) == TICK


def test_codec_text_without_utf8_is_not_written() -> None:
    """A lone surrogate has no bytes: whoever makes a record replaces it first."""
    with pytest.raises(UnicodeEncodeError):
        codec.encode(Tick(id="e", scope="s", session="t", timer="\ud800", due_ms=1))


def test_codec_scope_hint_reads_what_undecodable_bytes_claim() -> None:
    """The scope whose trust is in question, where the bytes still tell it."""
    assert codec.scope_hint(b'{"type":"tick.v1","scope":"s9"}') == "s9"
    assert codec.scope_hint(b'{"type":"tick.v1","scope":') == ""
    assert codec.scope_hint(b'{"scope":"s9"}') == ""


def test_codec_old_shapes_are_upcast_step_by_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2: what an earlier build wrote is read as the shape of today, through every version between."""

    def to_one(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "type": "tick.v0b", "timer": value["name"]}

    def to_two(value: dict[str, Any]) -> dict[str, Any]:
        return {**value, "type": "tick.v1", "due_ms": value["due_s"] * 1000}

    monkeypatch.setitem(upcasts.UPCASTS, "tick.v0a", to_one)
    monkeypatch.setitem(upcasts.UPCASTS, "tick.v0b", to_two)
    old = {"type": "tick.v0a", "id": "e", "scope": "s", "session": "t", "name": "audit", "due_s": 2}
    expected = Tick(id="e", scope="s", session="t", timer="audit", due_ms=2000)
    assert codec.decode_record(json.dumps(old).encode()) == expected
