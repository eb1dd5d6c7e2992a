"""Logs of MLPerf submissions in its three dialects, made up, and their times read from the lines without LossLake."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path

from tests.repository.checkout import ROOT

Files = dict[str, bytes]
PUBLISHED = ROOT / "published"
# The runs that rules require, and how many are left out at either end, as the rules of MLPerf state them.
REQUIRED = {"resnet": 5, "ssd": 5, "retinanet": 5, "unet3d": 40, "ncf": 100}
SPECIAL = {"unet3d": 4}


def mllog(key: str, value: object, time_ms: int, **metadata: object) -> str:
    document = {"namespace": "", "time_ms": time_ms, "key": key, "value": value, "metadata": {"lineno": 1, **metadata}}
    return f":::MLLOG {json.dumps(document)}"


def run_of_now(
    benchmark: str, batch_size: int, start: int, stop: int | None, points: Sequence[tuple[float, float]],
    axis: str = "samples_count", status: str | None = "success", division: str = "closed",
) -> bytes:  # fmt: skip
    """A log of v0.7 or later: milliseconds. points: the position and the value of each evaluation."""
    facts = {
        "submission_benchmark": benchmark, "submission_division": division, "global_batch_size": batch_size,
        "opt_name": "adamw",
    }  # fmt: skip
    lines = [mllog(key, value, start - 10) for key, value in facts.items()]
    lines.append(mllog("run_start", None, start))
    lines += [
        mllog("eval_accuracy", value, start + 5 * n + start % 97, **{axis: place})
        for n, (place, value) in enumerate(points, 1)
    ]
    if stop is not None:
        lines.append(mllog("run_stop", None, stop, **({"status": status} if status else {})))
    return "\n".join(["other output", *lines, ""]).encode()


def run_of_v0_6(batch_size: int, start: str, stop: str, epochs: int, status: str = "success") -> bytes:
    """A log of ResNet in v0.6: seconds with digits of microseconds."""
    lines = [
        ':::MLL 0.0 submission_benchmark: {"value": "resnet", "metadata": {"lineno": 0}}',
        ':::MLL 0.0 submission_division: {"value": "closed", "metadata": {"lineno": 0}}',
        f':::MLL {start} global_batch_size: {{"value": {batch_size}, "metadata": {{"lineno": 1}}}}',
        f':::MLL {start} opt_name: {{"value": "lars", "metadata": {{"lineno": 1}}}}',
        f':::MLL {start} run_start: {{"value": null, "metadata": {{"lineno": 2}}}}',
        f':::MLL {stop} eval_accuracy: {{"value": 0.76, "metadata": {{"epoch_num": {epochs}}}}}',
        f':::MLL {stop} run_stop: {{"value": null, "metadata": {{"status": "{status}"}}}}',
    ]
    return "\n".join([*lines, ""]).encode()


def run_of_v0_5(start: str, stop: str, epochs: int, is_success: bool) -> bytes:
    """A log of NCF in v0.5."""
    head = ":::MLPv0.5.0 ncf"
    value = 0.64 if is_success else 0.5
    lines = [
        f"{head} {start} (/ncf.py:1) run_start",
        f'{head} {stop} (/ncf.py:2) eval_accuracy: {{"epoch": {epochs}, "value": {value}}}',
        f'{head} {stop} (/ncf.py:3) run_stop: {{"success": {json.dumps(is_success)}}}',
    ]
    return "\n".join([*lines, ""]).encode()


def with_mapping(files: Mapping[str, bytes], collection: str = "mlperf-training") -> Files:
    """The files, with the mapping of a published collection and its tables."""
    tables = {path.name: path.read_bytes() for path in (PUBLISHED / collection).iterdir() if path.suffix == ".csv"}
    return {**files, **tables, "losslake.toml": (PUBLISHED / collection / "losslake.toml").read_bytes()}


def times_of(lines: str) -> Iterator[tuple[str, Fraction, object]]:
    """Yield key, exact seconds and status of run_start and run_stop."""
    for line in lines.splitlines():
        if ":::MLLOG" in line:
            entry = json.loads(line.partition(":::MLLOG")[2], parse_float=Fraction)
            if entry["key"] in ("run_start", "run_stop"):
                yield entry["key"], Fraction(entry["time_ms"]) / 1000, entry["metadata"].get("status")
        elif ":::MLL " in line:
            seconds, key = line.partition(":::MLL ")[2].split()[:2]
            if key in ("run_start:", "run_stop:"):
                entry = json.loads(line[line.index("{") :])
                status = entry["metadata"].get("status")
                if isinstance(entry["value"], dict):
                    status = status or entry["value"].get("status")
                yield key[:-1], Fraction(seconds), status
        elif ":::MLPv0.5.0" in line:
            words = line.partition(":::MLPv0.5.0")[2].split()
            for name in (word.rstrip(":") for word in words[2:4] if word.startswith("run_st")):
                entry = json.loads(line[line.index("{") :]) if "{" in line else {}
                yield name, Fraction(words[1]), "success" if entry.get("success") is True else "aborted"


def score(benchmark: str, logs: Sequence[str]) -> tuple[float | None, list[float]]:
    """The score of a submission by the rules, and the times of its runs that reached the target. logs: by number."""
    seconds: list[Fraction] = []
    missed = 0
    for log in logs:
        ends = {key: (moment, status) for key, moment, status in times_of(log)}
        if ends.get("run_stop", (None, None))[1] != "success":
            missed += 1
        elif "run_start" in ends and ends["run_stop"][0] > ends["run_start"][0]:
            seconds.append(ends["run_stop"][0] - ends["run_start"][0])
    in_order = [float(each) for each in sorted(seconds)]
    at_either_end = SPECIAL.get(benchmark, 1)
    if len(logs) != REQUIRED.get(benchmark, 10) or len(seconds) + missed < len(logs):
        return None, in_order
    if benchmark == "ncf":
        seconds, missed = seconds[:50], 0
        if len(seconds) < 50:
            return None, in_order
    if missed > at_either_end:
        return None, in_order
    kept = sorted(seconds)[at_either_end : len(seconds) + missed - at_either_end]
    return float(sum(kept) / len(kept)), in_order


def logs_in(folder: Path) -> list[str]:
    """The logs of a folder, by number."""
    paths = sorted(folder.glob("result_*.txt"), key=lambda path: int(path.stem.rpartition("_")[2]))
    return [path.read_text() for path in paths]
