"""What is kept of a word that was looked up once."""

from __future__ import annotations

from typing import NamedTuple


class Piece(NamedTuple):
    """A word, or a part of a compound, `offset` signs behind its beginning. `first_tags` and `first_keys` are those that it has
    before its own operators are taken into account, for phrases are told by them.
    """

    offset: int
    word: str
    tags: int
    keys: tuple[str, ...]
    first_tags: int
    first_keys: tuple[str, ...]


class Entry(NamedTuple):
    """The pieces of a word, none for a punctuation mark, and in which respects its sentence is to be looked at again."""

    looks: int
    pieces: tuple[Piece, ...]
