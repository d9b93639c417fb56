"""Fixtures that more than one folder of tests uses, and how examples are chosen."""

from __future__ import annotations

import os
import signal

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
