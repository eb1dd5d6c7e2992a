"""The process that renders figures: one after the other, over the socket that is its standard input."""

from __future__ import annotations

import os
import signal
import socket

from losslake.figures.messages import FAILED, RENDERED, Message, MessageLost, receive, send
from losslake.figures.rendering import rendered

# Figures wait for answers, never the other way round.
_NICENESS = 10


def main() -> None:
    """Render until the socket is closed."""
    channel = socket.socket(fileno=os.dup(0))
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(_NICENESS)
    while True:
        try:
            asked = receive(channel)
        except MessageLost:
            return
        try:
            reply = Message(RENDERED, asked.scale, rendered(asked.body, asked.kind, asked.scale))
        except Exception as error:  # noqa: BLE001  # whatever it is, the service has to say it in its log
            reply = Message(FAILED, asked.scale, f"{type(error).__name__}: {error}"[:1000].encode())
        send(channel, reply)


if __name__ == "__main__":
    main()
