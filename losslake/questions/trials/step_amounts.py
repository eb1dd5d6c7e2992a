"""The amounts that steps of trials come to: examples, epochs, tokens and FLOPs, by the facts of each trial."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pyarrow as pa

from losslake.analysis.loss_law import FLOPS_PER_PARAMETER
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import examples_of, have_several_schedules
from losslake.questions.trials.resources import resources_of
from losslake.questions.trials.search import at
from losslake_schema.reached import Flags, Floats, Integers

MeasureName = Literal["steps", "examples", "epochs", "tokens", "flops", "seconds", "accelerator_seconds"]
_MOST_LISTED = 5
_ATTENTION = "attention's operations, which grow with the context,"
# The sizes of models by which FLOPs are counted where none are stated, best first, and what the rule then misses.
_SIZES: Mapping[str, str] = {
    "n_active_parameters": f"leaves out {_ATTENTION} and counts look-ups of embeddings like other weights",
    "n_parameters": f"leaves out {_ATTENTION} and counts look-ups of embeddings like other weights",
    "n_parameters_non_embedding": f"leaves out {_ATTENTION} and the layer that predicts tokens",
}


@dataclass(frozen=True)
class Counting:
    """The amount to count up to a target. The others are None for what the logs say."""

    measure: MeasureName
    examples_per_epoch: int | None = None
    accelerators: int | None = None
    tokens_per_example: float | None = None
    n_parameters: int | None = None
    flops_per_token: float | None = None

    @property
    def is_timed(self) -> bool:
        """True if times are counted, which only evaluations have."""
        return self.measure in ("seconds", "accelerator_seconds")


def measure_noun(measure: str) -> str:
    """Return a measure in words: steps, FLOPs, accelerator-seconds."""
    return "FLOPs" if measure == "flops" else measure.replace("_", "-")


@dataclass(frozen=True)
class StepAmounts:
    """The amounts in steps of the trials of a workload, in a measure that isn't a time.

    epoch: examples in an epoch; 1 for other measures. per_example: by trial, the tokens or FLOPs in an example, NaN for
    unknown; None for other measures. by_size: by trial, which FLOPs are those of the rule with the size of that name.
    """

    view: ReleaseView
    facts: WorkloadFacts
    counting: Counting
    epoch: float = 1.0
    per_example: Floats | None = None
    by_size: Mapping[str, Flags] = field(default_factory=dict)

    @staticmethod
    def of(view: ReleaseView, facts: WorkloadFacts, counting: Counting) -> StepAmounts:
        """Return the amounts in steps; raises BadParameter where neither the logs nor the request say what it takes."""
        match counting.measure:
            case "epochs":
                epoch = counting.examples_per_epoch or examples_of_epoch(resources_of(view, facts), facts)
                return StepAmounts(view, facts, counting, epoch=float(epoch))
            case "tokens":
                tokens = tokens_of_example(resources_of(view, facts), facts, counting)
                return StepAmounts(view, facts, counting, per_example=tokens)
            case "flops":
                resources = resources_of(view, facts)
                tokens = tokens_of_example(resources, facts, counting)
                flops, by_size = flops_of_token(resources, facts, counting)
                return StepAmounts(view, facts, counting, per_example=tokens * flops, by_size=by_size)
        return StepAmounts(view, facts, counting)

    def of_steps(self, steps: Integers | Floats, trials: Integers) -> Floats:
        """Return the amounts in steps of these trials, NaN for unknown. trials: rows in facts.trials."""
        if self.counting.measure == "steps":
            return steps.astype(np.float64)
        examples = examples_of(self.view, self.facts, steps, trials) / self.epoch
        return examples if self.per_example is None else examples * at(self.per_example, trials)

    @property
    def grow_alike(self) -> bool:
        """True if of the trials of a study, the one with the fewest steps takes the least, and all are known."""
        if self.counting.measure == "steps":
            return True
        if have_several_schedules(self.view, self.facts):
            return False
        if self.per_example is None:
            return True
        firsts = np.minimum(self.facts.offsets[:-1], len(self.per_example) - 1)
        return bool((self.per_example == at(self.per_example, firsts)[self.facts.study_of_trial]).all())

    def caveats(self, is_counted: Flags) -> Iterator[str]:
        """Yield in words the rules by which FLOPs are counted that no log states. is_counted: by trial.

        Source: Kaplan et al. 2020 (arXiv 2001.08361), section 2.1: C = 6 N a token, with N without embeddings; Hoffmann
        et al. 2022 (arXiv 2203.15556), appendix F: beside counts that have embeddings and attention.
        """
        name, n_counted, given = self.facts.workload, int(is_counted.sum()), self.counting
        if given.measure != "flops":
            return
        if given.flops_per_token is None and given.n_parameters is not None:
            rule = f"{FLOPS_PER_PARAMETER} x n_parameters={given.n_parameters} a token"
            yield f"{name}: FLOPs are {rule}: the rule leaves out {_ATTENTION} and counts embeddings like other weights"
        for size, is_by_rule in self.by_size.items():
            if n := int((is_by_rule & is_counted).sum()):
                which = "FLOPs" if n == n_counted else f"FLOPs of {n} of {n_counted} trials"
                yield f"{name}: {which} are {FLOPS_PER_PARAMETER} x {size} a token: the rule {_SIZES[size]}"

    @property
    def unknown(self) -> str:
        """The facts of which a trial without an amount lacks one, in words."""
        return "tokens_per_example" if self.counting.measure == "tokens" else "tokens_per_example or size of the model"


def examples_of_epoch(resources: pa.Table, facts: WorkloadFacts) -> float:
    """Return the examples in an epoch of a workload; raises BadParameter."""
    counts = np.unique(resources["examples_per_epoch"].drop_null().to_numpy())
    if len(counts) == 1:
        return float(counts[0])
    why = f"the logs of {facts.workload} don't say how many examples an epoch has"
    if len(counts):
        listed = ", ".join(f"{count:,.12g}" for count in counts[:_MOST_LISTED]) + (", …" * (len(counts) > _MOST_LISTED))
        why = f"the logs of {facts.workload} have epochs of {listed} examples"
    raise BadParameter("examples_per_epoch", f"{why}: give examples_per_epoch=N")


def tokens_of_example(resources: pa.Table, facts: WorkloadFacts, counting: Counting) -> Floats:
    """Return by trial the tokens in one of what batch sizes count, NaN for unknown; raises BadParameter for none.

    Where batch sizes count tokens, it is 1, whatever the request says.
    """
    tokens = _numbers(resources, "tokens_per_example")
    if counting.tokens_per_example is not None:
        return np.where(resources["counts_tokens"].to_numpy(), 1.0, counting.tokens_per_example)
    if np.isnan(tokens).all():
        why = f"the logs of {facts.workload} don't say how many tokens an example has"
        raise BadParameter("tokens_per_example", f"{why}: give tokens_per_example=N if all have as many")
    return tokens


def flops_of_token(resources: pa.Table, facts: WorkloadFacts, counting: Counting) -> tuple[Floats, Mapping[str, Flags]]:
    """Return by trial the FLOPs of training on a token, NaN for unknown, and those by the rule 6 N, by size.

    Raises BadParameter where nothing says them.
    """
    flops = _numbers(resources, "flops_per_token")
    per_token = counting.flops_per_token
    if per_token is None and counting.n_parameters is not None:
        per_token = float(FLOPS_PER_PARAMETER * counting.n_parameters)
    if per_token is not None:
        return np.full(len(flops), per_token), {}
    by_size: dict[str, Flags] = {}
    for name in _SIZES:
        size = _numbers(resources, name)
        by_size[name] = np.isnan(flops) & ~np.isnan(size)
        flops = np.where(by_size[name], FLOPS_PER_PARAMETER * size, flops)
    if np.isnan(flops).all():
        why = f"the logs of {facts.workload} don't say how many parameters the model has"
        raise BadParameter("n_parameters", f"{why}: give n_parameters=N, or flops_per_token=N")
    return flops, by_size


def _numbers(resources: pa.Table, name: str) -> Floats:
    return np.asarray(resources[name].to_numpy(), np.float64)
