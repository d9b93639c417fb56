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


async def test_brokers_that_are_away_are_told_once_and_once_when_they_are_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A program hears two lines, not one for each attempt of each call; what is over at once it does not hear of."""
    connection = KafkaConnection("127.0.0.1:9", {}, 30.0)
    failures = 0

    async def attempt() -> str:
        nonlocal failures
        failures -= 1
        if failures >= 0:
            raise errors.NodeNotReadyError("not ready")
        return "done"

    async def nothing() -> None:
        return None

    monkeypatch.setattr(connection, "_look_again", nothing)
    monkeypatch.setattr("ledger.kafka.connection.PAUSE_S_FIRST", 0.001)
    for patience_s, told_lines in ((60.0, []), (0.0, ["does not answer", "is back after"])):
        monkeypatch.setattr("ledger.kafka.connection.TOLD_AFTER_S", patience_s)
        failures = 4
        caplog.clear()
        assert await connection.insist("reading", attempt) == "done"
        lines = [record.getMessage() for record in caplog.records if record.name == "cledger.kafka"]
        assert len(lines) == len(told_lines)
        assert all(words in line for words, line in zip(told_lines, lines, strict=True))
    await connection.close()
