"""Fixtures that more than one folder of tests uses, and how examples are chosen."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.support.broker import broker

__all__ = ["broker"]

# The same commit gives the same verdict: examples follow from the test alone. CLEDGER_TEST_RANDOM=1 looks at new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("random", derandomize=False)
settings.load_profile("random" if os.environ.get("CLEDGER_TEST_RANDOM") else "same")

# A shell that starts the tests in the background lets them ignore interrupts, and so would the programs that they interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def loggers_as_they_were() -> Iterator[None]:
    """A command that runs in this process says where its words go; the tests after it shall not depend on that."""
    loggers = [logging.getLogger(name) for name in ("cledger", "cledger.kafka", "aiokafka", "faust", "mode")]
    before = [(each, each.level, each.propagate, each.handlers[:]) for each in loggers]
    yield
    for each, level, propagate, handlers in before:
        each.setLevel(level)
        each.propagate, each.handlers = propagate, handlers
