"""Values of any struct of `schemas`, built from the struct itself: a new field is covered the day it appears.

`values(Struct)` is a hypothesis strategy; `filled(Struct)` and `bare(Struct)` are one value with every field set and one with
only the required fields, the same in every run, for golden bytes.
"""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from hypothesis import strategies as st
from msgspec import inspect as mi

from schemas.alerts import AnyAlert
from schemas.decisions import AnyDecision
from schemas.records import AnyRecord

INT_64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
TEXT = st.text(max_size=40)
"""Any code points but surrogates, which have no UTF-8."""

AWKWARD = ' – „é𐍈\u2028\u00ad" \\ \n\x00'
"""What an encoder may escape in more than one way: golden bytes fix which."""

SHAPES: tuple[type[msgspec.Struct], ...] = get_args(AnyRecord) + get_args(AnyDecision) + get_args(AnyAlert)
"""Every shape that can stand in a topic."""


def tag_of(shape: type[msgspec.Struct]) -> str:
    return str(shape.__struct_config__.tag)


def values(shape: Any) -> st.SearchStrategy[Any]:
    """Values of a struct or of any other type that the shapes are made of."""
    return _strategy(mi.type_info(shape))


def _strategy(info: mi.Type) -> st.SearchStrategy[Any]:
    match info:
        case mi.StructType():
            return st.builds(info.cls, **{field.name: _field(field) for field in info.fields})
        case mi.LiteralType():
            return st.sampled_from(info.values)
        case mi.UnionType():
            return st.one_of([_strategy(member) for member in info.types])
        case mi.VarTupleType():
            return st.lists(_strategy(info.item_type), max_size=3).map(tuple)
        case mi.TupleType():
            return st.tuples(*(_strategy(item) for item in info.item_types))
        case mi.StrType():
            return TEXT
        case mi.IntType():
            return INT_64 if info.ge is None else st.integers(min_value=info.ge, max_value=info.le)
        case mi.BoolType():
            return st.booleans()
        case mi.NoneType():
            return st.none()
    raise NotImplementedError(f"no strategy for {info!r}: add one beside the others")


def _field(field: mi.Field) -> st.SearchStrategy[Any]:
    """A field's own values, and its default often enough that omitted fields are seen."""
    strategy = _strategy(field.type)
    return strategy if field.required else st.just(_default(field)) | strategy


def _default(field: mi.Field) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def filled(shape: type[msgspec.Struct]) -> msgspec.Struct:
    """A value with every field set to something else than its default, where the type allows it."""
    info = mi.type_info(shape)
    assert isinstance(info, mi.StructType)
    return shape(**{field.name: _example(field.type, field.name, field) for field in info.fields})


def bare(shape: type[msgspec.Struct]) -> msgspec.Struct:
    """A value with only the required fields."""
    info = mi.type_info(shape)
    assert isinstance(info, mi.StructType)
    return shape(**{field.name: _example(field.type, field.name, field) for field in info.fields if field.required})


def _example(info: mi.Type, name: str, field: mi.Field | None = None) -> Any:
    match info:
        case mi.StructType():
            return filled(info.cls)
        case mi.LiteralType():
            others = [value for value in info.values if field is None or value != field.default]
            return others[0]
        case mi.UnionType():
            return _example(next(member for member in info.types if not isinstance(member, mi.NoneType)), name, field)
        case mi.VarTupleType():
            return (_example(info.item_type, name), _example(info.item_type, name))
        case mi.TupleType():
            return tuple(_number(item, name, place) for place, item in enumerate(info.item_types, 1))
        case mi.StrType():
            return name + AWKWARD if name in {"text", "reason", "value", "subject"} else f"{name}-1"
        case mi.IntType():
            return len(name) * 1_000_003
        case mi.BoolType():
            return not (field is not None and field.default is True)
    raise NotImplementedError(f"no example for {info!r}: add one beside the others")


def _number(info: mi.Type, name: str, place: int) -> Any:
    return place if isinstance(info, mi.IntType) else _example(info, f"{name}-{place}")
