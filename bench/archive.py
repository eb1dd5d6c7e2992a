"""A synthetic archive of the shape of the published one: `python -m bench.archive OUTPUT.tar.bz2 --scale 1.0`.

Scale 1.0 has the published studies with their numbers of complete, incomplete and infeasible trials, and 71,638,836
evaluations; another scale has that part of the trials in every study. Steps between evaluations differ, error rates are
multiples of one over the size of their split, cross-entropies have six digits, some trials diverge. What the archive
was made from lies beside it, OUTPUT.truth.jsonl: the best trial of each study and its steps to the goal.

The same seed gives the same bytes, whatever the number of processes. Each study becomes a bzip2 stream of its own, and
bzip2 streams one after the other are a bzip2 file; a process holds one study at a time.
"""

from __future__ import annotations

import argparse
import bz2
import io
import os
import tarfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from bench.curves import Curves, curves, drawn_trials
from bench.metadata import metadata_json, study_json
from bench.plan import Scale, StudyPlan, plans
from bench.truth import StudyTruth, to_line, truth_path

END_OF_ARCHIVE = bytes(1024)
NEWLINE = ord("\n")
_BLOCK = tarfile.BLOCKSIZE
_AS_NUMBERS = pa.csv.WriteOptions(include_header=False, quoting_style="none", batch_size=1 << 20)


@dataclass(frozen=True)
class CompressedStudy:
    """A study as tar entries in one bzip2 stream."""

    stream: bytes
    truth: StudyTruth


def compress_study(plan: StudyPlan) -> CompressedStudy:
    """Make a study and compress it."""
    compressor, truths = bz2.BZ2Compressor(), list[StudyTruth]()
    parts = [compressor.compress(piece) for piece in _pieces(plan, truths)]
    return CompressedStudy(b"".join([*parts, compressor.flush()]), truths[0])


def _pieces(plan: StudyPlan, truths: list[StudyTruth]) -> Iterator[bytes]:
    """Yield the tar entries of a study, some trials at a time, and add its truth to `truths`."""
    rng = np.random.default_rng(plan.seed)
    trials = drawn_trials(plan, rng)
    metadata = metadata_json(plan, trials, rng)
    yield b"".join(_entry(f"{plan.folder}/study.json", study_json(plan)))
    for some in curves(plan, trials, rng):
        parts: list[bytes] = []
        for row, text in zip(some.trials, csv_texts(some), strict=True):
            parts += _entry(f"{plan.folder}/{row + 1}/metadata.json", metadata[row])
            parts += _entry(f"{plan.folder}/{row + 1}/measurements.csv", text)
        yield b"".join(parts)
        if plan.best in some.trials:
            truths.append(_truth(plan, some))


def csv_texts(some: Curves) -> Iterator[bytes]:
    """Yield the CSV text of each trial."""
    buffer = io.BytesIO()
    pa.csv.write_csv(pa.table({"step": some.steps} | some.values), buffer, _AS_NUMBERS)
    text = buffer.getvalue()
    line_ends = np.flatnonzero(np.frombuffer(text, np.uint8) == NEWLINE)
    header = ",".join(["step", *some.values]).encode() + b"\n"
    begin = 0
    for end in (line_ends[some.ends - 1] + 1).tolist():
        yield header + text[begin:end]
        begin = end


def _entry(path: str, content: bytes) -> Sequence[bytes]:
    """Return a file as a tar entry: its header, and its bytes padded to a whole block."""
    entry = tarfile.TarInfo(path)
    entry.size = len(content)
    return entry.tobuf(tarfile.USTAR_FORMAT), content, bytes(-len(content) % _BLOCK)


def _truth(plan: StudyPlan, some: Curves) -> StudyTruth:
    shape, metric = plan.workload, plan.workload.metrics.goal_metric
    end = int(some.ends[plan.best - some.trials.start])
    begin = end - int(plan.rows[plan.best])
    row = begin + int(np.searchsorted(some.steps[begin:end], plan.steps_to_goal))
    complete, incomplete, infeasible = np.bincount(plan.status, minlength=3).tolist()
    return StudyTruth(
        workload=f"{plan.collection}/{shape.path}",
        batch_size=plan.batch_size,
        metric=metric,
        goal=shape.goal,
        steps=int(some.steps[row]),
        trial_id=plan.best + 1,
        value=float(some.values[metric][row]),
        previous_step=int(some.steps[row - 1]),
        least_steps=shape.least_steps,
        critical_batch_size=shape.critical_batch_size,
        complete=complete,
        incomplete=incomplete,
        infeasible=infeasible,
        evaluations=int(plan.rows.sum()),
    )


def write_archive(path: Path, scale: Scale, processes: int | None = None) -> None:
    """Write an archive and its truth with few studies in memory at a time. Default: a process per core."""
    write_studies(path, plans(scale), processes or os.cpu_count() or 1)


def write_studies(path: Path, studies: Sequence[StudyPlan], processes: int) -> None:
    """Write an archive of these studies, and its truth."""
    unfinished = path.with_suffix(".unfinished")
    with unfinished.open("wb") as file, truth_path(path).open("w", encoding="utf-8") as truths:
        for study in _compressed_studies(studies, processes):
            file.write(study.stream)
            truths.write(to_line(study.truth))
        file.write(bz2.compress(END_OF_ARCHIVE))
    unfinished.replace(path)


def _compressed_studies(studies: Sequence[StudyPlan], processes: int) -> Iterator[CompressedStudy]:
    """Yield every study in order, making only a few ahead."""
    if processes == 1:
        yield from map(compress_study, studies)
        return
    with ProcessPoolExecutor(processes) as pool:
        ahead: deque[Future[CompressedStudy]] = deque()
        for plan in studies:
            ahead.append(pool.submit(compress_study, plan))
            if len(ahead) > 2 * processes:
                yield ahead.popleft().result()
        while ahead:
            yield ahead.popleft().result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--scale", type=float, default=Scale.size, help="of the published size; default: %(default)s")
    parser.add_argument("--seed", type=int, default=Scale.seed)
    parser.add_argument("--root", default=Scale.root, help="the top folder; default: %(default)s")
    parser.add_argument("--processes", type=int, help="default: one per core")
    options = parser.parse_args()
    write_archive(options.output, Scale(options.scale, options.seed, options.root), options.processes)
    print(f"{options.output}: {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
