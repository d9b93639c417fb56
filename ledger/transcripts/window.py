"""The live entries of one session, and their partition at a boundary: summarised, kept, unseen. The three add up."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from ledger.transcripts.model import Share


class Live(msgspec.Struct, gc=False):
    """One entry that is in the window: its native id, which is the key of its first piece, its place in the file (the number of
    its line, or of its entry where the format counts those), its content's digest, and the keys of its other pieces.

    `spoken` is false where the runtime alone wrote it: such an entry is never called unseen, since nobody said it.
    `user_bytes` is the length of the user's own text, 0 for other entries; only Codex needs it.
    """

    native: str
    place: int
    counted: bool
    spoken: bool = True
    digest: int = 0
    user_bytes: int = 0
    others: tuple[str, ...] = ()


class LiveWindow:
    """Entries in recording order. Texts are not held."""

    def __init__(self) -> None:
        self.entries: list[Live] = []

    def add(self, entry: Live) -> None:
        """The entry came into the window."""
        self.entries.append(entry)

    def cut(self, kept: Callable[[Live], bool], unseen: Callable[[Live], bool]) -> tuple[Share, Share, Share]:
        """A boundary: shares summarised, kept and unseen, each in recording order. What is kept stays; `kept` outranks."""
        groups: tuple[list[Live], list[Live], list[Live]] = ([], [], [])
        for entry in self.entries:
            groups[1 if kept(entry) else 2 if unseen(entry) else 0].append(entry)
        self.entries[:] = groups[1]
        return share(groups[0]), share(groups[1]), share(groups[2])


def share(entries: list[Live]) -> Share:
    """Keys and message count of some entries."""
    return Share(
        keys=tuple(key for entry in entries for key in (entry.native, *entry.others)),
        messages=sum(1 for entry in entries if entry.counted),
    )
