"""The command that trains the studies: `python -m studies --output FILE.tar.bz2`."""

import argparse
from dataclasses import replace
from pathlib import Path

from studies.archive import write_archive
from studies.running import Task, run_studies
from studies.workloads import WORKLOADS_FILE, load_workloads

DEFAULT_SEED = 20190807


def parser() -> argparse.ArgumentParser:
    """Return the flags of the command."""
    flags = argparse.ArgumentParser(prog="python -m studies", description="Train the bundled batch-size studies.")
    flags.add_argument("--output", type=Path, required=True, help="archive to write, ending in .tar.bz2")
    flags.add_argument("--workload", action="append", help="only this dataset/model/optimizer (may be repeated)")
    flags.add_argument("--batch-size", action="append", type=int, help="only this batch size (may be repeated)")
    flags.add_argument("--trials", type=int, help="trials per study, best a power of two (default: as in the file)")
    flags.add_argument("--seed", type=int, default=DEFAULT_SEED, help=f"default {DEFAULT_SEED}")
    flags.add_argument("--processes", type=int, default=1, help="studies trained at the same time; default 1")
    flags.add_argument("--workloads", type=Path, default=WORKLOADS_FILE, help="TOML file that says what to train")
    return flags


def chosen_tasks(arguments: argparse.Namespace) -> list[Task]:
    """Return (workload, batch size, seed) of every requested study, in the order of the archive."""
    workloads = load_workloads(arguments.workloads)
    unknown = set(arguments.workload or ()) - {workload.path for workload in workloads}
    if unknown:
        raise SystemExit(f"unknown workload {', '.join(sorted(unknown))}; see {arguments.workloads}")
    tasks = []
    for workload in workloads:
        if arguments.workload is None or workload.path in arguments.workload:
            sized = replace(workload, trials=arguments.trials or workload.trials)
            tasks += [(sized, size, arguments.seed) for size in arguments.batch_size or workload.batch_sizes]
    return tasks


if __name__ == "__main__":
    options = parser().parse_args()
    write_archive(options.output, run_studies(chosen_tasks(options), options.processes))
