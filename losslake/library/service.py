"""Answers of a service, by its REST interface."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import httpx
import pyarrow as pa

from losslake.client.client import Client, RemoteError, redact
from losslake.client.service import Service

ARROW = "application/vnd.apache.arrow.stream"
_SECONDS_TO_WAIT = 600


class ServiceSource:
    """The releases of a service. url: its base URL."""

    def __init__(self, url: str) -> None:
        self._client = Client(read_timeout_s=_SECONDS_TO_WAIT)
        self._service = Service(self._client, url)
        self.name = self._service.name

    def answer(self, path: str, parameters: Mapping[str, Any], release: int | None) -> pa.Table:
        """Return an answer; raises RemoteError with what the service says."""
        url = self._url(path, {**parameters, "release": release, "format": "arrow"})
        return self._client.retries.run(lambda: self._table("GET", url, None))

    def figure(self, kind: str, parameters: Mapping[str, Any], ending: str) -> bytes:
        """Return a figure; raises RemoteError."""
        url = self._url(f"/v1/figures/{kind}.{ending}", parameters)
        return self._client.retries.run(lambda: self._bytes(url))

    def sql(self, statement: str, parameters: Any, release: int | None) -> pa.Table:
        """Return the result of a statement; raises RemoteError, also for one that the service cut short."""
        request = {"sql": statement, "release": release, "parameters": parameters}
        body = {name: value for name, value in request.items() if value is not None}
        url = self._url("/v1/sql", {"format": "arrow"})
        return self._client.retries.run(lambda: self._table("POST", url, body))

    def _url(self, path: str, parameters: Mapping[str, Any]) -> httpx.URL:
        return self._service.url(path.removeprefix("/")).copy_with(params=list(pairs(parameters)))

    def _table(self, method: str, url: httpx.URL, body: object) -> pa.Table:
        with self._client.stream(method, url, {"Accept": ARROW}, body) as response:
            if not response.headers.get("content-type", "").startswith(ARROW):
                raise RemoteError(f"{redact(url)} does not return Arrow: is it a LossLake service?")
            if limit := response.headers.get("losslake-truncated"):
                raise RemoteError(f"the result exceeds the service's limit of {limit}: ask for less, or use LIMIT")
            data = response.read()
        try:
            return pa.ipc.open_stream(data).read_all()
        except (pa.ArrowException, OSError) as error:
            raise RemoteError(f"{redact(url)}: the response was cut off ({error}): ask again") from None

    def _bytes(self, url: httpx.URL) -> bytes:
        with self._client.stream("GET", url) as response:
            return response.read()


def pairs(parameters: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield parameters as a query has them: those that are lists once for each value, None not at all."""
    for name, value in parameters.items():
        values: Iterable[Any] = value if isinstance(value, list) else [] if value is None else [value]
        for each in values:
            yield name, each if isinstance(each, str) else json.dumps(each)
