"""The topics and what stands in them as an AsyncAPI 3 document, made from the shapes in `schemas` and the table in
`consumers.topics`.

It names no server: a ledger has whatever address its operator gives it. Payloads refer to the schemas beside the document.
`python -m ops.schema_export` writes it with them, and its `--check` finds it stale.
"""

from __future__ import annotations

import inspect
from typing import Any, get_args

from consumers.topics import TABLE, Topic, config_of
from ledger.kafka.connection import REPLICATION
from ledger.kafka.envelope import CONTENT_TYPE, NAMES, OPAQUE_CONTENT_TYPE, SPEC_VERSION
from ledger.kafka.identity import IDENTITY, PARTITIONS
from ledger.log import ALERTS, DEAD_LETTERS, DECISIONS, EVENTS
from schemas.alerts import AnyAlert
from schemas.decisions import AnyDecision
from schemas.records import AnyRecord

VERSION = "3.0.0"
BINDING_VERSION = "0.5.0"
SCHEMA_FORMAT = "application/schema+json;version=draft-2020-12"
_SHAPES: dict[str, Any] = {EVENTS: AnyRecord, DECISIONS: AnyDecision, ALERTS: AnyAlert}
_BOUND = ("retention.ms", "retention.bytes", "max.message.bytes")
"""Settings that the Kafka binding has a field for, beside the cleanup policy; the rest goes under an extension."""


def document() -> dict[str, Any]:
    """The whole document."""
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "compaction ledger",
            "version": "1",
            "description": "What an agent's context compactions keep, lose and turn around: records, decisions and alerts.",
            "license": {"name": "Apache-2.0"},
        },
        "defaultContentType": CONTENT_TYPE.decode(),
        "channels": {topic.name: _channel(topic) for topic in TABLE},
        "operations": _operations(),
        "components": {"messages": _messages(), "messageTraits": {"envelope": {"headers": _headers(CONTENT_TYPE)}}},
    }


def _channel(topic: Topic) -> dict[str, Any]:
    config = config_of(topic, REPLICATION)
    bound: dict[str, Any] = {"cleanup.policy": [config["cleanup.policy"]], **{name: int(config[name]) for name in _BOUND}}
    return {
        "address": topic.name,
        "description": f"{topic.meaning}. Key: {topic.key}. Written by {topic.written_by}; read by {topic.read_by}.",
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in _names(topic.name)},
        "bindings": {
            "kafka": {
                "topic": topic.name,
                "partitions": topic.count(PARTITIONS),
                "replicas": REPLICATION,
                "topicConfiguration": bound,
                "bindingVersion": BINDING_VERSION,
            }
        },
        "x-topic-configuration": {name: config[name] for name in config if name not in bound},
    }


def _operations() -> dict[str, Any]:
    """What a worker does; a publisher does the opposite on the events topic."""
    made: dict[str, Any] = {}
    for name, action, topic, summary in (
        ("fold", "receive", EVENTS, "Fold every record in order and decide what asks for a decision."),
        ("tick", "send", EVENTS, "Say that a timer of a scope is due."),
        ("decide", "send", DECISIONS, "Put a decision on record, in order within its scope."),
        ("alert", "send", ALERTS, "Raise or resolve an alert, in order within its scope."),
        ("quarantine", "send", DEAD_LETTERS, "Set aside bytes that are no record."),
    ):
        channel = topic.replace("~", "~0").replace("/", "~1")
        made[name] = {"action": action, "channel": {"$ref": f"#/channels/{channel}"}, "summary": summary}
    made["tick"]["messages"] = [{"$ref": f"#/channels/{EVENTS}/messages/tick.v1"}]
    return made


def _names(topic: str) -> list[str]:
    if topic in _SHAPES:
        return [str(shape.__struct_config__.tag) for shape in get_args(_SHAPES[topic])]
    return [{DEAD_LETTERS: "dead-letter", IDENTITY: "identity"}[topic]]


def _messages() -> dict[str, Any]:
    made: dict[str, Any] = {}
    for topic, union in _SHAPES.items():
        for shape in get_args(union):
            tag = str(shape.__struct_config__.tag)
            made[tag] = {
                "name": tag,
                "contentType": CONTENT_TYPE.decode(),
                "description": inspect.cleandoc(shape.__doc__ or ""),
                "traits": [{"$ref": "#/components/messageTraits/envelope"}],
                "payload": {"schemaFormat": SCHEMA_FORMAT, "schema": {"$ref": f"./{topic}.json#/$defs/{shape.__name__}"}},
                "bindings": _key("the scope: all that has to stay in order, and nothing else is looked at"),
            }
    made["dead-letter"] = {
        "name": "dead-letter",
        "contentType": OPAQUE_CONTENT_TYPE.decode(),
        "description": "Bytes as they came.",
        "headers": _headers(OPAQUE_CONTENT_TYPE),
        "bindings": _key("the key that they came under"),
    }
    made["identity"] = {
        "name": "identity",
        "contentType": CONTENT_TYPE.decode(),
        "description": "Which log these topics are: its id, partition count, and the ids that Kafka gave the topics.",
        "payload": {
            "type": "object",
            "required": ["format", "log_id", "partitions", "topics"],
            "properties": {
                "format": {"type": "integer"},
                "log_id": {"type": "string"},
                "partitions": {"type": "integer", "minimum": 1},
                "topics": {"type": "object", "additionalProperties": {"type": "string", "format": "uuid"}},
            },
        },
        "bindings": _key("the word identity"),
    }
    return made


def _key(meaning: str) -> dict[str, Any]:
    return {"kafka": {"key": {"type": "string", "description": meaning}, "bindingVersion": BINDING_VERSION}}


def _headers(content_type: bytes) -> dict[str, Any]:
    """The envelope, as a schema of the headers."""
    properties: dict[str, Any] = {name: {"type": "string", "minLength": 1} for name in NAMES}
    properties[NAMES[0]] = {"type": "string", "const": SPEC_VERSION.decode()}
    properties[NAMES[4]] = {"type": "string", "const": content_type.decode()}
    return {"type": "object", "required": list(NAMES), "properties": properties}
