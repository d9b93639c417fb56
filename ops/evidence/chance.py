"""Chance from a seed: the same figures every time, on every machine. Nothing here is a secret."""

from __future__ import annotations

import random


def seeded(*parts: str | int) -> random.Random:
    """A generator of its own for each place that needs one, so that one place's use does not shift another's."""
    return random.Random("-".join(map(str, parts)))  # noqa: S311  repeatable on purpose, and no key
