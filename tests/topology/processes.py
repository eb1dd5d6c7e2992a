"""The processes of docker-compose.yml without containers: nginx, replicas, PostgreSQL, a store that fails at times."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.failed_workers import failures_in
from tests.forked import Forked, start_command
from tests.servers.failing_proxy import FailingProxy, failing_proxy
from tests.servers.nginx import nginx_server
from tests.servers.postgresql import PostgreSQL, postgresql_server
from tests.servers.processes import ADDRESS, free_port, wait_until
from tests.servers.s3 import S3
from tests.topology.composition import PRODUCTION, read
from tests.topology.nginx_configuration import rendered

SECONDS = 90


@dataclass
class Replica:
    """A `losslake serve`, and the times it was started."""

    port: int
    folder: Path
    starts: int = 0
    processes: list[Forked] = field(default_factory=list)

    def start(self) -> None:
        """Start it on its port, as docker-compose.yml does; it isn't ready yet."""
        self.starts += 1
        command = read(PRODUCTION)["services"]["losslake"]["command"]
        told = {"0.0.0.0": ADDRESS, "8000": str(self.port)}
        log = self.folder / f"replica-{self.port}-{self.starts}.log"
        arguments = [told.get(argument, argument) for argument in command]
        self.processes.append(start_command(arguments, log, may_start_others=True))

    def kill(self) -> None:
        """End it without any farewell."""
        process = self.processes.pop()
        process.kill()
        process.wait(SECONDS)

    def stop(self) -> None:
        """Ask it to end."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(SECONDS)

    def get(self, path: str) -> httpx.Response:
        """What it answers itself."""
        return httpx.get(f"http://{ADDRESS}:{self.port}{path}", timeout=SECONDS)

    def is_ready(self) -> bool:
        """Whether it answers from a release."""
        if not self.processes or not self.processes[-1].is_running():
            return False
        try:
            return self.get("/readyz").status_code == 200
        except httpx.TransportError:
            return False


@dataclass(frozen=True)
class Topology:
    """All that runs; lake: its two URLs."""

    folder: Path
    lake: str
    database: PostgreSQL
    store: FailingProxy
    replicas: tuple[Replica, Replica]
    url: str

    def start_ingest(self, name: str, *archives: Path) -> Forked:
        """`losslake ingest` in a process of its own, which complains into NAME.log."""
        return start_command(["ingest", *archives, "--lake", self.lake], self.folder / f"{name}.log")

    def complaint(self, name: str) -> str:
        """What an ingest has complained of."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def start_replicas(self) -> None:
        """Start both, and return when they are ready."""
        for replica in self.replicas:
            replica.start()
        wait_until(lambda: all(replica.is_ready() for replica in self.replicas), "both replicas are ready", SECONDS)


@contextmanager
def topology(folder: Path, s3: S3, seed: int) -> Iterator[Topology]:
    """Start nginx, PostgreSQL and the proxy before the store, which doesn't fail yet; the replicas are to be started.

    The environment of this process becomes what the containers have.
    """
    before = dict(os.environ)
    with ExitStack() as stack:
        stack.callback(_restore, before)
        database = stack.enter_context(postgresql_server())
        store = stack.enter_context(failing_proxy(s3.port, seed=seed))
        lake = f"{database.new_database()} {s3.new_warehouse()}"
        os.environ |= s3.environment(store.url)
        os.environ |= {
            "LOSSLAKE_LAKE": lake,
            "LOSSLAKE_CACHE": str(folder / "cache"),
            "LOSSLAKE_TRUSTED_PROXIES": ADDRESS,
            "LOSSLAKE_DATA_DELIVERY": read(PRODUCTION)["services"]["losslake"]["environment"]["LOSSLAKE_DATA_DELIVERY"],
            "LOSSLAKE_RATE_LIMIT": read(PRODUCTION)["services"]["losslake"]["environment"]["LOSSLAKE_RATE_LIMIT"],
            "LOSSLAKE_LOG_FORMAT": "json",
            "LOSSLAKE_SQL_WORKERS": "1",
        }
        replicas = Replica(free_port(), folder), Replica(free_port(), folder)
        port = free_port()
        configuration = rendered(folder, port, [replica.port for replica in replicas], store.port)
        nginx = stack.enter_context(nginx_server(configuration, port))
        stack.callback(_check_logs, folder)
        for replica in replicas:
            stack.callback(replica.stop)
        yield Topology(folder, lake, database, store, replicas, nginx.url)


def _check_logs(folder: Path) -> None:
    """Raise AssertionError if a worker for SQL of a replica failed."""
    failures = [line for log in folder.glob("replica-*.log") for line in failures_in(log.read_text().splitlines())]
    assert not failures, failures


def _restore(environment: dict[str, str]) -> None:
    os.environ.clear()
    os.environ.update(environment)
