"""The words behind a mask, read from the transcript itself (P11): on this machine only, and only while its bytes are the same."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ledger.errors import UsageError
from ledger.masking import mask
from ledger.transcripts.files import open_regular
from ledger.transcripts.formats import SAMPLE_BYTES
from ledger.transcripts.lines import LineSplitter
from ledger.transcripts.model import Message
from ledger.transcripts.reading import format_of
from ops.queries.forgotten import Forgotten

_MASKED = re.compile(r"\[masked:[a-z0-9-]{1,40}\]")


def reveal(entry: Forgotten) -> str:
    """Put the words as they stand in the file into `entry.text`. Returns why that was not possible, or the empty string."""
    if not _MASKED.search(entry.text):
        return ""
    if entry.byte_start is None or entry.byte_end is None or not entry.path:
        return "the record does not say where the words stood"
    try:
        with open_regular(Path(entry.path)) as file:
            head = file.read(SAMPLE_BYTES)
            file.seek(entry.byte_start)
            data = file.read(entry.byte_end - entry.byte_start)
    except (UsageError, OSError):
        return f"{entry.path} cannot be read any more"
    if hashlib.sha256(data).hexdigest() != entry.sha256:
        return f"{entry.path} has changed since it was read"
    for text in _texts(head, data):
        found = unmasked(text, entry.text)
        if found:
            entry.text = found
            return ""
    return f"the words were not found in {entry.path}"


def _texts(head: bytes, data: bytes) -> list[str]:
    known = format_of(head)
    if known is None:
        return []
    reader, splitter = known.reader(), LineSplitter()
    line = splitter.finish() if not splitter.feed(data) else None
    items = [*reader.feed(line), *reader.finish()] if line is not None else []
    return [item.text for item in items if isinstance(item, Message)]


def unmasked(raw: str, quote: str) -> str:
    """The piece of `raw` that reads `quote` once it is masked, or the empty string where no such piece is found.

    A mask stands for one or more characters, so the literal words of the quote are searched for with gaps between them; a find
    counts only if masking what stands before and in it ends in the quote.
    """
    pattern = ".{1,20000}?".join(re.escape(piece) for piece in _MASKED.split(quote))
    if not quote.strip() or quote not in mask(raw):
        return ""
    for match in re.finditer(f"(?={pattern})", raw, re.DOTALL):
        piece = re.match(pattern, raw[match.start() :], re.DOTALL)
        if piece is not None and mask(raw[: match.start()] + piece.group()).endswith(quote):
            return piece.group()
    return ""
