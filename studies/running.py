"""Running of studies, one or several at a time: the files have the same order and the same bytes."""

import multiprocessing
import sys
import time
from collections.abc import Iterator

from threadpoolctl import threadpool_limits

from studies.archive import File, study_files
from studies.digits import load_splits
from studies.training import metric_names, train_study
from studies.workloads import Workload

Task = tuple[Workload, int, int]
"""Workload, batch size, seed."""


def run_study(task: Task) -> list[File]:
    """Train one study on one thread, so that results don't depend on the number of cores, and print a line."""
    workload, batch_size, seed = task
    started, splits = time.perf_counter(), load_splits()
    with threadpool_limits(1):
        trials = train_study(workload, batch_size, splits, seed)
    complete = sum(trial.status == "COMPLETE" for trial in trials)
    seconds = time.perf_counter() - started
    print(f"{workload.path}/{batch_size}: {complete} of {len(trials)} complete, {seconds:.1f} s", file=sys.stderr)
    return study_files(workload, batch_size, metric_names(splits), trials)


def run_studies(tasks: list[Task], processes: int) -> Iterator[File]:
    """Yield the files of all studies, in the order of the tasks whatever the number of processes."""
    if processes == 1:
        for task in tasks:
            yield from run_study(task)
        return
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        for files in pool.imap(run_study, tasks):
            yield from files
