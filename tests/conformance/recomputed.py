"""The results of a workload by batch size, its ends and its robust fit, in plain Python from trials' evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from statistics import median, median_low
from typing import Any

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Trial:
    """A trial at a goal.

    steps: of the first evaluation that reaches the goal, inf for none. previous: of the one before, 0 for none; steps
    if these are exact.
    """

    trial_id: int
    setting: str
    steps: float
    previous: float
    best: float


def setting_of(trial: Mapping[str, Any]) -> str:
    """Return the setting, as docs/analysis.md defines it."""
    attributes = {each["key"]: str(each["value"]).strip('"') for each in trial["attributes"] or ()}
    parameters = {each["key"]: each["value"] for each in trial["parameters"] or ()}
    numbers = sorted(f"{name}={value}" for name, value in parameters.items() if "seed" not in name.lower())
    submitter = next((attributes[name] for name in ("org", "submission_org", "submitter") if name in attributes), None)
    system = next((attributes[name] for name in ("submission_platform", "system") if name in attributes), None)
    if submitter is not None and system is not None:
        return f"{submitter} {system}"
    return ", ".join(numbers) or submitter or f"trial {trial['trial_id']}"


def robust_fit(points: Points) -> tuple[float, float, float]:
    """Return B_c, S_min and the rms residual of S = S_min (1 + B_c/B) in log steps, by Huber's loss."""
    logs = [(math.log(size), math.log(steps)) for size, steps in points]
    low, high = logs[0][0] - math.log(100), logs[-1][0] + math.log(100)

    def above(b_c: float) -> list[float]:
        return [log_s - math.log1p(math.exp(b_c - log_b)) for log_b, log_s in logs]

    def least(loss: Callable[[float], float]) -> float:
        """Return where a function of log B_c is least: on a grid, then by golden sections."""
        grid = [low + (high - low) * place / 100 for place in range(101)]
        at = min(grid, key=loss)
        start, end = at - (high - low) / 100, at + (high - low) / 100
        for _ in range(40):
            first, second = end - 0.618034 * (end - start), start + 0.618034 * (end - start)
            start, end = (start, second) if loss(first) < loss(second) else (first, end)
        return (start + end) / 2

    def absolute(b_c: float) -> float:
        values = above(b_c)
        return sum(abs(value - median(values)) for value in values)

    values = above(least(absolute))
    off = sorted(abs(value - median(values)) for value in values)[2:]
    scale = max(1.4826 * median(off), 0.005)

    def middle(values: Sequence[float]) -> float:
        """Return the log S_min at which the pulls of all residuals add up to 0."""
        start, end = min(values), max(values)
        for _ in range(40):
            at = (start + end) / 2
            pull = sum(max(-1.345, min(1.345, (value - at) / scale)) for value in values)
            start, end = (at, end) if pull > 0 else (start, at)
        return (start + end) / 2

    def huber(b_c: float) -> float:
        values = above(b_c)
        z = [abs(value - middle(values)) / scale for value in values]
        return sum(each**2 / 2 if each <= 1.345 else 1.345 * (each - 1.345 / 2) for each in z)

    b_c = least(huber)
    values = above(b_c)
    s_min = middle(values)
    rms = math.sqrt(sum((value - s_min) ** 2 for value in values) / len(values))
    return math.exp(b_c), math.exp(s_min), rms


