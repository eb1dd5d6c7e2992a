"""One study: all its trials trained side by side, each with its own metaparameters and initial weights.

The trials of a study share the order of the minibatches (epochs, each reshuffled; a batch may cross the end of an
epoch). A trial that diverges leaves the arrays, so that the others go on faster, and unchanged to the last bit.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from studies.digits import Split
from studies.grid import evaluation_steps
from studies.networks import Floats, activations, cross_entropies, initial_parameters, layers_of, write_gradients
from studies.optimizers import OPTIMIZERS
from studies.search import sobol_points
from studies.workloads import Workload

QUANTITIES = ("classification_error", "cross_entropy_error")
CACHE_FLOATS = 2**17  # trials are taken in blocks of about this many floats, so that a step stays in the cache


@dataclass
class Trial:
    """One training run; `curve` holds (step, value of every metric), each value finite."""

    trial_id: int
    parameters: dict[str, float]
    status: str = "COMPLETE"
    steps: int = 0
    curve: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)


class Team:
    """The trials that are still training: their parameters (trials, parameters) and their optimizer's slots."""

    def __init__(self, workload: Workload, trials: list[Trial], initial: NDArray[np.float32]) -> None:
        self.workload = workload
        self.optimizer = OPTIMIZERS[workload.optimizer]
        self.trials = trials
        self.parameters = initial
        self.gradients = np.empty_like(initial)
        self.slots = np.zeros((self.optimizer.slot_count, *initial.shape), np.float32)
        self.tuned = {
            name: np.array([[trial.parameters[name]] for trial in trials], np.float32)
            for name in self.optimizer.metaparameters
        }

    def blocks(self, rows: int) -> Iterator[slice]:
        """Slices of trials small enough for the cache when each computes `rows` examples."""
        floats = rows * max(self.workload.hidden_widths, default=10) + self.parameters.shape[1]
        size = max(1, CACHE_FLOATS // floats)
        yield from (slice(start, start + size) for start in range(0, len(self.trials), size))

    def take_step(self, step: int, inputs: Floats, labels: NDArray[np.intp]) -> Floats:
        """Update every trial once on the same minibatch; the losses (trials,) are those before the update."""
        losses = np.empty(len(self.trials), np.float32)
        widths = self.workload.hidden_widths
        for block in self.blocks(len(labels)):
            parameters, gradients = self.parameters[block], self.gradients[block]
            losses[block] = write_gradients(layers_of(gradients, widths), layers_of(parameters, widths), inputs, labels)
            tuned = {name: values[block] for name, values in self.tuned.items()}
            self.optimizer.update(parameters, gradients, self.slots[:, block], tuned, step)
        return losses

    def evaluate(self, splits: dict[str, Split]) -> Floats:
        """Return every metric of every trial (trials, metrics), in the order of `metric_names`."""
        values = np.empty((len(self.trials), len(metric_names(splits))))
        for index, split in enumerate(splits.values()):
            for block in self.blocks(len(split.labels)):
                logits = activations(layers_of(self.parameters[block], self.workload.hidden_widths), split.inputs)[-1]
                wrong = logits.argmax(axis=2) != split.labels
                values[block, 2 * index] = wrong.mean(axis=1)
                values[block, 2 * index + 1] = cross_entropies(logits, split.labels)[0].mean(axis=1, dtype=np.float64)
        return values

    def drop(self, diverged: NDArray[np.bool_], step: int) -> None:
        """End the trials marked in `diverged` (trials,) as INFEASIBLE at `step`."""
        for trial in np.array(self.trials, object)[diverged]:
            trial.status, trial.steps = "INFEASIBLE", step
        kept = ~diverged
        self.trials = [trial for trial, keep in zip(self.trials, kept, strict=True) if keep]
        self.parameters, self.gradients = self.parameters[kept], self.gradients[kept]
        self.slots = self.slots[:, kept]
        self.tuned = {name: values[kept] for name, values in self.tuned.items()}


def metric_names(splits: dict[str, Split]) -> list[str]:
    """Return the columns of measurements.csv after `step`."""
    return [f"{split}/{quantity}" for split in splits for quantity in QUANTITIES]


def minibatches(rows: int, batch_size: int, seed: np.random.SeedSequence) -> Iterator[NDArray[np.intp]]:
    """Row numbers (batch_size,) without end: a fresh permutation of the rows per epoch, cut without regard to it."""
    generator = np.random.default_rng(seed)
    waiting = np.empty(0, np.intp)
    while True:
        while len(waiting) < batch_size:
            waiting = np.concatenate([waiting, generator.permutation(rows)])
        yield waiting[:batch_size]
        waiting = waiting[batch_size:]


def study_seeds(workload: Workload, batch_size: int, seed: int) -> list[np.random.SeedSequence]:
    """Independent seeds of one study: search points, minibatches, then the initial weights of each trial."""
    name = zlib.crc32(f"{workload.path}/{batch_size}".encode())
    return np.random.SeedSequence([seed, name]).spawn(2 + workload.trials)


def train_study(workload: Workload, batch_size: int, splits: dict[str, Split], seed: int) -> list[Trial]:
    """Train all trials of one study; each is COMPLETE after `train_steps`, or INFEASIBLE where it diverged.

    A trial is INFEASIBLE at the first step whose minibatch loss isn't finite, or at the first evaluation where a
    parameter or a metric isn't. Its curve keeps every evaluation before that.
    """
    search_seed, order_seed, *weight_seeds = study_seeds(workload, batch_size, seed)
    points = sobol_points(workload.ranges(batch_size), workload.trials, search_seed)
    trials = [Trial(trial_id, point) for trial_id, point in enumerate(points, start=1)]
    return train_trials(workload, batch_size, splits, trials, order_seed, weight_seeds)


def train_trials(
    workload: Workload,
    batch_size: int,
    splits: dict[str, Split],
    trials: list[Trial],
    order_seed: np.random.SeedSequence,
    weight_seeds: list[np.random.SeedSequence],
) -> list[Trial]:
    """Train the given trials, which are changed in place and returned."""
    initial = np.stack([initial_parameters(workload.hidden_widths, weight_seed) for weight_seed in weight_seeds])
    team, train = Team(workload, list(trials), initial), splits["train"]
    batches = minibatches(len(train.labels), batch_size, order_seed)
    evaluated, step = evaluation_steps(workload.train_steps(batch_size)), 0
    with np.errstate(all="ignore"):
        for next_step in evaluated:
            while step < next_step and team.trials:
                step += 1
                rows = next(batches)
                losses = team.take_step(step, train.inputs[rows], train.labels[rows])
                if not np.isfinite(losses).all():
                    team.drop(~np.isfinite(losses), step)
            if not team.trials:
                break
            record_evaluation(team, splits, step)
    return trials


def record_evaluation(team: Team, splits: dict[str, Split], step: int) -> None:
    """Add one evaluation to every curve, and drop the trials that are no longer finite."""
    values = team.evaluate(splits)
    finite = np.logical_and(np.isfinite(values).all(axis=1), np.isfinite(team.parameters).all(axis=1))
    for trial, row, keep in zip(team.trials, values, finite, strict=True):
        if keep:
            trial.curve.append((step, tuple(row.tolist())))
            trial.steps = step
    if not finite.all():
        team.drop(~finite, step)
