"""What to know before relying on a workload's best metaparameters, in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from losslake.analysis.learning_rate_growth import FormComparison, LearningRateExponent
from losslake.questions.study_optima import Optimum, WorkloadOptima


def left_out_of(of_one: WorkloadOptima) -> Iterator[str]:
    """Batch sizes without a best trial, and best trials without an effective learning rate."""
    for study in of_one.studies:
        where = f"at batch size {study.batch_size}"
        if study.optimum is None:
            yield f"{of_one.workload}: no trial of {study.n_trials} reached the target {where}"
        elif study.optimum.effective_learning_rate is None:
            yield f"{of_one.workload}: the best trial {where} has no effective learning rate"


def warnings_of(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    """Whatever makes the best metaparameters, their exponent or the heuristics doubtful."""
    for text in (*_of_momentum(of_one), *_of_boundary(of_one.found), *_of_numbers(of_one, exponent, compared)):
        yield f"{of_one.workload}: {text}"


def _of_momentum(of_one: WorkloadOptima) -> Iterator[str]:
    if of_one.is_plain and of_one.found:
        yield "no trial has a momentum: it is taken as 0, and the effective learning rate is the learning rate"
    if of_one.n_without_momentum:
        n = of_one.n_without_momentum
        yield f"{n} trial{'' if n == 1 else 's'} without momentum: no effective learning rate, and nowhere near others"


def _of_boundary(found: Sequence[Optimum]) -> Iterator[str]:
    if found and all(optimum.boundary is None for optimum in found):
        yield "its studies say nothing of their search ranges: a best trial may be at the boundary of the search"
    flagged = [each for each in found if each.boundary is not None and each.boundary.of_best]
    if flagged:
        chance = max(each.boundary.chance for each in flagged if each.boundary is not None)
        listed = "; ".join(
            f"{', '.join(each.boundary.of_best)} at {each.batch_size}" for each in flagged if each.boundary is not None
        )
        yield (
            f"the best trial is at the boundary of its search at {len(flagged)} of {_batch_sizes(len(found))} "
            f"({listed}): a wider search may do better. "
            f"Where the optimum is flat, chance alone puts {chance:.0%} of them there"
        )
    limited = [str(optimum.batch_size) for optimum in found if optimum.is_stability_limited]
    if limited:
        where = f"at batch size {', '.join(limited)}" if len(limited) < len(found) else "at every batch size"
        yield f"the best trial lies beside trials that diverged with larger effective learning rates {where}"


def _of_numbers(of_one: WorkloadOptima, exponent: LearningRateExponent, compared: FormComparison) -> Iterator[str]:
    found = of_one.found
    if exponent.refusal is not None:
        yield f"no exponent: {exponent.refusal}"
    if compared.refusal is not None:
        yield f"no forms: {compared.refusal}"
    alone = sum(len(optimum.near_rates) == 1 for optimum in found)
    if exponent.exponent is not None and 2 * alone > len(found):
        yield (
            f"at {alone} of {_batch_sizes(len(found))} no other trial is near-optimal, so the exponent's interval says "
            "little of how the best trial might have differed: give a larger `within`"
        )
    known = [{name for name, made in each.predictions.items() if made.regret.regret is not None} for each in found]
    if any(len(names) == 1 for names in known):
        yield (
            "at some batch sizes only one heuristic has a regret: compare the heuristics row by row, not by their "
            "medians, which are over different batch sizes"
        )
    if found and of_one.origin is None:
        yield "no heuristics: where they start there is no best trial with a learning rate and a momentum below 1"


def _batch_sizes(count: int) -> str:
    return "1 batch size" if count == 1 else f"{count} batch sizes"
