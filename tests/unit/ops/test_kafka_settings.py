"""How a Kafka cluster is reached, from the environment: nothing by default, secrets from files only."""

from __future__ import annotations

from pathlib import Path

import pytest

from ledger.errors import UsageError
from ops.kafka import jars
from ops.settings import KafkaSettings


def test_security_is_plain_text_unless_something_is_named() -> None:
    assert KafkaSettings.from_environment({}).security() == {}


def test_password_comes_from_its_file_without_the_line_end(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("s3cret \n")
    found = KafkaSettings.from_environment(
        {
            "CLEDGER_KAFKA_SASL": "SCRAM-SHA-512",
            "CLEDGER_KAFKA_USER": "reader",
            "CLEDGER_KAFKA_PASSWORD_FILE": str(tmp_path / "password"),
        }
    ).security()
    assert found == {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "reader",
        "sasl_plain_password": "s3cret ",
    }


@pytest.mark.parametrize(
    "environment",
    [
        {"CLEDGER_KAFKA_SASL": "GUESS"},
        {"CLEDGER_KAFKA_SASL": "PLAIN", "CLEDGER_KAFKA_USER": "u"},
        {"CLEDGER_KAFKA_CA": "no such file"},
        {"CLEDGER_KAFKA_PREFIX": "a/b"},
    ],
)
def test_setting_that_cannot_be_used_is_told(environment: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"CLEDGER_KAFKA_"):
        KafkaSettings.from_environment(environment).security()


def test_broker_without_java_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "java was not found" in jars.missing_tools()


def test_broker_without_maven_needs_jars_that_are_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(jars, "java_version", lambda: 17)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(jars.VARIABLE, str(tmp_path / "jars"))
    assert "mvn was not found" in jars.missing_tools()
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / f"kafka_2.13-{jars.kafka_version()}.jar").touch()
    assert jars.missing_tools() == ""
    assert jars.jars() == tmp_path / "jars"


def test_broker_with_an_old_java_says_which_one_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "java_version", lambda: 11)
    assert "needs Java 17" in jars.missing_tools()
