"""The switch of a page between what it can count: steps, examples, epochs, tokens, FLOPs and times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from losslake.questions.declaration.measured import MeasureParameters
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.measure import refusals
from losslake.questions.trials.search import open_searches
from losslake.questions.trials.selection import Selection
from losslake.questions.trials.step_amounts import MeasureName, measure_noun
from losslake_service.web.page import GoalParameters

# What a reader can tell where logs don't: the label of its field, by parameter.
_FIELD_LABELS = {
    "examples_per_epoch": "Examples in an epoch",
    "tokens_per_example": "Tokens in an example",
    "n_parameters": "Parameters of the model",
    "accelerators": "Accelerators of each trial",
}


class CountedParameters(MeasureParameters, GoalParameters):
    """The query of a page about a goal, in what is counted."""

    @property
    def goal(self) -> dict[str, object]:
        """The parameters of links to pages about the same goal, in the same measure."""
        return super().goal | measured(self)

    def kept(self, *without: str) -> list[tuple[str, object]]:
        """Return the names and values of the parameters that differ from their defaults, for hidden fields."""
        changed = self.model_dump(exclude_defaults=True, exclude={"release", "page", *without})
        return list(changed.items())

    def kept_uncounted(self, *without: str) -> list[tuple[str, object]]:
        """Return the same without the parameters of what is counted, which the forms of measures give themselves."""
        return self.kept(*MeasureParameters.model_fields, *without)


@dataclass(frozen=True)
class OfferedMeasure:
    """A measure that a page offers.

    url: of the page in this measure; empty if it needs `parameter`, or can't be had. why_not: empty if it can. label:
    of the field for the parameter.
    """

    name: MeasureName
    noun: str
    url: str
    is_current: bool
    why_not: str = ""
    parameter: str = ""
    label: str = ""


def batch_unit(view: ReleaseView, facts: WorkloadFacts) -> str:
    """Return what the batch sizes of a workload or a pool count, mostly examples."""
    stored = next(stored for _, _, stored, _ in facts.parts())
    return view.batch_units(stored)[0]


def measured(parameters: MeasureParameters) -> dict[str, Any]:
    """Return the parameters of what is counted; none for steps."""
    names = set(MeasureParameters.model_fields) if parameters.measure != "steps" else set()
    return parameters.model_dump(include=names, exclude_defaults=True)


def offered_measures(
    view: ReleaseView, selection: Selection, current: Mapping[str, Any], url: Callable[..., str]
) -> Iterator[OfferedMeasure]:
    """Yield what the trials of all selected workloads can be counted in. url: returns the page with changes.

    Of models whose size and tokens are both unknown, neither tokens nor FLOPs are offered: they may read no text.
    """
    refused: dict[MeasureName, BadParameter] = {}
    for search in open_searches(view, selection, with_schedules=True):
        refused = refusals(view, search) | refused
    unknown = {refused[name].parameter for name in ("tokens", "flops") if name in refused}
    labels = {name: label for name, label in _FIELD_LABELS.items() if len(unknown) < 2 or name not in unknown}
    for name in get_args(MeasureName):
        noun, why = measure_noun(name), refused.get(name)
        is_current = name == current.get("measure", "steps")
        if why is None or is_current:
            changes = dict.fromkeys(MeasureParameters.model_fields) | {"measure": None if name == "steps" else name}
            yield OfferedMeasure(name, noun, url(**changes), is_current)
        else:
            yield OfferedMeasure(name, noun, "", False, str(why), why.parameter, labels.get(why.parameter, ""))
