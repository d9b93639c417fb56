"""A process that appends to a log and says what was acknowledged: `python -m tests.support.log_worker ADDRESS NAME COUNT`.

Appends `NAME-0`, `NAME-1`, … in calls of one to three entries under a few keys, and prints a line `ack N PARTITION OFFSET` for
each entry after its append returned. COUNT 0 means until it is killed.
"""

from __future__ import annotations

import asyncio
import os
import sys

from ledger.log import EVENTS, NewEntry
from tests.support.logs import open_address

KEYS = 5


def value_of(name: str, number: int) -> bytes:
    """The value that a worker appends as its number `number`; every seventh is long enough for pages of its own."""
    return f"{name}-{number}".encode() + (b"." * 9000 if number % 7 == 0 else b"")


async def main(address: str, name: str, count: int) -> None:
    """Append until done, or until killed."""
    log = await open_address(address)
    number = 0
    while not count or number < count:
        step = min(number % 3 + 1, count - number) if count else number % 3 + 1
        numbers = range(number, number + step)
        entries = [
            NewEntry(f"{name}-key-{each % KEYS}", value_of(name, each), (("n", str(each).encode()),)) for each in numbers
        ]
        positions = await log.append(EVENTS, entries)
        lines = "".join(f"ack {each} {at.partition} {at.offset}\n" for each, at in zip(numbers, positions, strict=True))
        os.write(1, lines.encode())  # one write, past every buffer: what was acknowledged must not be lost with the process
        number += step
    await log.close()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
