"""A reading of the logs of MLPerf Training without LossLake: steps to each target, as a table in tests/data.

    python -m tests.conformance.mlperf_reading LOGS    # with the folders training_results_v0.5, training_results_v0.6 …

The rules of positions and targets are those of published/mlperf-training/README.md, written down once more.
"""

from __future__ import annotations

import csv
import hashlib
import json
import math
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parents[1] / "data/mlperf_training_steps.csv"
COLUMNS = ("round", "benchmark", "batch_size", "metric", "target", "logs", "reached", "least_steps", "sum_of_steps")
ROUNDS = ("0.6", "0.7", "1.0", "1.1", "2.0", "2.1", "3.0", "3.1", "4.0", "4.1", "5.0", "5.1")
COCO_ROUNDS = ("0.6", "0.7", "1.0", "1.1")
TARGETS: dict[str, list[tuple[str, float]]] = {
    "resnet": [("val/accuracy", 0.759)],
    "maskrcnn": [("val/box_mean_average_precision", 0.377), ("val/mask_mean_average_precision", 0.339)],
    "bert": [("val/masked_lm_accuracy", 0.72)],
    "rnnt": [("val/word_error_rate", 0.058)],
    "unet3d": [("val/mean_dice", 0.908)],
    "dlrm": [("val/auc", 0.8025)],
    "dlrm_dcnv2": [("val/auc", 0.80275)],
    "gnn": [("val/accuracy", 0.72)],
    "rgat": [("val/accuracy", 0.72)],
    "gpt3": [("val/cross_entropy_error", 2.69)],
    "llama2_70b_lora": [("val/cross_entropy_error", 0.925)],
    "llama31_8b": [("val/cross_entropy_error", 3.3)],
    "llama31_405b": [("val/cross_entropy_error", 5.6)],
    "flux1": [("val/flow_loss", 0.586)],
    "stable_diffusion": [("val/fid", 90.0), ("val/clip_score", 0.15)],
    "gnmt": [("val/bleu", 24.0)],
    "transformer": [("val/bleu", 25.0)],
}
# All targets of a benchmark at one evaluation: the margin of a joined goal.
JOINED = {"maskrcnn": "val/box_and_mask_margin", "stable_diffusion": "val/clip_and_fid_margin"}
MINIMIZED = ("val/word_error_rate", "val/cross_entropy_error", "val/flow_loss", "val/fid")
SINGLE_EVALUATIONS = (("gpu-v100-8-TF2.0", "bert"), ("tpu-v3-32-TF2.0", "bert"))
# Systems whose logs of BERT don't state positions, and aren't evaluated at regular ones.
UNPLACED = (
    ("0.7", "dgx2h_ngc20.06_pytorch"),
    ("0.7", "dgxa100_n2_ngc20.06_pytorch"),
    ("0.7", "dgxa100_n32_ngc20.06_pytorch"),
    ("1.1", "tpu-v4-2048-JAX"),
)
# v0.5: the logged metric, its target, and the examples in an epoch (gnmt: as logged).
FIRST_TARGETS: dict[str, tuple[str, float, int | None]] = {
    "resnet": ("val/accuracy", 0.749, 1_281_167),
    "gnmt": ("val/bleu", 21.8, None),
    "ssd": ("val/mean_average_precision", 0.212, None),
    "ncf": ("val/hit_rate", 0.635, 5 * 19_861_770),
}
# The global batch size, the number of the first epoch, and how the code of the submission rounds the steps of an epoch.
FIRST_SUBMISSIONS: dict[str, tuple[int, int, Callable[[Fraction], Fraction | int]]] = {
    "cloud_v2.8/resnet-tpuv2-8": (1024, 0, math.floor),
    "cloud_v2.512/resnet-tpuv2-512": (16384, 0, math.floor),
    "cloud_v3.8/resnet-tpuv3-8": (1024, 0, math.floor),
    "research_v3.32/resnet-tpuv3-32": (4096, 0, math.floor),
    "research_v3.512/resnet-tpuv3-512": (16384, 0, math.floor),
    "cloud_v100x8": (2048, 1, Fraction),
    "dgx1_ngc18.11_mxnet/resnet": (8 * 208, 0, math.ceil),
    "dgx1_multi_ngc18.11_mxnet/resnet": (80 * 8 * 26, 0, math.ceil),
    "dgx2_ngc18.11_mxnet/resnet": (16 * 256, 0, math.ceil),
    "dgx2h_ngc18.11_mxnet/resnet": (16 * 256, 0, math.ceil),
    "dgx2h_multi_ngc18.11_mxnet/resnet": (32 * 16 * 32, 0, math.ceil),
    "skx_8180_2s_1x/resnet": (128, -1, math.floor),
    "skx_8180_2s_8x/resnet": (1024, -1, math.floor),
    "skx_8180_4s_4x/resnet": (1024, -1, math.floor),
    "cloud_v2.8/gnmt-tpuv2-8": (2048, 0, math.floor),
    "cloud_v3.8/gnmt-tpuv3-8": (2048, 0, math.floor),
    "research_v3.32/gnmt-tpuv3-32": (4096, 0, math.floor),
    "_pytorch/gnmt": (1024, 0, math.floor),
    "google/cloud_v2.8/ssd-": (1024, 0, Fraction),
    "google/cloud_v3.8/ssd-": (1024, 0, Fraction),
    "google/research_v3.32/ssd-": (1024, 0, Fraction),
    "_pytorch/ncf": (1_048_576, 0, math.ceil),
    "skx8180/ncf": (98_304, 0, math.ceil),
}
_FIRST_LINE = re.compile(r":::MLPv0\.5\.0 \w+ [\d.]+ (?:\([^)]*\) )?(\w+) ?: *(.*)")
_LINE = re.compile(r":::MLL(?:OG (\{.*\})| [\d.]+ (\w+): (\{.*\}))")


