"""One to three Kafka nodes on loopback: `python -m ops.kafka.broker start|stop|run`, and `Cluster` for tests.

Each node is broker and controller (KRaft). Everything a cluster is made of lies in one folder: a data directory, a properties
file and a log for each node, and `cluster.json` with ports and process ids, by which a later `stop` finds what `start` left
running. Kafka does not sync each record to disk: what a lone node acknowledged survives a kill of the process, not a power
loss.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import contextlib
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from pathlib import Path

import msgspec
import platformdirs
from aiokafka import AIOKafkaClient
from aiokafka.errors import KafkaError

from ledger.errors import LedgerError, UsageError
from ops.kafka.jars import BrokerUnavailable, jars

HOST = "127.0.0.1"
PORT = 9092
"""Where Kafka usually listens."""

HEAP = "512m"
START_TIMEOUT_S = 90.0
"""A node answers after some 4 s on an idle machine; a loaded one takes several times that."""

STOP_TIMEOUT_S = 30.0
"""How long a node may take to close its files after SIGTERM before it is killed."""

POLL_S = 0.1
NODES_MAX = 3
STATE = "cluster.json"
_PR_SET_PDEATHSIG = 1
_PROC = Path("/proc/self")
"""Where this exists the system is Linux, and knows the working directory of a process and the end of its parent."""


class Node(msgspec.Struct):
    """One node: where it listens, and its process while it runs."""

    id: int
    port: int
    controller_port: int
    directory_id: str
    pid: int = 0


class State(msgspec.Struct):
    """What `cluster.json` says."""

    cluster_id: str
    nodes: list[Node]


class Cluster:
    """The nodes whose files lie in one folder. Made by `make` or `load`."""

    def __init__(self, folder: Path, state: State, *, bound: bool = False) -> None:
        """`bound` ends the nodes with the thread that starts them, however that ends (Linux only)."""
        self.folder = folder
        self.state = state
        self._bound = bound
        self._processes: dict[int, subprocess.Popen[bytes]] = {}

    @classmethod
    def make(cls, folder: Path, nodes: int = 1, *, port: int = 0, bound: bool = False) -> Cluster:
        """A new cluster with formatted, empty data directories, none of its nodes running.

        `port` is the first node's; 0 takes free ports. Raises `BrokerUnavailable`, `UsageError`.
        """
        if not 1 <= nodes <= NODES_MAX:
            raise UsageError(f"a cluster has 1 to {NODES_MAX} nodes, not {nodes}")
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / STATE).exists():
            raise UsageError(f"{folder}: there is a cluster already", hint="Use it, or remove the folder once it is stopped.")
        ports = _free_ports(2 * nodes)
        made = [Node(n + 1, ports[2 * n], ports[2 * n + 1], _kafka_uuid()) for n in range(nodes)]
        made[0].port = port or made[0].port
        cluster = cls(folder, State(_kafka_uuid(), made), bound=bound)
        for node in made:
            cluster._format(node)
        cluster._save()
        return cluster

    @classmethod
    def load(cls, folder: Path) -> Cluster:
        """The cluster in a folder. Raises `UsageError` if there is none."""
        try:
            return cls(folder, msgspec.json.decode((folder / STATE).read_bytes(), type=State))
        except FileNotFoundError:
            raise UsageError(f"{folder}: there is no cluster here", hint="Make one: python -m ops.kafka.broker start") from None
        except msgspec.DecodeError as error:
            raise UsageError(f"{folder / STATE}: {error}", hint="Remove the folder and start anew.") from None

    @property
    def servers(self) -> str:
        """`HOST:PORT[,HOST:PORT]` of all nodes, as a log URL takes it."""
        return ",".join(f"{HOST}:{node.port}" for node in self.state.nodes)

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start every node that does not run, and wait until all of them and a controller are named. Raises
        `BrokerUnavailable`.
        """
        for node in self.state.nodes:
            self.start_node(node.id)
        self.wait_ready(timeout_s)

    def start_node(self, node_id: int) -> None:
        """Start a node without waiting for it; one that runs is left alone."""
        node = self._node(node_id)
        if self._is_running(node):
            return
        command = [
            "java",
            f"-Xms{HEAP}",
            f"-Xmx{HEAP}",
            *_JAVA_OPTIONS,
            "-cp",
            f"{jars()}/*",
            "kafka.Kafka",
            "server.properties",
        ]
        with (self._home(node) / "broker.log").open("ab") as log:
            process = subprocess.Popen(
                command,
                cwd=self._home(node),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent if self._bound and _PROC.exists() else None,  # noqa: PLW1509  one prctl call, no Python state touched
            )
        self._processes[node.id] = process
        node.pid = process.pid
        self._save()

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until metadata names every running node and a controller: a listening port is no readiness.

        Raises `BrokerUnavailable` with the end of the node's log.
        """
        deadline_s = time.monotonic() + timeout_s
        expected = sum(map(self._is_running, self.state.nodes))
        while True:
            for node in self.state.nodes:
                if node.pid and not self._is_running(node):
                    raise BrokerUnavailable(f"node {node.id} ended while starting", hint=self._log_end(node))
            if _nodes_ready(self.servers) >= expected:
                return
            if time.monotonic() > deadline_s:
                first = self.state.nodes[0]
                raise BrokerUnavailable(f"no controller after {timeout_s:g} s at {self.servers}", hint=self._log_end(first))
            time.sleep(POLL_S)

    def stop(self) -> None:
        """End every node in an orderly way, the last resort being a kill after `STOP_TIMEOUT_S`."""
        for node in self.state.nodes:
            self._signal(node, signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_TIMEOUT_S
        for node in self.state.nodes:
            self._wait_gone(node, deadline_s)
            node.pid = 0
        self._save()

    def kill_node(self, node_id: int) -> None:
        """SIGKILL a node and wait until it is gone; its files stay."""
        node = self._node(node_id)
        self._signal(node, signal.SIGKILL)
        self._wait_gone(node, time.monotonic() + STOP_TIMEOUT_S)
        node.pid = 0
        self._save()

    def signal_node(self, node_id: int, number: signal.Signals) -> None:
        """Send a signal to a node: SIGSTOP makes it deaf, SIGCONT wakes it."""
        self._signal(self._node(node_id), number)

    def _node(self, node_id: int) -> Node:
        return next(node for node in self.state.nodes if node.id == node_id)

    def _home(self, node: Node) -> Path:
        return self.folder / f"node-{node.id}"

    def _save(self) -> None:
        draft = self.folder / f".{STATE}.new"
        draft.write_bytes(msgspec.json.encode(self.state))
        draft.replace(self.folder / STATE)

    def _log_end(self, node: Node, lines: int = 5) -> str:
        log = self._home(node) / "broker.log"
        said = log.read_text("utf-8", "replace").splitlines()[-lines:] if log.exists() else []
        return "\n  ".join([f"{log}:", *said])

    def _format(self, node: Node) -> None:
        home = self._home(node)
        home.mkdir(parents=True, exist_ok=True)
        (home / "server.properties").write_text(self._properties(node), "utf-8")
        voters = ",".join(f"{each.id}@{HOST}:{each.controller_port}:{each.directory_id}" for each in self.state.nodes)
        command = [
            "java",
            *_JAVA_OPTIONS,
            "-cp",
            f"{jars()}/*",
            "kafka.tools.StorageTool",
            "format",
            "-t",
            self.state.cluster_id,
        ]
        command += ["-c", "server.properties", "--initial-controllers", voters]
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, timeout=START_TIMEOUT_S)
        if done.returncode != 0:
            raise BrokerUnavailable(f"node {node.id} cannot be formatted", hint=(done.stdout + done.stderr).strip()[-500:])

    def _properties(self, node: Node) -> str:
        replication = len(self.state.nodes)
        in_sync = max(1, replication - 1)
        controllers = ",".join(f"{HOST}:{each.controller_port}" for each in self.state.nodes)
        lines = {
            "process.roles": "broker,controller",
            "node.id": node.id,
            "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
            "controller.listener.names": "CONTROLLER",
            "controller.quorum.bootstrap.servers": controllers,
            "log.dirs": "data",
            "auto.create.topics.enable": "false",
            "default.replication.factor": replication,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replication,
            "offsets.topic.num.partitions": 1,
            "transaction.state.log.replication.factor": replication,
            "transaction.state.log.min.isr": in_sync,
            "transaction.state.log.num.partitions": 1,
            "group.initial.rebalance.delay.ms": 0,
            "group.min.session.timeout.ms": 500,
            "log.retention.ms": -1,
            "num.network.threads": 2,
            "num.io.threads": 4,
            "log.cleaner.dedupe.buffer.size": 4 << 20,
        }
        return "".join(f"{name}={value}\n" for name, value in lines.items())

    def _is_running(self, node: Node) -> bool:
        process = self._processes.get(node.id)
        if process is not None:
            return process.poll() is None
        return node.pid > 0 and _is_ours(node.pid, self._home(node))

    def _signal(self, node: Node, number: signal.Signals) -> None:
        if self._is_running(node):
            with contextlib.suppress(ProcessLookupError):
                os.kill(node.pid, number)

    def _wait_gone(self, node: Node, deadline_s: float) -> None:
        while self._is_running(node):
            if time.monotonic() > deadline_s:
                self._signal(node, signal.SIGKILL)
            time.sleep(POLL_S)
        self._processes.pop(node.id, None)


_JAVA_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",  # quick to start; nobody measures the broker itself here
    "-Dorg.apache.logging.log4j.level=WARN",
)


def _end_with_parent() -> None:
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _is_ours(pid: int, home: Path) -> bool:
    """Does this process id still belong to the node? It may have been given to somebody else since."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cwd").resolve() == home.resolve()
    if _PROC.exists():
        return False
    with contextlib.suppress(OSError):
        os.kill(pid, 0)
        return True
    return False


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]


