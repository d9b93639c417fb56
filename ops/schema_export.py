"""JSON Schema of everything on the log, checked in under `schemas/exported` so that a review shows each change of a shape.

`python -m ops.schema_export` writes the files, `--check` compares them and ends with 1 where one is stale, missing or left.
A change that would make bytes unreadable which the files on disk allow is not written unless `--break` says that no such bytes
exist, which is true before the first release only.
"""

from __future__ import annotations

import inspect
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

import schemas
from ledger.log import ALERTS, DECISIONS, EVENTS
from ops import asyncapi
from schemas.alerts import AnyAlert
from schemas.decisions import AnyDecision
from schemas.records import AnyRecord

EXPORTED = Path(inspect.getfile(schemas)).parent / "exported"
ASYNCAPI = "asyncapi.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SHAPES: dict[str, Any] = {EVENTS: AnyRecord, DECISIONS: AnyDecision, ALERTS: AnyAlert}
"""Topic to the union of the shapes that stand in it."""


def schema_of(topic: str) -> dict[str, Any]:
    """The schema of one value of the topic: any of its shapes, told apart by `type`."""
    (root,), components = msgspec.json.schema_components((SHAPES[topic],), ref_template="#/$defs/{name}")
    document = {
        "$schema": DIALECT,
        "$id": f"urn:compaction-ledger:{topic}",
        "title": topic,
        **root,
        "$defs": {name: components[name] for name in sorted(components)},
    }
    cleaned: dict[str, Any] = _cleaned(document)
    return cleaned


def files() -> dict[str, str]:
    """File name to content of every exported schema, and of the document that says which topics they stand in."""
    documents = {f"{topic}.json": schema_of(topic) for topic in SHAPES} | {ASYNCAPI: _cleaned(asyncapi.document())}
    return {name: json.dumps(content, ensure_ascii=False, indent=1) + "\n" for name, content in documents.items()}


def stale(folder: Path | None = None) -> list[str]:
    """What is wrong with the files of `folder`, one line each; empty when all of them are fresh."""
    folder, wanted = folder or EXPORTED, files()
    faults = []
    for name, content in wanted.items():
        path = folder / name
        if not path.is_file():
            faults.append(f"{path}: missing")
        elif path.read_text(encoding="utf-8") != content:
            faults.append(f"{path}: differs from the shapes in schemas/")
    faults += [f"{path}: belongs to no topic" for path in sorted(folder.glob("*.json")) if path.name not in wanted]
    return faults


def breaks(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What a reader of the schema `new` could not read of the bytes that `old` allows, one line each.

    A shape, a tag or a field that is gone; a field that has become required; a default, or the type of a field, that changed;
    a choice that is not taken any more. What only grows is no break.
    """
    faults = [f"tag {tag} is gone" for tag in _tags(old) if tag not in _tags(new)]
    for name, shape in old["$defs"].items():
        if name not in new["$defs"]:
            faults.append(f"{name} is gone")
            continue
        faults += [f"{name}: {fault}" for fault in _shape_breaks(shape, new["$defs"][name])]
    return faults


def _tags(document: dict[str, Any]) -> list[str]:
    return list(document.get("discriminator", {}).get("mapping", {}))


def _shape_breaks(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    before, after = old.get("properties", {}), new.get("properties", {})
    faults = [f"{field} is gone" for field in before if field not in after]
    faults += [f"{field} has become required" for field in new.get("required", ()) if field not in old.get("required", ())]
    for field in before.keys() & after.keys():
        was, now = before[field], after[field]
        if "default" in was and was["default"] != now.get("default", was):
            faults.append(f"default of {field} changed")
        faults += [
            f"{field} does not take {choice!r} any more" for choice in was.get("enum", ()) if choice not in now.get("enum", ())
        ]
        if _kinds(was) - _kinds(now):
            faults.append(f"type of {field} changed")
    return sorted(faults)


def _kinds(field: dict[str, Any]) -> set[str]:
    """The types that a field takes, lists with what they hold."""
    members = field.get("anyOf", [field])
    return {json.dumps({key: value for key, value in member.items() if key not in {"default", "enum"}}) for member in members}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` compare them. Returns the exit code: 0 fine, 1 stale or not written."""
    parser = ArgumentParser(prog="python -m ops.schema_export", description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing, end with 1 where a file is stale")
    parser.add_argument("--break", action="store_true", dest="may_break", help="write even what makes old bytes unreadable")
    options = parser.parse_args(arguments)
    if options.check:
        return _report(stale(), "Run `make schemas`, and read the difference: a shape only grows.")
    faults = [] if options.may_break else broken()
    if not faults:
        EXPORTED.mkdir(exist_ok=True)
        for name, content in files().items():
            (EXPORTED / name).write_text(content, encoding="utf-8")
    return _report(faults, "Nothing was written. Give the changed shape a new version, with an upcast in schemas/upcasts.py.")


def broken(folder: Path | None = None) -> list[str]:
    """What of the schemas on disk the shapes of today could not read any more."""
    faults = []
    for name, content in files().items():
        path = (folder or EXPORTED) / name
        if path.is_file() and name != ASYNCAPI:  # it refers to the shapes and has none
            faults += [
                f"{path}: {fault}" for fault in breaks(json.loads(path.read_text(encoding="utf-8")), json.loads(content))
            ]
    return faults


def _report(faults: list[str], advice: str) -> int:
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        print(advice, file=sys.stderr)
    return 1 if faults else 0


def _cleaned(node: Any) -> Any:
    """Descriptions without the indentation that some interpreters leave in a docstring."""
    if isinstance(node, dict):
        return {
            key: inspect.cleandoc(value) if key == "description" and isinstance(value, str) else _cleaned(value)
            for key, value in node.items()
        }
    return [_cleaned(item) for item in node] if isinstance(node, list) else node


if __name__ == "__main__":
    sys.exit(main())
