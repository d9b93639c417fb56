"""What processes that run for long say of themselves, on stderr."""

from __future__ import annotations

import logging
import sys


def diagnose() -> None:
    """What such a process has to say goes to stderr, a line each; the packages below speak only of faults."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    for name, level in (
        ("cledger", logging.INFO),
        ("cledger.kafka", logging.ERROR),  # whether the log answers is said once for the whole process
        ("aiokafka", logging.CRITICAL),
        ("faust", logging.CRITICAL),
        ("mode", logging.CRITICAL),
    ):
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.addHandler(handler)
        logger.propagate = False