def _kafka_uuid() -> str:
    """A random id as Kafka writes them: 22 characters of base64, never one that begins with a dash."""
    while (text := base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")).startswith("-"):
        pass
    return text


def _nodes_ready(servers: str) -> int:
    """How many nodes the metadata names, 0 as long as it names no controller."""

    async def ask() -> int:
        client = AIOKafkaClient(bootstrap_servers=servers, request_timeout_ms=2000)
        try:
            await client.bootstrap()
            return len(client.cluster.brokers()) if client.cluster.controller is not None else 0
        except (KafkaError, OSError, TimeoutError):
            return 0
        finally:
            await client.close()

    return asyncio.run(ask())


def default_folder() -> Path:
    """Where the command keeps its cluster when no folder is named."""
    return Path(platformdirs.user_data_dir("cledger", appauthor=False)) / "kafka-broker"


def main(arguments: list[str] | None = None) -> int:
    """The command. `start` and `run` print the address on stdout."""
    parser = argparse.ArgumentParser(prog="python -m ops.kafka.broker", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("action", choices=["start", "stop", "run"], help="run stays in the foreground and stops with it")
    parser.add_argument("--folder", type=Path, default=default_folder(), help="where the cluster's files lie")
    parser.add_argument("--nodes", type=int, default=1, help="of a new cluster, 1 to 3")
    parser.add_argument("--port", type=int, help=f"of the first node of a new cluster; default: {PORT}, or a free one")
    options = parser.parse_args(arguments)
    logging.getLogger().addHandler(logging.NullHandler())  # each look at a node that is not up yet is an error to the client
    try:
        if options.action == "stop":
            Cluster.load(options.folder).stop()
            return 0
        exists = (options.folder / STATE).exists()
        if exists:
            cluster = Cluster.load(options.folder)
            if options.port is not None and not cluster.servers.endswith(f":{options.port}"):
                raise UsageError(
                    f"{options.folder} holds a cluster at {cluster.servers}, whose port stays what it is",
                    hint="Leave out --port, or make another cluster: --folder NEW",
                )
        else:
            port = options.port if options.port is not None else PORT if _is_free(PORT) else 0
            cluster = Cluster.make(options.folder, options.nodes, port=port)
        cluster.start()
        print(f"kafka://{cluster.servers}", flush=True)
        if options.action == "run":
            _until_told(cluster)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def _until_told(cluster: Cluster) -> None:
    told = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, told)
    try:
        signal.sigwait(told)
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
