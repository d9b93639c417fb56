"""Who asks an embedded log speaks to nobody over a network, and does without OpenSSL: five megabytes, and as many milliseconds,
that the standard library takes for whoever imports `asyncio` and `hashlib`.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

_OF_OPENSSL = ("ssl", "_hashlib")
_HASHES = (("_md5",), ("_sha1",), ("_sha2", "_sha256"), ("_sha2", "_sha512"), ("_sha3",), ("_blake2",))
"""The interpreter's own hashes, by the names that releases of it give them. Some distributions leave all but the last out."""


def needs_none(arguments: Sequence[str], environment: Mapping[str, str]) -> bool:
    """Does no argument, and no setting, name a log on Kafka, to which TLS may lead?"""
    return not any("kafka:" in text for text in (*arguments, environment.get("CLEDGER_LOG", "")))


def load_plain() -> None:
    """Load `asyncio` without TLS and `hashlib` with the interpreter's own hashes, whose values are the same. Nothing happens
    where OpenSSL was loaded already or the interpreter has no hashes of its own. Whatever imports `ssl` later gets it; only
    connections of `asyncio` know no TLS in this process.
    """
    if not all(any(find_spec(name) for name in names) for names in _HASHES):
        return
    hidden = [name for name in _OF_OPENSSL if name not in sys.modules]
    for name in hidden:
        sys.modules[name] = None  # type: ignore[assignment]  # an import of it raises ImportError then
    try:
        import asyncio
        import hashlib
    finally:
        for name in hidden:
            del sys.modules[name]
    del asyncio, hashlib
