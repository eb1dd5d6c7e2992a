"""An object store of a test's own, by the S3 protocol, with one bucket; what is in it ends with it."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.servers.processes import ADDRESS, end, free_port, wait_until_listening

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class S3:
    """A store that runs; who asks it anything has to sign with the key."""

    port: int
    bucket: str = "losslake"
    region: str = "us-east-1"
    access_key: str = "LOSSLAKETESTS"
    secret_key: str = "not/secret+at-all"

    @property
    def endpoint(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    def environment(self, endpoint: str | None = None) -> Mapping[str, str]:
        """The usual variables for a client, which may have to ask somewhere in front of the store."""
        return {
            "AWS_ACCESS_KEY_ID": self.access_key,
            "AWS_SECRET_ACCESS_KEY": self.secret_key,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ENDPOINT_URL": endpoint or self.endpoint,
        }

    def let_in(self, changes: pytest.MonkeyPatch, cache: Path, endpoint: str | None = None) -> None:
        """Make this process a client of the store, which keeps what it has read in a folder of its own."""
        for name, value in {**self.environment(endpoint), "LOSSLAKE_CACHE": str(cache)}.items():
            changes.setenv(name, value)

    def new_warehouse(self) -> str:
        """The URL of a place in the bucket where nothing is yet."""
        return f"s3://{self.bucket}/{uuid.uuid4().hex[:12]}"


@contextmanager
def s3_server(folder: Path) -> Iterator[S3]:
    """Start a new store and end it; what it complains of goes into the folder. Skips the test where moto is missing."""
    if importlib.util.find_spec("moto") is None:
        pytest.skip("moto isn't installed: make setup")
    store = S3(free_port())
    command = [sys.executable, "-m", "tests.servers.s3_process"]
    log = folder / "s3.log"
    with log.open("wb") as complaints:
        process = subprocess.Popen(
            [*command, str(store.port), store.bucket, store.access_key, store.secret_key],
            cwd=_ROOT,
            stdin=subprocess.DEVNULL,
            stdout=complaints,
            stderr=complaints,
        )
    try:
        wait_until_listening(process, store.port, log)
        yield store
    finally:
        end(process)
