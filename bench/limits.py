"""Benchmarks whose answers have to come within a limit: their options and their exit status."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.lakes import LAKE_HELP, benchmark_lake
from losslake.lake.lake import Lake


def exit_status(
    run: Callable[[Lake, int, float], bool], description: str | None, arguments: Sequence[str] | None
) -> int:
    """Return 0 if a benchmark finds all answers within the limit, else 1.

    run: takes the lake, how many questions of each kind to ask, and the limit in milliseconds.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lake", type=Path, help=LAKE_HELP)
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--limit", type=float, default=100.0, help="ms; default: %(default)s")
    options = parser.parse_args(arguments)
    with benchmark_lake(options.lake) as lake:
        return 0 if run(lake, options.questions, options.limit) else 1
