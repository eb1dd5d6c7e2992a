"""The workloads of `workloads.toml`: network, optimizer, how long to train and where to search."""

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path

from studies.optimizers import OPTIMIZERS
from studies.search import Range

WORKLOADS_FILE = Path(__file__).with_name("workloads.toml")


@dataclass(frozen=True)
class Workload:
    """One (dataset, model, optimizer) with the budget and the search ranges of its studies."""

    dataset: str
    model: str
    optimizer: str
    hidden_widths: tuple[int, ...]
    minimum_steps: int
    examples: int
    learning_rate: tuple[float, float]
    learning_rate_growth: float
    remainder: tuple[float, float]
    batch_sizes: tuple[int, ...]
    trials: int

    @property
    def path(self) -> str:
        """Its directory in the archive: dataset/model/optimizer."""
        return f"{self.dataset}/{self.model}/{self.optimizer}"

    def train_steps(self, batch_size: int) -> int:
        """Return the steps of every trial that does not diverge."""
        return self.minimum_steps + math.ceil(self.examples / batch_size)

    def ranges(self, batch_size: int) -> dict[str, Range]:
        """Return the search space at this batch size, one range per metaparameter that the optimizer tunes."""
        growth = batch_size**self.learning_rate_growth
        low, high = (float(f"{bound * growth:.2g}") for bound in self.learning_rate)
        spaces = {"learning_rate": Range(low, high, "LOG_SCALE")}
        for name in OPTIMIZERS[self.optimizer].metaparameters[1:]:
            low, high = (round(1 - bound, 12) for bound in reversed(self.remainder))
            spaces[name] = Range(low, high, "REVERSE_LOG_SCALE")
        return spaces


def load_workloads(file: Path = WORKLOADS_FILE) -> list[Workload]:
    """Return the workloads of a file like `workloads.toml`, sorted by path."""
    common = tomllib.loads(file.read_text(encoding="utf-8"))
    rows = common.pop("workload")
    lists = ("hidden_widths", "learning_rate", "batch_sizes", "remainder")
    fields = [common | row for row in rows]
    workloads = [Workload(**row | {name: tuple(row[name]) for name in lists}) for row in fields]
    return sorted(workloads, key=lambda workload: workload.path)
