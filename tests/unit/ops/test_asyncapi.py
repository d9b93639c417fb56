"""The AsyncAPI document says what the code does; that the file is fresh is tested with the schemas."""

from __future__ import annotations

import json
from typing import Any

from consumers.topics import TABLE
from ledger.kafka.envelope import NAMES
from ops.asyncapi import document
from ops.schema_export import EXPORTED
from schemas.codec import ALERT_TAGS, DECISION_TAGS, RECORD_TAGS

DOCUMENT = document()


def resolved(reference: str) -> Any:
    """What a reference points at, in the document or in a schema beside it."""
    file, _, path = reference.partition("#/")
    node = DOCUMENT if not file else json.loads((EXPORTED / file).read_text("utf-8"))
    for step in path.split("/"):
        node = node[step.replace("~1", "/").replace("~0", "~")]
    return node


def references(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
        return own + [found for value in node.values() for found in references(value)]
    return [found for value in node for found in references(value)] if isinstance(node, list) else []


def test_asyncapi_every_reference_leads_somewhere() -> None:
    found = references(DOCUMENT)
    assert found
    for reference in found:
        assert resolved(reference), reference


def test_asyncapi_has_every_topic_and_every_shape() -> None:
    assert list(DOCUMENT["channels"]) == [topic.name for topic in TABLE]
    assert set(DOCUMENT["components"]["messages"]) == RECORD_TAGS | DECISION_TAGS | ALERT_TAGS | {"dead-letter", "identity"}


def test_asyncapi_payload_of_a_message_has_the_tag_of_its_name() -> None:
    for tag in RECORD_TAGS | DECISION_TAGS | ALERT_TAGS:
        message = DOCUMENT["components"]["messages"][tag]
        assert resolved(message["payload"]["schema"]["$ref"])["properties"]["type"]["enum"] == [tag]


def test_asyncapi_headers_are_the_envelope() -> None:
    assert DOCUMENT["components"]["messageTraits"]["envelope"]["headers"]["required"] == list(NAMES)


def test_asyncapi_names_no_server() -> None:
    assert "servers" not in DOCUMENT
