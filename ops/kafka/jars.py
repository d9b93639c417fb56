"""The jars of the broker: fetched once by Maven from the versions that `pom.xml` pins, then kept.

They lie in the folder that `CLEDGER_KAFKA_JARS` names, else in the user's cache directory, under the Kafka version.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import platformdirs

from ledger.errors import LogUnavailable

VARIABLE = "CLEDGER_KAFKA_JARS"
POM = Path(__file__).with_name("pom.xml")
COPY_GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
JAVA_LEAST = 17
"""Kafka 4 brokers need this Java or newer."""

FETCH_TIMEOUT_S = 600
"""54 MB; an empty Maven repository on a slow line still ends in this time."""


class BrokerUnavailable(LogUnavailable):
    """No broker can be started on this machine, or it did not come up; says which part is missing."""


def kafka_version() -> str:
    """The version that `pom.xml` pins."""
    found = re.search(r"<kafka\.version>([0-9.]+)</kafka\.version>", POM.read_text("utf-8"))
    assert found is not None, f"{POM} names no kafka.version"
    return found.group(1)


def jar_folder() -> Path:
    """Where the jars are, or will be."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(platformdirs.user_cache_dir("cledger", appauthor=False)) / f"kafka-{kafka_version()}"


def missing_tools() -> str:
    """What has to be installed before a broker can start, as a sentence; empty if nothing has to be."""
    java = java_version()
    if java is None:
        return f"java was not found; a broker needs Java {JAVA_LEAST} (Debian: apt-get install openjdk-17-jre-headless)"
    if java < JAVA_LEAST:
        return f"java is version {java}; a broker needs Java {JAVA_LEAST} or newer"
    if not _has_jars(jar_folder()) and shutil.which("mvn") is None:
        return f"mvn was not found and {jar_folder()} holds no broker (Debian: apt-get install maven)"
    return ""


def java_version() -> int | None:
    """The major version of the `java` on the path, or None without one."""
    java = shutil.which("java")
    if java is None:
        return None
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(?:1\.)?([0-9]+)', told)
    return int(found.group(1)) if found else None


def jars() -> Path:
    """The folder with the jars, fetched if they are not there yet. Raises `BrokerUnavailable`."""
    folder = jar_folder()
    if _has_jars(folder):
        return folder
    if missing := missing_tools():
        raise BrokerUnavailable(missing)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".kafka-") as draft:
        _fetch(Path(draft) / "jars")
        try:  # a rename shows the folder complete or not at all; another process may have been quicker
            (Path(draft) / "jars").rename(folder)
        except OSError as error:
            if not _has_jars(folder):
                raise BrokerUnavailable(f"{folder}: {error.strerror}") from error
    return folder


def _fetch(into: Path) -> None:
    command = ["mvn", "-q", "-B", "-f", str(POM), COPY_GOAL, f"-DoutputDirectory={into}", "-DincludeScope=runtime"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=FETCH_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        raise BrokerUnavailable(f"Maven did not end within {FETCH_TIMEOUT_S} s", hint=" ".join(command)) from None
    if done.returncode != 0 or not _has_jars(into):
        said = (done.stdout + done.stderr).strip().splitlines()
        raise BrokerUnavailable(
            f"Maven could not fetch the broker's jars: {said[0] if said else f'exit code {done.returncode}'}",
            hint=f"Try it by hand: {' '.join(command)}",
        )


def _has_jars(folder: Path) -> bool:
    return any(folder.glob(f"kafka_2.13-{kafka_version()}.jar"))