def targets(number: str, benchmark: str) -> list[tuple[str, float]]:
    """Return the metrics of a benchmark with their targets."""
    if benchmark in ("ssd", "retinanet"):
        return [("val/mean_average_precision", 0.23 if number in COCO_ROUNDS else 0.34)]
    if (number, benchmark) == ("0.7", "bert"):
        return [("val/masked_lm_accuracy", 0.712)]
    return TARGETS.get(benchmark, [])


def samples(number: str, org: str, benchmark: str, facts: dict[str, Any], metadata: dict[str, Any]) -> Fraction | None:
    """Return the samples seen at an evaluation; None where the log doesn't tell."""
    if "samples_count" in metadata:
        return _exact(metadata["samples_count"])
    if "step_num" in metadata:
        return _exact(metadata["step_num"]) * int(facts["global_batch_size"])
    position, logged = _exact(metadata["epoch_num"]), facts.get("train_samples")
    if benchmark == "bert":
        return position * int(facts["global_batch_size"]) if (number, org) == ("0.7", "Google") else position
    if benchmark == "unet3d":
        return position if position >= 20_000 else position * 168
    if benchmark == "gpt3":
        return position / 2048
    if benchmark == "dlrm":
        return (position / 20 if (number, org) == ("0.7", "Google") else position - 1) * 4_195_197_692
    if benchmark in ("ssd", "retinanet") and number not in COCO_ROUNDS:
        return position * 1_170_301
    if benchmark == "maskrcnn":
        return position * (118_287 if org == "Google" and number in ("0.7", "1.0") else 117_266)
    if benchmark == "transformer" and org != "Google":
        return None
    usual = {"resnet": 1_281_167, "ssd": 117_266}.get(benchmark)
    epoch = logged if logged is not None else usual
    return position * _exact(epoch) if epoch is not None else None


def _exact(number: float | str) -> Fraction:
    return Fraction(Decimal(repr(number) if not isinstance(number, str) else number))


def entries(text: str) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    """Yield key, value and metadata of each entry of a log."""
    for match in _LINE.finditer(text):
        try:
            entry = json.loads(match[1] or match[3])
        except ValueError:
            continue
        yield entry.get("key") or match[2], entry.get("value"), entry.get("metadata") or {}


def steps_to_targets(path: Path, logs: Path) -> tuple[tuple[str, str, int], dict[tuple[str, float], int | None]] | None:
    """Return round, benchmark and batch size of a log of the closed division, with the steps to each target."""
    parts = path.relative_to(logs).parts
    number, org = parts[0].removeprefix("training_results_v"), parts[1]
    benchmark = "resnet" if parts[-2].startswith("v100-") else parts[-2]
    facts: dict[str, Any] = {}
    evaluations = []
    for key, value, metadata in entries(path.read_text("utf-8", "replace")):
        if key == "eval_accuracy":
            evaluations.append((value, metadata))
        else:
            facts.setdefault(key, value)
    is_open = facts.get("submission_division") == "open" or "modelarts_512_tensorflow_open" in parts
    if is_open or "global_batch_size" not in facts or not evaluations:
        return None
    if benchmark == "bert" and all(metadata.get("epoch_num") == 1 for _, metadata in evaluations):
        return _by_the_end(parts, facts, [value for value, _ in evaluations])
    steps: dict[tuple[str, float], int | None] = {}
    reached: list[dict[int, bool]] = []
    for metric, target in targets(number, benchmark):
        curve: dict[int, float] = {}
        for value, metadata in evaluations:
            measured = _value(value, metadata, metric, number, parts[3])
            seen = samples(number, org, benchmark, facts, metadata)
            if measured is None or seen is None:
                continue
            step = math.floor(seen / facts["global_batch_size"] + Fraction(1, 2))
            if curve.setdefault(step, measured) != measured and benchmark not in ("gnn", "rgat"):
                return None  # which of them counts isn't known: as where epoch_num is always 1
        if curve:
            sign = 1 if metric in MINIMIZED else -1
            reached.append({step: sign * measured <= sign * target for step, measured in curve.items()})
            steps[metric, target] = min((step for step, has in reached[-1].items() if has), default=None)
    if benchmark in JOINED and len(reached) == len(targets(number, benchmark)):
        common = set.intersection(*map(set, reached))
        if common:
            steps[JOINED[benchmark], 1.0] = min((s for s in common if all(each[s] for each in reached)), default=None)
    return (number, benchmark, facts["global_batch_size"]), steps


