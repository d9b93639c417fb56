"""Metrics of a worker, read when they are asked for: names, units and labels in one place.

No text of a transcript, no scope and no session is ever a label: their number has no bound and their content is data.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from consumers.crew import Crew
from consumers.worker import Worker

STATES = ("recovering", "catching up", "live", "waiting", "halted", "stopped")


class WorkerMetrics(Collector):
    """The figures of one worker at the moment of a scrape."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def collect(self) -> Iterator[Metric]:
        """Metric families with a sample for each kept partition."""
        status = self._worker.status()
        yield GaugeMetricFamily(
            "cledger_ready", "1 once every owned partition is live.", value=int(status.readiness == "ready")
        )
        yield CounterMetricFamily("cledger_rebalances", "Assignments by the group.", value=status.rebalances)
        state = GaugeMetricFamily(
            "cledger_partition_state", "1 for the state a partition is in.", labels=["partition", "state"]
        )
        offset = GaugeMetricFamily("cledger_partition_offset", "The next record to fold.", labels=["partition"])
        end = GaugeMetricFamily("cledger_partition_end", "The end of the log, as last seen.", labels=["partition"])
        lag = GaugeMetricFamily("cledger_partition_lag", "Records not yet folded and published.", labels=["partition"])
        folded = CounterMetricFamily("cledger_records_folded", "Records folded by this process.", labels=["partition"])
        outputs = CounterMetricFamily("cledger_outputs", "Outputs of this process's folds.", labels=["type", "rule"])
        for each in status.partitions:
            name = str(each.partition)
            for known in STATES:
                state.add_metric([name, known], int(each.state == known))
            offset.add_metric([name], each.offset)
            end.add_metric([name], each.end)
            lag.add_metric([name], each.lag)
            folded.add_metric([name], each.folded)
        for (kind, rule), count in sorted(self._worker.outputs.items()):
            outputs.add_metric([kind, rule], count)
        yield from (state, offset, end, lag, folded, outputs)
        if self._worker.crew is not None:
            yield from _crew(self._worker.crew)


def _crew(crew: Crew) -> Iterator[Metric]:
    seen = crew.publishers()
    publishers = GaugeMetricFamily("cledger_publishers", "Publishers by what is amiss with them.", labels=["state"])
    for name, count in (("known", seen.publishers), ("silent", seen.silent), ("lagging", seen.lagging)):
        publishers.add_metric([name], count)
    yield publishers
    yield GaugeMetricFamily("cledger_sequence_missing", "Numbers that publishers left out.", value=seen.missing)
    work = CounterMetricFamily("cledger_consumers", "What the consumers beside the fold did.", labels=["work"])
    for name, count in sorted(crew.done.items()):
        work.add_metric([name], count)
    yield work


def exposition(worker: Worker) -> bytes:
    """All metrics of a worker in the text format of Prometheus."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(WorkerMetrics(worker))
    return generate_latest(registry)
