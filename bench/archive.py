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
import time
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
    """A study as tar entries in one bzip2 stream; raw_bytes: of these entries; seconds: of CPU."""

    stream: bytes
    truth: StudyTruth
    raw_bytes: int
    seconds: float
    compression_seconds: float


@dataclass(frozen=True)
class Written:
    """The contents of an archive, and the CPU seconds of all processes that made it."""

    studies: int
    trials: int
    evaluations: int
    raw_bytes: int
    seconds: float
    compression_seconds: float


def compress_study(plan: StudyPlan) -> CompressedStudy:
    """Make a study and compress it."""
    started = time.process_time()
    compressor, compression, raw_bytes = bz2.BZ2Compressor(), 0.0, 0
    stream: list[bytes] = []
    truths: list[StudyTruth] = []
    for piece in _pieces(plan, truths):
        raw_bytes += len(piece)
        before = time.process_time()
        stream.append(compressor.compress(piece))
        compression += time.process_time() - before
    before = time.process_time()
    stream.append(compressor.flush())
    ended = time.process_time()
    return CompressedStudy(b"".join(stream), truths[0], raw_bytes, ended - started, compression + ended - before)


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


def write_archive(path: Path, scale: Scale, processes: int | None = None) -> Written:
    """Write an archive and its truth with few studies in memory at a time. Default: a process per core."""
    return write_studies(path, plans(scale), processes or os.cpu_count() or 1)


def write_studies(path: Path, studies: Sequence[StudyPlan], processes: int) -> Written:
    """Write an archive of these studies, and its truth."""
    unfinished, truth = path.with_suffix(".unfinished"), truth_path(path)
    written: list[Written] = []
    with unfinished.open("wb") as file, truth.open("w", encoding="utf-8") as truths:
        for plan, study in zip(studies, _compressed_studies(studies, processes), strict=True):
            file.write(study.stream)
            truths.write(to_line(study.truth))
            trials, evaluations = len(plan.status), study.truth.evaluations
            written.append(Written(1, trials, evaluations, study.raw_bytes, study.seconds, study.compression_seconds))
        file.write(bz2.compress(END_OF_ARCHIVE))
    unfinished.replace(path)
    return Written(*(sum(column) for column in zip(*(vars(one).values() for one in written), strict=True)))


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
    given = parser.parse_args()
    started = time.perf_counter()
    written = write_archive(given.output, Scale(given.scale, given.seed, given.root), given.processes)
    wall, making = time.perf_counter() - started, written.seconds - written.compression_seconds
    size, raw = given.output.stat().st_size, written.raw_bytes
    print(f"{given.output}: {size:,} bytes, {raw / size:.1f} times as much unpacked")
    print(
        f"{written.studies:,} studies, {written.trials:,} trials, {written.evaluations:,} evaluations in {wall:.1f} s"
    )
    print(
        f"CPU: {making:.1f} s to make and format ({raw / 1e6 / making:.0f} MB/s per core), "
        f"{written.compression_seconds:.1f} s to compress ({raw / 1e6 / written.compression_seconds:.1f} MB/s per core)"
    )


if __name__ == "__main__":
    main()
