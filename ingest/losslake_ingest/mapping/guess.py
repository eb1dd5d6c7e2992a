"""Guesses that a starting mapping offers to its author; nothing is ever ingested by a guess."""

from __future__ import annotations

import re
from collections.abc import Sequence

_SPLITS = {
    "train": ("train", "training", "tr", "trn"),
    "val": ("val", "valid", "validation", "eval", "dev", "evaluation"),
    "test": ("test", "tst"),
}
_QUANTITIES = {
    "cross_entropy_error": ("cross_entropy", "crossentropy", "xent", "ce", "nll", "cross_entropy_error"),
    "classification_error": ("classification_error", "err", "error", "top1_error"),
    "accuracy": ("accuracy", "acc", "acc1", "top1", "top_1"),
    "perplexity": ("perplexity", "ppl"),
    "word_error_rate": ("wer", "word_error_rate"),
    "mean_average_precision": ("map", "mean_average_precision"),
    "average_precision": ("average_precision", "ap"),
    "bleu": ("bleu",),
    "ssim": ("ssim",),
    "loss": ("loss", "total_loss", "objective"),
}
_AXES = {
    "steps": ("step", "_step", "global_step", "iteration", "iter", "update", "num_updates", "s"),
    "examples": ("samples", "samples_count", "examples", "tokens", "num_tokens", "samples_seen", "tokens_seen"),
    "epochs": ("epoch", "epochs", "epoch_num"),
}
_FIELDS = {
    "batch_size": ("batch_size", "global_batch_size", "train_batch_size", "bs", "batch", "b"),
    "dataset": ("dataset", "data", "dataset_name", "data_set", "task"),
    "model": ("model", "arch", "architecture", "model_name", "net", "backbone"),
    "optimizer": ("optimizer", "optim", "opt", "opt_name", "optimizer_name", "optimizer_type"),
    "trial_id": ("trial_id", "trial", "seed", "run"),
}
_WORD = re.compile(r"[^A-Za-z0-9]+")
_SEGMENT = re.compile(r"([A-Za-z][A-Za-z_-]*?)([_=-]?)([0-9]+(?:\.[0-9]+)?(?:[eE]-?[0-9]+)?)")


def guessed_metric(column: str) -> str | None:
    """The metric that a column is called like, `eval_loss` as `val/loss`; None when its name doesn't tell."""
    words = [word for word in _WORD.split(column.lower()) if word]
    splits = [split for split, names in _SPLITS.items() if any(word in names for word in words)]
    every_split_name = {name for names in _SPLITS.values() for name in names}
    rest = "_".join(word for word in words if word not in every_split_name)
    quantity = next((quantity for quantity, names in _QUANTITIES.items() if rest in names), None)
    return f"{splits[0]}/{quantity}" if quantity and len(splits) == 1 else None


def metric_line(column: str) -> str:
    """The line of a mapping that says what a column is, for its author to correct."""
    guess = guessed_metric(column)
    metric = guess or "val/loss"
    return f'{toml_key(column)} = "{metric}"   # under [metrics]: the metric that it is, or "" to leave it out'


def guessed_axis(columns: Sequence[str]) -> tuple[str, str] | None:
    """The column that looks like the axis, and what it counts; steps before examples before epochs."""
    for counts, names in _AXES.items():
        for name in names:
            for column in columns:
                if column.lower() == name:
                    return column, counts
    return None


def guessed_field(fact: str, fields: Sequence[str]) -> str | None:
    """The field that a fact of the run may be taken from."""
    last = {field.lower().rpartition(".")[2]: field for field in reversed(fields)}
    return next((last[name] for name in _FIELDS[fact] if name in last), None)


def guessed_pattern(path: str) -> str | None:
    """A path pattern for names such as `b64/seed1/metrics.csv`; None when no folder says a number."""
    parts = []
    named: set[str] = set()
    for part in path.partition("#")[0].split("/"):
        match = _SEGMENT.fullmatch(part)
        if match is None:
            parts.append(part)
            continue
        name = _field_name(match[1])
        kind = "int" if match[3].isdigit() else "float"
        parts.append(f"{match[1]}{match[2]}{{{name}:{kind}}}" if name not in named else part)
        named.add(name)
    return "/".join(parts) if named else None


def _field_name(prefix: str) -> str:
    plain = _WORD.sub("_", prefix.lower()).strip("_")
    return next((fact for fact in ("batch_size",) if plain in _FIELDS[fact]), plain)


def toml_key(text: str) -> str:
    """A key as TOML has it, quoted where it must be."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", text):
        return text
    return toml_string(text)


def toml_string(text: str) -> str:
    """A text as a TOML basic string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in escaped) + '"'