@dataclass
class Recomputed:
    """A workload and its goal, from the evaluations of its trials. trials: by batch size, those that count."""

    goal: Mapping[str, Any]
    trials: dict[int, list[Trial]] = field(default_factory=dict)
    n_trials: int = 0
    n_incomplete: int = 0

    @cached_property
    def settings(self) -> dict[int, list[list[Trial]]]:
        """The settings of each batch size."""
        found: dict[int, list[list[Trial]]] = {}
        for size, own in sorted(self.trials.items()):
            by_setting: dict[str, list[Trial]] = {}
            for trial in sorted(own, key=lambda each: each.trial_id):
                by_setting.setdefault(trial.setting, []).append(trial)
            found[size] = list(by_setting.values())
        return found

    @property
    def n_repeated(self) -> tuple[int, int]:
        """How many trials are of settings of 3 trials or more, and of how many."""
        sizes = [len(setting) for own in self.settings.values() for setting in own]
        return sum(n for n in sizes if n >= 3), sum(sizes)

    @cached_property
    def is_of_settings(self) -> bool:
        repeated, n = self.n_repeated
        return bool(n) and 2 * repeated >= n

    def counted(self, size: int) -> list[list[Trial]]:
        """Return what the result of a batch size is the least of: settings, or single trials."""
        settings = self.settings[size]
        if not self.is_of_settings:
            return [[trial] for setting in settings for trial in setting]
        return [setting for setting in settings if len(setting) >= 3] or settings

    @cached_property
    def results(self) -> dict[int, Trial]:
        """The trial at the median of the best setting, by batch size."""
        found = {}
        for size in self.settings:
            usual = [
                sorted(setting, key=lambda each: (each.steps, each.trial_id))[(len(setting) - 1) // 2]
                for setting in self.counted(size)
            ]
            firsts = [setting[0].trial_id for setting in self.counted(size)]
            found[size] = min(zip(usual, firsts, strict=True), key=lambda each: (each[0].steps, each[1]))[0]
        return found

    @cached_property
    def steps(self) -> dict[int, int]:
        """The steps of each batch size that reaches the goal after step 0."""
        return {size: int(trial.steps) for size, trial in self.results.items() if 0 < trial.steps < math.inf}

    @cached_property
    def excess(self) -> dict[int, tuple[float, float]]:
        """Examples over the fewest of this and larger batch sizes; steps over the fewest of this and smaller ones."""
        return {
            size: (
                size * steps / min(other * self.steps[other] for other in self.steps if other >= size),
                steps / min(self.steps[other] for other in self.steps if other <= size),
            )
            for size, steps in self.steps.items()
        }

    @cached_property
    def dominated(self) -> list[int]:
        """The batch sizes that exceed a bound even if they crossed right after the evaluation before."""
        tau = 0.15 if self.is_of_settings else 1.0
        found = []
        for size, steps in self.steps.items():
            least = min(steps, self.results[size].previous)
            examples, fewest = (each * least / steps for each in self.excess[size])
            if examples > 1 + tau or fewest > 1 + tau:
                found.append(size)
        return found

    @cached_property
    def tuned(self) -> dict[int, int]:
        """Steps by batch size, without dominated ones."""
        return {size: steps for size, steps in self.steps.items() if size not in self.dominated}

    @property
    def perfect(self) -> list[int]:
        """The batch sizes that need at most 20% more examples than the fewest."""
        fewest = min(size * steps for size, steps in self.tuned.items())
        return [size for size, steps in self.tuned.items() if size * steps <= 1.2 * fewest]

    @property
    def useful(self) -> int:
        """The smallest batch size on whose steps no larger one improves by over 10%."""
        return next(
            size
            for size, steps in self.tuned.items()
            if steps <= 1.1 * min(self.tuned[other] for other in self.tuned if other >= size)
        )

    @cached_property
    def fit(self) -> tuple[float, float, float]:
        return robust_fit([(size, steps) for size, steps in self.tuned.items()])

    @cached_property
    def losses(self) -> dict[int, float]:
        """The best value that each batch size reaches, as a loss."""
        return {
            size: min(median_low([self.sign * trial.best for trial in setting]) for setting in self.counted(size))
            for size in self.settings
        }

    @property
    def sign(self) -> int:
        return 1 if self.goal["direction"] == "minimize" else -1

    @property
    def hardest(self) -> tuple[float, int]:
        """The hardest value that every batch size reaches, and the batch size that sets it."""
        size = max(self.losses, key=lambda each: (self.losses[each], -each))
        return self.sign * self.losses[size], size

    @property
    def hardest_of_any(self) -> float:
        """The hardest value that a batch size reaches."""
        return self.sign * min(self.losses.values())


def trial_of(row: Mapping[str, Any], curve: list[tuple[int, float]], goal: Mapping[str, Any]) -> Trial:
    """Return a trial of the view trials. curve: steps and values of the goal's metric."""
    sign, target = (1 if goal["direction"] == "minimize" else -1), goal["target"]
    steps, previous, before, best = math.inf, 0.0, 0.0, math.inf
    for step, value in sorted(curve):
        loss = sign * value
        reaches = loss < sign * target or (goal["comparator"] == "inclusive" and loss == sign * target)
        if math.isfinite(value):
            best = min(best, loss)
            if reaches and math.isinf(steps):
                # Nobody knows the evaluations before a published point of convergence: its steps are exact.
                steps, previous = step, step if goal["metric"] == "val/converged" else before
        before = step
    return Trial(row["trial_id"], setting_of(row), steps, previous, sign * best)
