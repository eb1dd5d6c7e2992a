"""Connections whose clients leave, or whose service stops: all of their requests are told, not only the last."""

from __future__ import annotations

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

# Requests that may wait for their turn before no more is read, and with it the news that the client has left.
_MOST_WAITING = 16
ON_SHUTDOWN = "on_shutdown"
"""The name in the state of a request of a function that ends its response: uvicorn waits for one that goes on."""


class Connection(HttpToolsProtocol):
    """uvicorn's protocol of a connection, which tells all unfinished requests when the client has left.

    uvicorn tells only the last one received, and reads nothing while a request waits for its turn. If a client had sent
    another request meanwhile, its statement ran on, and its response was written to a closed connection, which was
    logged as an internal error.
    """

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        self._unfinished: list[RequestResponseCycle] = []
        super().connection_made(transport)

    def on_headers_complete(self) -> None:
        """Begin a request."""
        super().on_headers_complete()
        self._unfinished = [request for request in self._unfinished if not request.response_complete]
        self._unfinished.append(self.cycle)
        if 0 < len(self.pipeline) <= _MOST_WAITING:
            self.flow.resume_reading()

    def shutdown(self) -> None:
        """Have responses end that would go on, and end the connection after them."""
        for request in self._unfinished:
            end = request.scope.get("state", {}).get(ON_SHUTDOWN)
            if end is not None and not request.response_complete:
                end()
        super().shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the unfinished requests that their client has left."""
        for request in self._unfinished:
            if not request.response_complete:
                request.disconnected = True
                request.message_event.set()
        super().connection_lost(exc)
