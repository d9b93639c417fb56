"""Shades of a statement that a restatement with the same words may lose (rule F2).

What was done is told as still to do, what nearly came to pass as a fact, a part as the whole, an end of something as an order
to do it, a case as a reason. The vocabulary is `data/shades.toml`; a language without a table loses none.
"""

from __future__ import annotations

import re
from typing import Literal

from ledger.facts.language import lexicon as lx
from ledger.facts.language.fold import WORD
from ledger.facts.language.lexicon import Language
from ledger.facts.language.tables import ByLanguage

Shade = Literal["", "inverted", "changed", "stripped"]

_BOUND = f"(?:(?<![{WORD}])(?=[{WORD}])|(?<=[{WORD}])(?![{WORD}]))"


class Shades:
    """The patterns of one language."""

    def __init__(self, data: dict[str, str]) -> None:
        self.patterns = {
            name: re.compile(text.replace(r"\b", _BOUND).replace(r"\w", f"[{WORD}]"), re.ASCII) for name, text in data.items()
        }

    def has(self, name: str, text: str) -> re.Match[str] | None:
        """The first place where a pattern of this name holds in folded text, if the language has it."""
        pattern = self.patterns.get(name)
        return pattern.search(text) if pattern is not None else None


SHADES = ByLanguage("shades", lambda _, data: Shades(data))


def shade_lost(source: str, summary: str, language: Language, *, settled: bool) -> Shade:
    """What clause `summary` makes of clause `source`, both folded; `settled`: the source lays down what is to be, and tells
    nothing as done.
    """
    known = SHADES.get(language.code)
    if known is None:
        return ""
    denied = _negated(source, language)
    if known.has("stop", source) and not denied and not (known.has("stop", summary) or _negated(summary, language)):
        return "inverted"
    if not settled and not denied and _put_off(known, source, summary):
        return "inverted"
    if _nearly(known, source, language) and not (_nearly(known, summary, language) or _negated(summary, language)):
        return "changed"
    if known.has("partly", source) and not (known.has("partly", summary) or _of_some(summary, language)):
        return "changed"
    return ""


def case_told(source: str, summary: str, language: Language) -> bool:
    """`Pay it if the seal was broken` told as `pay it, as the seal was broken`; both are whole sentences, folded."""
    known = SHADES.get(language.code)
    if known is None or not known.has("if", source):
        return False
    if known.has("if", summary) or known.has("cases", summary):
        return False
    reason = known.has("reason", summary)
    return reason is not None and (reason[0] in _COMMAS or reason[0] not in _words(source))


def opened(source: str, summary: str, language: Language) -> bool:
    """`Only if both approve` told as `if both approve`: other cases are left open. Both are folded sentences."""
    known = SHADES.get(language.code)
    return known is not None and bool(known.has("onlyif", source)) and not known.has("exclusive", summary)


def demanded(source: str, summary: str, language: Language) -> bool:
    """`Kim may restart it` told as `Kim must restart it`: what is left free is laid down. Both are folded clauses.

    A question, a denial and *only* (`may only read`) leave nothing free.
    """
    known = SHADES.get(language.code)
    if known is None or not (known.has("bound", summary) and known.has("free", source)):
        return False
    if known.has("bound", source) or known.has("free", summary) or "?" in source:
        return False
    bounded = any(language.tags.single.get(word, 0) & (lx.NEG | lx.ONLY | lx.PLEASE) for word in _words(source))
    return not (bounded or _negated(source, language) or _negated(summary, language))


_COMMAS = frozenset(",\uff0c\u3001\u060c")


def _put_off(known: Shades, source: str, summary: str) -> bool:
    """Told as done, and the summary tells it as still to do."""
    if not known.has("done", source) or known.has("open", source) or known.has("todo", source):
        return False
    return known.has("todo", summary) is not None and not known.has("done", summary)


def _nearly(known: Shades, text: str, language: Language) -> bool:
    """An amount that is nearly reached (`almost 40`) is compared as an amount."""
    found = known.has("nearly", text)
    if found is None:
        return False
    behind = text[found.end() :].lstrip()
    return not (behind[:1].isdecimal() or behind.split(" ", 1)[0] in language.number_words)


def _negated(text: str, language: Language) -> bool:
    return any(language.tags.single.get(word, 0) & lx.NEG or word.endswith("n't") for word in _words(text))


def _of_some(text: str, language: Language) -> bool:
    """A share or a number of them tells no more than a part."""
    some = lx.SOME | lx.MOST
    return any(char.isdecimal() for char in text) or any(language.tags.single.get(word, 0) & some for word in _words(text))


_WORDS = re.compile(f"[{WORD}]+(?:'[{WORD}]+)*", re.ASCII)


def _words(text: str) -> list[str]:
    return _WORDS.findall(text)
