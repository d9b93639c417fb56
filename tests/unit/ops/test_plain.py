"""A command on an embedded log loads no OpenSSL, and is none the worse for it."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from ops.cli import plain
from ops.cli.main import main

pytestmark = pytest.mark.skipif(find_spec("_md5") is None, reason="this interpreter has no hashes but those of OpenSSL")


def told(code: str, *arguments: str) -> str:
    """What a Python process of its own prints."""
    run = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert not run.stderr
    return run.stdout.strip()


def test_command_on_an_embedded_log_loads_no_openssl(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom ops.cli.main import main\n"
        "code = main(['ingest', sys.argv[1], '--log', 'lmdb:' + sys.argv[2], '--json'])\n"
        "print(code, [name for name in ('_ssl', '_hashlib') if name in sys.modules])"
    )
    sample = Path(__file__).parents[3] / "ops/samples/codex-tide-cache.jsonl"
    assert told(code, str(sample), str(tmp_path / "log")).splitlines()[-1] == "0 []"


def test_openssl_is_there_for_whoever_imports_it_later_and_hashes_are_the_same() -> None:
    code = (
        "from ops.cli.plain import load_plain\nload_plain()\nimport hashlib\nhere = hashlib.sha256(b'x').hexdigest()\n"
        "import ssl\nssl.create_default_context()\nload_plain()\nprint(here, ssl.SSLContext.__module__)"
    )
    assert told(code) == f"{hashlib.sha256(b'x').hexdigest()} ssl"


def test_interpreter_without_hashes_of_its_own_keeps_openssl() -> None:
    code = (
        "import sys\nfrom ops.cli import plain\nfound = plain.find_spec\n"
        "plain.find_spec = lambda name: None if name == '_md5' else found(name)\n"
        "plain.load_plain()\nimport asyncio, hashlib\nprint('_ssl' in sys.modules, '_hashlib' in sys.modules)"
    )
    assert told(code) == "True True"


@pytest.mark.parametrize(
    ("arguments", "url", "needed"),
    [
        (["ingest", "a.jsonl"], "", False),
        (["ingest", "a.jsonl", "--log", "lmdb:/tmp/log"], "", False),
        (["ingest", "a.jsonl"], "lmdb:/tmp/log", False),
        (["ingest", "a.jsonl"], "kafka://broker:9092", True),
        (["ingest", "a.jsonl", "--log", "kafka://broker:9092"], "", True),
        (["ingest", "a.jsonl", "--log=kafka://broker:9092"], "lmdb:/tmp/log", True),
        (["worker"], "", True),
    ],
)
def test_who_may_speak_to_a_broker_loads_openssl(
    arguments: list[str], url: str, needed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[bool] = []
    monkeypatch.setenv("CLEDGER_LOG", url)
    monkeypatch.setattr(plain, "load_plain", lambda: loaded.append(True))
    main([*arguments, "--no-such-option"])
    assert bool(loaded) is not needed
