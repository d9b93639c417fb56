"""Defaults that the codec recognises by identity (P2): anything else would be written or left out by accident of memory."""

from __future__ import annotations

import inspect
from typing import Any, Literal, get_origin

import msgspec
import pytest

from schemas import alerts, decisions, facts, records

STRUCTS = [
    shape
    for module in (records, decisions, alerts, facts)
    for shape in vars(module).values()
    if inspect.isclass(shape) and issubclass(shape, msgspec.Struct) and shape.__module__ == module.__name__
]


@pytest.mark.parametrize("shape", STRUCTS, ids=lambda shape: shape.__name__)
def test_default_of_a_left_out_field_is_recognised_by_identity(shape: type[msgspec.Struct]) -> None:
    """P2: a string read from bytes equals a default and is not the same object, so it would be written where a constant is
    not.
    """
    if not shape.__struct_config__.omit_defaults:
        return
    for field in msgspec.structs.fields(shape):
        assert is_safe(field.default, field.type), f"{shape.__name__}.{field.name} = {field.default!r}"


def is_safe(default: Any, type_: Any) -> bool:
    """Empty, null, a small number, or a word of a closed list, which the decoder gives as the very object."""
    if default is msgspec.NODEFAULT or default is None or default in ("", ()):
        return True
    if isinstance(default, bool):
        return True
    if isinstance(default, int):
        return -5 <= default <= 256
    return isinstance(default, str) and get_origin(type_) is Literal