def _by_the_end(
    parts: tuple[str, ...], facts: dict[str, Any], values: list[float]
) -> tuple[tuple[str, str, int], dict[tuple[str, float], int | None]] | None:
    """Return the same of a log that states only at its end how many samples were seen: `train_samples`."""
    number, batch_size = parts[0].removeprefix("training_results_v"), facts["global_batch_size"]
    if (number, parts[3]) in UNPLACED:
        return None
    ((metric, target),) = targets(number, "bert")
    hits = [place for place, value in enumerate(values) if value >= target]
    if hits and hits != [len(values) - 1]:
        raise ValueError(f"{parts} goes on after the target")
    steps = Fraction(facts["train_samples"], batch_size)
    if steps.denominator != 1:
        raise ValueError(f"{parts} has seen {facts['train_samples']} samples")
    return (number, "bert", batch_size), {(metric, target): int(steps) if hits else None}


def steps_of_the_first_round(path: Path) -> tuple[tuple[str, str, int], dict[tuple[str, float], int | None]] | None:
    """Return the same of a log of v0.5."""
    benchmark = path.parts[-2]
    known = [read for part, read in FIRST_SUBMISSIONS.items() if part in path.as_posix()]
    if benchmark not in FIRST_TARGETS or not known:
        return None
    ((batch_size, first, rounded),) = known
    metric, target, epoch = FIRST_TARGETS[benchmark]
    lines = _FIRST_LINE.findall(path.read_text("utf-8", "replace"))
    if benchmark == "gnmt":
        epoch = next(int(text) for key, text in lines if key == "input_size")
    measured = "eval_iteration_accuracy" if epoch is None else "eval_accuracy"
    hits = [entry for key, text in lines if key == measured and (entry := json.loads(text))["value"] >= target]
    if epoch is None:
        steps = [entry["iteration"] for entry in hits]
    else:
        in_epoch = rounded(Fraction(epoch, batch_size))
        steps = [math.floor((entry["epoch"] - first + 1) * in_epoch + Fraction(1, 2)) for entry in hits]
    return ("0.5", benchmark, batch_size), {(metric, target): min(steps, default=None)}


def _value(value: Any, metadata: dict[str, Any], metric: str, number: str, system: str) -> float | None:
    """Return the value of a metric in an entry; None if it has another."""
    if isinstance(value, dict):
        values = value.get("accuracy", value)
        return float(values["BBOX" if metric == "val/box_mean_average_precision" else "SEGM"])
    if metric in ("val/fid", "val/clip_score"):
        is_repeated = system.endswith("maxdiffusion") and "ckpt_name" not in metadata
        is_other = metadata.get("metric") != {"val/fid": "FID", "val/clip_score": "CLIP"}[metric]
        return None if is_other or is_repeated else float(value)
    if isinstance(value, list):
        return None
    scale = 100 if metric == "val/bleu" and number == "0.7" else 1
    return float(Decimal(repr(value)) * scale) if scale != 1 else float(value)


def main() -> None:
    """Write the table."""
    logs = Path(sys.argv[1])
    known: set[tuple[bytes, int]] = set()
    found: dict[tuple[Any, ...], list[int | None]] = defaultdict(list)
    for number in ("0.5", *ROUNDS):
        for path in sorted((logs / f"training_results_v{number}").rglob("result_*.txt")):
            if "minigo" in path.parts or path.parts[-3:-1] in SINGLE_EVALUATIONS:
                continue
            if number == "3.1" and "stable_diffusion" in path.parts and {"Dell", "NVIDIA"} & set(path.parts):
                continue
            read = steps_of_the_first_round(path) if number == "0.5" else steps_to_targets(path, logs)
            digest = hashlib.sha256(path.read_bytes()).digest()
            if read is None or not read[1] or (digest, read[0][2]) in known:
                continue
            known.add((digest, read[0][2]))
            for goal, steps in read[1].items():
                found[(*read[0], *goal)].append(steps)
    with TABLE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for key, each in sorted(found.items()):
            hits = [steps for steps in each if steps is not None]
            writer.writerow([*key, len(each), len(hits), min(hits, default=""), sum(hits)])


if __name__ == "__main__":
    main()
