"""Many clients at once: times of the service's calls on loopback, and whether a charge was lost.

Run as ``python -m benchmarks.service_load [--seconds 60] [--clients 20] [--reads]``; it starts its own servers, SQLite
first, then PostgreSQL. With --reads clients only read. Clients and server share the machine.
"""

import argparse
import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from tests.servers import running_postgres

from discreet.workflow.demo import METADATA
from discreet_service.access.roles import Principal, Role
from discreet_service.context import open_context
from discreet_service.schemas import AllotmentIn, CapIn, DatasetIn, KeyIn, MembersIn, Place, Source, UserIn
from discreet_service.settings import read_settings
from discreet_service.setup import set_up
from discreet_service.use_cases import datasets, people

EPSILON = 1e-6
"""Of a request: so small that the cap holds them all, and different each time."""


def furnish(file: Path, n_clients: int) -> dict[str, str]:
    """Register the demonstration's table and give a curator and an analyst for each client keys."""
    with open_context(read_settings(file)) as context:
        keys = {}
        analysts = [f"ann{number}" for number in range(n_clients)]
        for name, role in (("carl", Role.CURATOR), *((name, Role.ANALYST) for name in analysts)):
            people.add_account(context, "setup", UserIn(name=name, role=role))
            keys[name] = str(people.make_key(context, Principal(name, role), KeyIn(label="load")).key)
        carl = Principal("carl", Role.CURATOR)
        source = Source(data=Place(root="tables", path="rand_hie.parquet"))
        datasets.register(context, carl, DatasetIn(metadata=METADATA.to_dict(), source=source))
        datasets.grant(context, carl, METADATA.dataset, CapIn(epsilon=100))
        people.set_members(context, carl, "load", MembersIn(members=analysts))
        datasets.allot(context, carl, METADATA.dataset, "load", AllotmentIn(epsilon=100))
    return keys


@contextmanager
def serving(file: Path, port: int) -> Any:
    """Run `discreet serve` until the end of the block."""
    command = [sys.executable, "-m", "discreet", "serve", "--config", str(file), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_ready(port)
            yield process.pid
        finally:
            process.terminate()


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far, of its threads together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def wait_until_ready(port: int) -> None:
    """Return when the server answers; its port is taken before that."""
    for _ in range(100):
        with suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/v1/health")
            if connection.getresponse().status == 200:
                return
        time.sleep(0.1)


class Client:
    """One client: reads the budget, asks, and has every second request approved; it withdraws the others."""

    def __init__(
        self, number: int, port: int, keys: dict[str, str], times: dict[str, list[float]], only_reads: bool
    ) -> None:
        self.number, self.keys, self.times, self.only_reads = number, keys, times, only_reads
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.charged, self.refused = 0, 0

    def call(self, name: str, who: str, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Make a call and take its time."""
        headers = {"Authorization": f"Bearer {self.keys[who]}", "Content-Type": "application/json"}
        headers["Idempotency-Key"] = f"{self.number}-{len(self.times[name])}-{time.monotonic_ns()}"
        start = time.perf_counter()
        self.connection.request(method, f"/v1{path}", None if body is None else json.dumps(body), headers)
        answer = self.connection.getresponse()
        read = answer.read()
        self.times[name].append(time.perf_counter() - start)
        return answer.status, json.loads(read)

    def run(self, until: float) -> None:
        """Call until it is time to stop."""
        n, me = 0, f"ann{self.number}"
        while time.monotonic() < until:
            n += 1
            self.call("budget", me, "GET", f"/datasets/{METADATA.dataset}/budget")
            if self.only_reads:
                continue
            parameters = {"epsilon": EPSILON * (1 + (self.number * 100_000 + n) * 1e-7)}
            asked = {"dataset": METADATA.dataset, "project": "load", "method": "pcls", "target": "mdvis"}
            status, made = self.call("request", me, "POST", "/requests", asked | {"parameters": parameters})
            assert status == 201, made
            door = f"/requests/{made['id']}"
            if n % 2:
                status, made = self.call("withdrawal", me, "POST", f"{door}/withdrawal")
                assert status == 200, made
                continue
            status, _ = self.call("approval", "carl", "POST", f"{door}/approval", {"sha256": made["sha256"]})
            self.charged, self.refused = self.charged + (status == 200), self.refused + (status != 200)


def load(file: Path, n_clients: int, seconds: float, only_reads: bool) -> list[list[str]]:
    """Return a row for each kind of call."""
    keys = furnish(file, n_clients)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    all_times: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(n_clients)]
    with serving(file, port) as pid:
        clients = [Client(number, port, keys, times, only_reads) for number, times in enumerate(all_times)]
        until, used = time.monotonic() + seconds, cpu_seconds(pid)
        threads = [threading.Thread(target=client.run, args=(until,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        used = cpu_seconds(pid) - used
    n_calls = sum(len(each) for times in all_times for each in times.values())
    charged = sum(client.charged for client in clients)
    with open_context(read_settings(file)) as context:
        reserved = sum(entry.kind == "reserve" for entry in context.ledger.history())
        context.ledger.verify()
    rows = []
    for name in ("budget",) if only_reads else ("budget", "request", "withdrawal", "approval"):
        times = np.concatenate([times[name] for times in all_times])
        quantiles = [f"{1000 * value:.0f}" for value in (*np.quantile(times, [0.5, 0.99]), times.max())]
        told = f"{charged} answered, {reserved} in the ledger" if name == "approval" else ""
        rows.append([name, f"{len(times) / seconds:.0f}", *quantiles, f"{1000 * used / n_calls:.1f}", told])
    return rows


def main() -> None:
    """Print a table for each database."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--clients", type=int, default=20)
    parser.add_argument("--reads", action="store_true")
    given = parser.parse_args()
    for name, server in (("SQLite", nullcontext(None)), ("PostgreSQL", running_postgres(on_disk=True))):
        with tempfile.TemporaryDirectory() as folder, server as fresh:
            file = set_up(Path(folder) / "office", is_demo=True).file
            text = file.read_text().replace("slot_s: 60", "slot_s: 60\nrate_per_minute: 10000000")
            if fresh is not None:
                text = text.replace("database: discreet.sqlite", f"database: {fresh()}")
            file.write_text(text)
            rows = load(file, given.clients, given.seconds, given.reads)
        table = Table(
            title=f"{name}: {given.clients} clients, {given.seconds:.0f} s (asked: 300 reads a second and client, "
            "p99 below 50 ms at 20 clients)",
            title_justify="left",
        )
        for column in ("call", "a second", "p50 ms", "p99 ms", "max ms", "server's CPU ms a call", "charges"):
            table.add_column(column, justify="right")
        for row in rows:
            table.add_row(*row)
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
