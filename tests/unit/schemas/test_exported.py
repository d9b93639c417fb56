"""The exported JSON Schema: fresh, growing only, and true."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ops import schema_export
from schemas import codec
from tests.support.strategies import SHAPES, tag_of, values

CHECKED_IN = {
    topic: json.loads((schema_export.EXPORTED / f"{topic}.json").read_text("utf-8")) for topic in schema_export.SHAPES
}


def test_exported_files_are_fresh() -> None:
    """A change of a shape shows in review: run `make schemas`."""
    assert schema_export.stale() == []


def test_exported_schemas_are_still_readable_by_the_shapes_of_today() -> None:
    """No field, tag or choice that is checked in was removed, renamed or made required."""
    assert schema_export.broken() == []


@pytest.mark.parametrize("topic", sorted(CHECKED_IN))
def test_exported_schema_is_valid_and_names_itself(topic: str) -> None:
    jsonschema.Draft202012Validator.check_schema(CHECKED_IN[topic])
    assert CHECKED_IN[topic]["$id"] == f"urn:compaction-ledger:{topic}"


def test_exported_schema_covers_every_tag() -> None:
    tags = [tag for document in CHECKED_IN.values() for tag in document["discriminator"]["mapping"]]
    assert sorted(tags) == sorted(tag_of(shape) for shape in SHAPES)


@given(st.sampled_from(SHAPES).flatmap(values))
def test_exported_schema_accepts_what_the_codec_writes(value: msgspec.Struct) -> None:
    tag = tag_of(type(value))
    document = next(schema for schema in CHECKED_IN.values() if tag in schema["discriminator"]["mapping"])
    definition = document["discriminator"]["mapping"][tag]
    jsonschema.Draft202012Validator({"$ref": definition, "$defs": document["$defs"]}).validate(json.loads(codec.encode(value)))


def changed(change: str) -> list[str]:
    """Breaks after one change to the schema of ticks."""
    old: dict[str, Any] = CHECKED_IN["compaction.events"]
    new = copy.deepcopy(old)
    tick, span = new["$defs"]["Tick"], new["$defs"]["SpanRecorded"]
    match change:
        case "field removed":
            del tick["properties"]["due_ms"]
        case "field added with default":
            tick["properties"]["note"] = {"type": "string", "default": ""}
        case "field added as required":
            tick["properties"]["note"] = {"type": "string"}
            tick["required"] = [*tick["required"], "note"]
        case "shape removed":
            del new["$defs"]["Tick"]
        case "tag removed":
            del new["discriminator"]["mapping"]["tick.v1"]
        case "type changed":
            tick["properties"]["due_ms"] = {"type": "string"}
        case "type widened":
            tick["properties"]["due_ms"] = {"anyOf": [tick["properties"]["due_ms"], {"type": "null"}]}
        case "default changed":
            span["properties"]["in_window"]["default"] = False
        case "choice removed":
            span["properties"]["role"]["enum"] = ["user"]
        case "choice added":
            span["properties"]["role"]["enum"] += ["judge"]
        case "description changed":
            tick["description"] = "other"
    return schema_export.breaks(old, new)


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ("field removed", ["Tick: due_ms is gone"]),
        ("field added with default", []),
        ("field added as required", ["Tick: note has become required"]),
        ("shape removed", ["Tick is gone"]),
        ("tag removed", ["tag tick.v1 is gone"]),
        ("type changed", ["Tick: type of due_ms changed"]),
        ("type widened", []),
        ("default changed", ["SpanRecorded: default of in_window changed"]),
        ("choice removed", [f"SpanRecorded: role does not take '{role}' any more" for role in ("assistant", "system", "tool")]),
        ("choice added", []),
        ("description changed", []),
    ],
)
def test_breaks_only_what_makes_old_bytes_unreadable_is_named(change: str, faults: list[str]) -> None:
    assert changed(change) == faults


def test_export_missing_stale_and_left_over_files_are_told_apart(tmp_path: Path) -> None:
    for name, content in schema_export.files().items():
        (tmp_path / name).write_text(content, "utf-8")
    assert schema_export.stale(tmp_path) == []
    (tmp_path / "compaction.alerts.json").write_text("{}", "utf-8")
    (tmp_path / "compaction.events.json").unlink()
    (tmp_path / "old.json").write_text("{}", "utf-8")
    assert [Path(fault.partition(":")[0]).name for fault in schema_export.stale(tmp_path)] == [
        "compaction.events.json",
        "compaction.alerts.json",
        "old.json",
    ]


def test_export_breaking_change_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(schema_export, "EXPORTED", tmp_path)
    assert schema_export.main([]) == 0
    path = tmp_path / "compaction.alerts.json"
    document = json.loads(path.read_text("utf-8"))
    document["$defs"]["AlertRaised"]["properties"]["pager"] = {"type": "string", "default": ""}
    path.write_text(json.dumps(document), "utf-8")
    assert schema_export.main(["--check"]) == 1
    assert schema_export.main([]) == 1
    assert "AlertRaised: pager is gone" in capsys.readouterr().err
    assert "pager" in path.read_text("utf-8")
    assert schema_export.main(["--break"]) == 0
    assert "pager" not in path.read_text("utf-8")
