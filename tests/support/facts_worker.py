"""Prints a digest of the facts of a text, and of how they fare in a summary: `facts_worker.py TEXT SUMMARY`.

An interpreter without msgspec gets a plain stand-in for its structs: what is compared is how the core reads text.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import types
from pathlib import Path
from typing import Any

FIELDS = ("cls", "start", "end", "value", "subject", "polarity", "quantifier", "hedge", "kind", "context")


class _Field:
    def __init__(self, name: str = "", default: Any = ...) -> None:
        self.default = default


class _Struct:
    """As much of a struct as the facts need: fields in order, defaults, positions or names."""

    def __init_subclass__(cls, **_: Any) -> None:
        pass

    def __init__(self, *args: Any, **named: Any) -> None:
        names = [name for base in reversed(type(self).__mro__) for name in inspect.get_annotations(base)]
        given = {**dict(zip(names, args)), **named}  # noqa: B905  the call may leave fields to their defaults
        for name in names:
            default = getattr(type(self), name, ...)
            default = default.default if isinstance(default, _Field) else default
            self.__dict__[name] = given.get(name, default)


def _stand_in() -> None:
    module: Any = types.ModuleType("msgspec")
    module.Struct, module.field, module.Meta = _Struct, _Field, lambda **_: None
    module.UNSET, module.UnsetType = None, type(None)
    module.json = types.ModuleType("msgspec.json")
    module.json.encode = lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    module.structs = types.ModuleType("msgspec.structs")
    module.structs.replace = lambda held, **named: type(held)(**{**held.__dict__, **named})
    sys.modules.update({"msgspec": module, "msgspec.json": module.json, "msgspec.structs": module.structs})


def main() -> None:
    """Read both files, write the digest of all facts and outcomes."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    try:
        import msgspec  # noqa: F401  only to see whether it is there
    except ImportError:
        _stand_in()
    from ledger.facts.comparing.summary import SummaryText
    from ledger.facts.comparing.survival import survival
    from ledger.facts.extraction.extract import extract
    from schemas.records import Role

    text, summary = (Path(name).read_text("utf-8") for name in sys.argv[1:3])
    prepared = SummaryText(summary)
    rows: list[list[str]] = []
    roles: tuple[Role, ...] = ("user", "assistant", "tool")
    for role in roles:
        for fact in extract(text, role, scope_key="k").facts:
            found = survival(fact, prepared)
            rows.append([str(getattr(fact, name)) for name in FIELDS] + [str(found.outcome), str(found.start), str(found.end)])
    data = json.dumps(rows, ensure_ascii=True).encode()
    print(len(rows), hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    main()
