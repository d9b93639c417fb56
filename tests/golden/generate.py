"""Writes golden bytes for shapes that have none yet: `python -m tests.golden.generate`.

Each file under `shapes` is named for a tag and holds two values, one a line: every field set, and required fields only. A file
that exists is never written again, since bytes like these may stand in a log; a changed shape takes a new version and with it
a new file. Only before the first release may a file be deleted and made anew, or a line be added for a field that became
optional.
"""

from __future__ import annotations

from pathlib import Path

from schemas import codec
from tests.support.strategies import SHAPES, bare, filled, tag_of

FOLDER = Path(__file__).parent / "shapes"


def generate() -> list[str]:
    """Tags for which a file was written."""
    FOLDER.mkdir(exist_ok=True)
    written = []
    for shape in SHAPES:
        path = FOLDER / f"{tag_of(shape)}.json"
        if not path.exists():
            path.write_bytes(codec.encode(filled(shape)) + b"\n" + codec.encode(bare(shape)) + b"\n")
            written.append(tag_of(shape))
    return written


if __name__ == "__main__":
    for tag in generate():
        print("written:", tag)
