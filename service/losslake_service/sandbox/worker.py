"""The worker process: loads DuckDB, confines itself to one release, and runs statements one by one."""

from __future__ import annotations

import os
import platform
import signal
import socket
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from losslake.output.imports import without_pandas
from losslake_service.sandbox.admission import admit, allowed_functions
from losslake_service.sandbox.channel import MAX_REQUEST_BYTES, ChannelClosed, receive, send
from losslake_service.sandbox.confinement import MEGABYTE, address_space, confine, limit_cpu_seconds, limit_memory
from losslake_service.sandbox.errors import INTERNAL, SqlLimits, SqlProblem
from losslake_service.sandbox.kernel_filters import allowed_calls
from losslake_service.sandbox.statement import Admission, OpenRelease, WorkerDamaged, warm_up, warm_up_stored_files
from losslake_service.sandbox.stored_data import DataFileClient, LocalFiles


def main(admit: Admission) -> None:
    """Serve requests on the socket at standard input until it is closed."""
    channel = socket.socket(fileno=os.dup(0))
    channel.set_inheritable(False)
    # Empty input and output. Standard error is a pipe that the service reads when this process has ended: a full one
    # must stop nothing.
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)
    os.set_blocking(2, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    os.environ.clear()
    without_pandas()
    allowed_functions()
    allowed_calls(platform.machine())
    warm_up()
    try:
        _serve(channel, admit)
    except ChannelClosed:
        # The service has closed the channel.
        return


def _serve(channel: socket.socket, admit: Admission) -> None:
    opening, channels = receive(channel, MAX_REQUEST_BYTES)
    limits = SqlLimits(**opening["limits"])
    serving_file = Path(opening["serving_file"])
    data_files = DataFileClient(socket.socket(fileno=channels[0])) if channels else LocalFiles(**opening["data_files"])
    statm = os.open("/proc/self/statm", os.O_RDONLY) if sys.platform == "linux" else None
    try:
        if channels:
            warm_up_stored_files()
        confinement = confine(limits, serving_file, data_files.paths() if isinstance(data_files, LocalFiles) else [])
        if isinstance(data_files, LocalFiles) and data_files.names is None:
            confinement.missing.append(
                "files one by one: the release has too many, so all files in its folder are readable"
            )
        release = OpenRelease(limits, serving_file, data_files, admit)
    except Exception as error:  # noqa: BLE001  # the service logs any error
        send(channel, {"failed": f"{type(error).__name__}: {error}"[:1000]})
        return
    send(channel, {"in_force": confinement.in_force, "missing": confinement.missing})
    initial = address_space(statm) if statm is not None else 0
    while True:
        job, files = receive(channel, MAX_REQUEST_BYTES)
        if not files:
            return
        limit_cpu_seconds(limits.seconds * (limits.threads + 1))
        if statm is not None:
            limit_memory(limits.memory_mb, statm)
        reply = _reply(release, job, *files)
        for file in files:
            os.close(file)
        grown = (address_space(statm) if statm is not None else 0) - initial
        if grown > limits.memory_mb * MEGABYTE / 2:
            reply["worn"] = True
        send(channel, reply)


def _reply(release: OpenRelease, job: dict[str, Any], spooled: int, file: int) -> dict[str, Any]:
    try:
        result = release.run(job, spooled, file)
    except WorkerDamaged as suspect:
        return _problem_reply(suspect.problem) | {"worn": True}
    except SqlProblem as problem:
        return _problem_reply(problem)
    except Exception:  # noqa: BLE001  # the service logs any error
        return {"problem": INTERNAL, "detail": traceback.format_exc(), "worn": True}
    return {"rows": result.rows, "truncated": result.truncated, "digest": result.digest}


def _problem_reply(problem: SqlProblem) -> dict[str, Any]:
    return {"problem": problem.kind, "detail": problem.detail, "line": problem.line, "column": problem.column}


if __name__ == "__main__":
    main(admit)
