"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from tests.support.broker import broker

__all__ = ["broker"]
