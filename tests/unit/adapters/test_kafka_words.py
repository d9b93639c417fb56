"""What the client library says is told in words that say something (contracts section 4: errors name what to do)."""

from __future__ import annotations

import pytest
from aiokafka import errors

from ledger.kafka.connection import Again, KafkaConnection, told

SAID: list[tuple[BaseException | str, str]] = [
    (errors.KafkaConnectionError("Unable to bootstrap from [('127.0.0.1', 9, <AddressFamily.AF_UNSPEC: 0>)]"), ""),
    (errors.NodeNotReadyError("Attempt to send a request to node which is not ready"), ""),
    (errors.NotLeaderForPartitionError("compaction.events/3"), "not leader for partition"),
    (errors.TopicAuthorizationFailedError(), "topic authorization failed"),
    (errors.UnrecognizedBrokerVersion(), "unrecognized broker version"),
    (errors.KafkaError("the cluster is gone"), "the cluster is gone"),
    (ConnectionRefusedError(111, "Connection refused"), "Connection refused"),
    (TimeoutError("no answer"), "no answer"),
    (Again("compaction.events/0 has no leader"), "compaction.events/0 has no leader"),
    ("not acknowledged within 30 s", "not acknowledged within 30 s"),
]


@pytest.mark.parametrize(("error", "words"), SAID, ids=lambda value: type(value).__name__)
def test_error_of_the_client_library_is_told_in_words(error: BaseException | str, words: str) -> None:
    assert told(error) == words


async def test_call_that_failed_is_told_with_the_address_and_what_to_do() -> None:
    """No class of the library, no pair of brackets around an address."""
    connection = KafkaConnection("broker.example:9092", {}, 1.0)
    for error, words in SAID:
        failed = connection.unavailable("reading", error)
        assert failed.message == f"kafka://broker.example:9092: reading{f': {words}' if words else ''}"
        assert failed.hint
    await connection.close()
