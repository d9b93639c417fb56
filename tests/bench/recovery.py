"""How long a new owner takes for a partition: from the log alone, and from a snapshot. `python -m tests.bench.recovery --help`.

Not among the goals, which are ratios: this gives seconds on one machine, for whoever plans a fleet.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import logging
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from consumers.carrier_index import CarrierIndex
from consumers.partition import BATCH_ENTRIES, Partition
from consumers.snapshots import restore, take
from ledger.adapters.kafka_log import KafkaLog
from ledger.log import EVENTS, NewEntry
from ops.kafka.broker import Cluster
from schemas.codec import encode
from schemas.records import AnyRecord
from tests.bench.inputs import growing

SCOPE_RECORDS = 1000
"""Records of one scope: a session of some hours with two compactions."""


def records_of(count: int) -> Iterator[AnyRecord]:
    """Scopes one after the other, as sessions come and go."""
    scopes = (growing(f"scope-{number:06}", SCOPE_RECORDS) for number in itertools.count())
    return itertools.islice(itertools.chain.from_iterable(scopes), count)


async def fill(log: KafkaLog, count: int) -> None:
    """Append so many records."""
    source = records_of(count)
    while batch := list(itertools.islice(source, 5 * BATCH_ENTRIES)):
        await log.append(EVENTS, [NewEntry(one.scope, encode(one)) for one in batch])


async def recover(servers: str, count: int, folder: Path) -> dict[str, float]:
    """Seconds of each way, and what the index takes."""
    log = await KafkaLog.create(servers, 1, prefix="recovery.")
    found: dict[str, float] = {"records": count}
    try:
        await fill(log, count)
        index = CarrierIndex.create(folder / "first", log.identity, 0)
        partition = Partition(log, index, 0, publish=False)
        began = time.monotonic()
        await partition.catch_up()
        found["from_log_s"] = round(time.monotonic() - began, 1)
        found["index_mb"] = (folder / "first" / "data.mdb").stat().st_size >> 20
        began = time.monotonic()
        stored = take(index, folder / "snapshots", created_ms=0)
        found["snapshot_taken_s"] = round(time.monotonic() - began, 1)
        partition.close()
        index.close()
        began = time.monotonic()
        restore(stored.path, folder / "second")
        index = CarrierIndex(folder / "second", log.identity, 0)
        partition = Partition(log, index, 0, publish=False)
        await partition.catch_up()
        found["from_snapshot_s"] = round(time.monotonic() - began, 1)
        partition.close()
        index.close()
    finally:
        await log.close()
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    return found


def main() -> None:
    """Run it and print one JSON object."""
    parser = argparse.ArgumentParser(prog="tests.bench.recovery", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    options = parser.parse_args()
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)
    with tempfile.TemporaryDirectory(prefix="cledger-recovery-") as name:
        cluster = Cluster.make(Path(name) / "kafka", 1, bound=True)
        cluster.start()
        try:
            print(json.dumps(asyncio.run(recover(cluster.servers, options.records, Path(name)))))
        finally:
            cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
