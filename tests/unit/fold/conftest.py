"""The fold's scenarios speak the toy language, except where they tell a story in English."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.toy_facts import toy_facts


@pytest.fixture
def toy() -> Iterator[None]:
    """Facts are the toy language's."""
    with toy_facts():
        yield
