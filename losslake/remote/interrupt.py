"""Ctrl-C while the main thread is where Python can't hear it, as in a decompressor that waits for the network."""

from __future__ import annotations

import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def heard_elsewhere(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` from a thread as soon as Ctrl-C is pressed; only for the main thread, a no-op in others."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)

    def watch() -> None:
        while number := ours.recv(1):
            if number[0] == signal.SIGINT:
                stop()

    watcher = threading.Thread(target=watch, name="ctrl-c", daemon=True)
    watcher.start()
    before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        theirs.close()
        watcher.join()
        ours.close()
