"""The report on the bundled studies: whether what Shallue et al. 2019 found holds there, with numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from string import Template

from losslake.cli.reports.findings import (
    LINEAR,
    SQUARE_ROOT,
    Change,
    Growth,
    Loss,
    beyond_chance,
    change_table,
    changes,
    grows,
    growth_table,
    growths,
    loss_table,
    losses,
)
from losslake.cli.reports.subject import Question, Subject, number, share, subject
from losslake.cli.reports.transitions import Transition, disjoint_pairs, known_sizes, transition_table, transitions
from losslake.questions.release_view import ReleaseView
from losslake_schema.errors import LossLakeError

NAME = "bundled_studies"


@dataclass(frozen=True)
class _AtGoal:
    """What was found at one goal."""

    question: Question
    transitions: Sequence[Transition]
    momentum: Sequence[Change]
    width: Sequence[Change]


def bundled_studies(view: ReleaseView, figures: str) -> str:
    """The report as Markdown. figures: where those of `losslake reproduce bundled` are, relative to it.

    Raises LossLakeError if the release has none of the studies.
    """
    about = subject(NAME)
    workloads = about.workloads(view)
    if not workloads:
        why = f"release {view.number} has no workload of collection {about.collection}"
        raise LossLakeError(f"{why}: ingest studies/data/bundled.tar.bz2 first")
    found = [_at_goal(view, about, question) for question in about.questions]
    first = about.questions[0]
    values = {
        "release": str(view.number),
        "figures": figures,
        "n_workloads": str(len(workloads)),
        "n_trials": f"{sum(len(view.workload(workload).trials.trial_id) for workload in workloads):,}",
        "goals": "\n".join(f"* {question}" for question in about.questions),
        **_regimes(found),
        **_sizes(found),
        **_pairs("momentum", [change for each in found for change in each.momentum]),
        **_pairs("width", [change for each in found for change in each.width]),
        **_quality(first, losses(view, workloads, first)),
        **_learning_rates(first, growths(view, workloads, first)),
    }
    text = resources.files("losslake.cli.reports").joinpath(f"{NAME}.md").read_text("utf-8")
    return Template(text).substitute(values)


def _at_goal(view: ReleaseView, about: Subject, question: Question) -> _AtGoal:
    found = transitions(view, about.workloads(view), question)
    return _AtGoal(
        question,
        found,
        changes(view, about.pairs_about("momentum"), question, found),
        changes(view, about.pairs_about("width"), question, found),
    )


def _regimes(found: Sequence[_AtGoal]) -> Mapping[str, str]:
    cases = [transition for each in found for transition in each.transitions]
    three = sum(case.has_three_regimes for case in cases)
    identifiable = sum(case.critical_batch_size is not None for case in cases)
    residuals = [case.rms for case in cases if case.rms is not None]
    tables = [f"{each.question}:\n\n{transition_table(each.transitions)}" for each in found]
    return {
        "n_three_regimes": share(three, len(cases)),
        "n_identifiable": share(identifiable, len(cases)),
        "n_useful_inside": share(sum(case.is_useful_inside for case in cases), len(cases)),
        "rms": f"{sum(residuals) / len(residuals):.0%}" if residuals else "unknown",
        "transition_tables": "\n\n".join(tables),
        "holds_regimes": _holds(identifiable, len(cases)),
    }


def _sizes(found: Sequence[_AtGoal]) -> Mapping[str, str]:
    sizes = [size for each in found for size in known_sizes(each.transitions)]
    counts = [disjoint_pairs(each.transitions) for each in found]
    disjoint, pairs = (sum(count[at] for count in counts) for at in (0, 1))
    least, largest = (min(sizes), max(sizes)) if sizes else (None, None)
    factor = largest / least if least and largest else None
    return {
        "least_size": number(least),
        "largest_size": number(largest),
        "size_factor": number(factor, 2),
        "n_disjoint": share(disjoint, pairs),
    }


def _pairs(name: str, found: Sequence[Change]) -> Mapping[str, str]:
    more, fewer, known = grows(found)
    at_small = [change.steps_at_small for change in found if change.steps_at_small is not None]
    at_large = [change.steps_at_large for change in found if change.steps_at_large is not None]
    return {
        f"{name}_table": change_table(found),
        f"{name}_grows": share(more, known),
        f"{name}_shrinks": share(fewer, known),
        f"{name}_small": share(sum(ratio < 1 for ratio in at_small), len(at_small)),
        f"{name}_large": share(sum(ratio < 1 for ratio in at_large), len(at_large)),
        f"holds_{name}": _holds(more, known),
    }


def _quality(question: Question, found: Sequence[Loss]) -> Mapping[str, str]:
    counts = {kind: beyond_chance(found, kind) for kind in ("steps", "examples", "unlimited")}
    lost, known = counts["unlimited"]
    return {
        "quality_metric": question.metric,
        "quality_table": loss_table(found),
        **{f"loss_{kind}": share(*count) for kind, count in counts.items()},
        "holds_quality": _holds(known - lost, known),
    }


def _learning_rates(question: Question, found: Sequence[Growth]) -> Mapping[str, str]:
    known = [growth for growth in found if growth.exponent is not None]
    roots, linear = (sum(growth.holds(p) for growth in known) for p in (SQUARE_ROOT, LINEAR))
    return {
        "learning_rate_goal": str(question),
        "learning_rate_table": growth_table(found),
        "n_square_root": share(roots, len(known)),
        "n_linear": share(linear, len(known)),
        "holds_learning_rates": "holds" if max(roots, linear) < len(known) else "not seen",
    }


def _holds(count: int, total: int) -> str:
    """A verdict in a word, by how many cases there are for it."""
    if not total:
        return "can't be told"
    if count == total:
        return "holds"
    if count == 0:
        return "not seen"
    return "holds mostly" if count > total / 2 else "seldom"
