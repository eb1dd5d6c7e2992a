"""The process that runs strangers' statements: loads DuckDB, is confined to one release, then answers one by one."""

from __future__ import annotations

import os
import signal
import socket
import sys
import warnings
from pathlib import Path
from typing import Any

from losslake_service.sandbox.admission import admit, allowed_functions
from losslake_service.sandbox.channel import LONGEST_REQUEST, ChannelClosed, receive, send
from losslake_service.sandbox.confinement import MEGABYTE, address_space, allow_processor_seconds, confine
from losslake_service.sandbox.errors import SqlLimits, SqlProblem
from losslake_service.sandbox.kernel_filters import refused_calls
from losslake_service.sandbox.statement import Admission, OpenRelease, Suspect, warm_up, warm_up_stored_files
from losslake_service.sandbox.stored_data import AsksForFiles

_SHARE_OF_MEMORY_WORN = 0.5


def main(admit: Admission) -> None:
    """Answer over the socket that is standard input until it is closed."""
    channel = socket.socket(fileno=os.dup(0))
    channel.set_inheritable(False)
    # What a statement might print goes nowhere, and reading finds the end.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    os.environ.clear()
    allowed_functions()
    refused_calls()
    warm_up()
    try:
        _answer(channel, admit)
    except ChannelClosed:
        # The service has no more use for this worker.
        return


def _answer(channel: socket.socket, admit: Admission) -> None:
    opening, files = receive(channel, LONGEST_REQUEST)
    limits = SqlLimits(**opening["limits"])
    serving_file = Path(opening["serving_file"])
    root = Path(opening["data_files_root"]) if files is None else None
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
    try:
        if files is not None:
            warm_up_stored_files()
        confinement = confine(limits, serving_file, root)
        release = OpenRelease(limits, serving_file, root or AsksForFiles(socket.socket(fileno=files)), admit)
    except Exception as error:  # noqa: BLE001  # whatever it is, the service has to say it in its log
        send(channel, {"failed": f"{type(error).__name__}: {error}"[:1000]})
        return
    send(channel, {"in_force": confinement.in_force, "missing": confinement.missing})
    at_first = address_space(statm) if statm is not None else 0
    while True:
        asked, file = receive(channel, LONGEST_REQUEST)
        if file is None:
            return
        allow_processor_seconds(limits.seconds * (limits.threads + 1))
        reply = _reply(release, asked, file)
        os.close(file)
        grown = (address_space(statm) if statm is not None else 0) - at_first
        if grown > limits.memory_mb * MEGABYTE * _SHARE_OF_MEMORY_WORN:
            reply["worn"] = True
        send(channel, reply)


def _reply(release: OpenRelease, asked: dict[str, Any], file: int) -> dict[str, Any]:
    try:
        done = release.run(asked["statement"], asked["parameters"], file, asked["most_rows"])
    except Suspect as suspect:
        return _told(suspect.problem) | {"worn": True}
    except SqlProblem as problem:
        return _told(problem)
    return {"rows": done.rows, "size": done.size, "truncated": done.truncated, "digest": done.digest}


def _told(problem: SqlProblem) -> dict[str, Any]:
    return {"problem": problem.kind, "detail": problem.detail, "line": problem.line, "column": problem.column}


if __name__ == "__main__":
    main(admit)
