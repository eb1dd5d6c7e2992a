"""The names of metrics that trainers fix, as split/quantity: those of the formats of their logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True)
class Names:
    """The names of a trainer.

    prefixes: of splits. known: the metrics of single names. left_out: patterns of names that are no measurements at a
    step. others: the split of all other names; None: they keep their names, and a mapping has to say what they are.
    """

    prefixes: Mapping[str, str]
    known: Mapping[str, str]
    left_out: tuple[str, ...]
    others: str | None = None

    def metric(self, name: str) -> str | None:
        """Return the metric of a name, None if it is left out."""
        if name in self.known:
            return self.known[name]
        if any(fnmatchcase(name, pattern) for pattern in self.left_out):
            return None
        for prefix, split in self.prefixes.items():
            quantity = name.removeprefix(prefix)
            if quantity and quantity != name and "/" not in quantity:
                return f"{split}/{quantity}"
        return f"{self.others}/{name}" if self.others is not None and "/" not in name else name

    def metrics(self, logs: Mapping[str, object]) -> dict[str, object]:
        """Return the values of logs by metric."""
        named = ((self.metric(name), value) for name, value in logs.items())
        return {metric: value for metric, value in named if metric is not None}


# train_loss is the mean of a whole run, not a measurement at a step.
HUGGING_FACE = Names(
    prefixes={"eval_": "val", "test_": "test"},
    known={"loss": "train/loss", "grad_norm": "train/grad_norm"},
    left_out=(
        "learning_rate", "epoch", "num_input_tokens_seen", "num_tokens", "total_flos", "train_loss",
        "*_runtime", "*_per_second", "*_preparation_time",
    ),
)  # fmt: skip
# A name without a split is of training data, as in metrics.csv of Lightning's CSVLogger.
LIGHTNING = Names(
    prefixes={"train_": "train", "val_": "val", "valid_": "val", "test_": "test"},
    known={"loss": "train/loss", "accuracy": "train/accuracy"},
    left_out=("epoch", "lr*", "learning_rate"),
)
KERAS = Names(prefixes={"val_": "val"}, known={}, left_out=("learning_rate", "lr"), others="train")
