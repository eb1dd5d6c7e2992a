"""Groups of curves: which lines of a figure share a colour, and the name of each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from losslake.figures import theme
from losslake.figures.fact_colours import NOT_STATED, OTHERS
from losslake.figures.outcomes import OUTCOMES
from losslake.figures.series_colours import look_numbers
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.workload_facts import workload_labels
from losslake_schema.names import SCHEDULED, Study, Trial, Workload, size_name
from losslake_schema.statuses import COMPLETE, INCOMPLETE, INFEASIBLE, MISSED

_MOST_NAMED = 7
_MOST_IN_A_LEGEND = 24
_OF_STATUS: dict[str, str] = {
    COMPLETE: "reached", MISSED: "not reached", INCOMPLETE: "incomplete", INFEASIBLE: "infeasible",
}  # fmt: skip
# The style of a series' lines: colour, and the px of alternating dashes and gaps.
LineStyle = tuple[str, tuple[int, ...]]
ColourBy = Literal["trial", "study", "status", "outcome", "fact"]


class CurveColours(BaseModel):
    """The colours of curves."""

    model_config = ConfigDict(use_attribute_docstrings=True, frozen=True)

    colour_by: Annotated[ColourBy | None, Field(examples=["status"])] = None
    """Colour by trial, study, status of the trial, outcome (reached a target, not reached, stopped or diverged), or by
    a fact of the trial. Default: trial for up to 7 trials, else study."""
    fact: Annotated[str | None, Field(examples=["org"])] = None
    """With colour_by=fact: a metaparameter, or what logs say of round, organisation or system. The 7 most frequent
    values have a colour each."""
    highlight: Annotated[list[str], Field(max_length=200, examples=[["bundled/digits/softmax/sgd/64/1"]])] = Field(
        default_factory=list
    )
    """This trial in colour over the others in grey; may be repeated. It replaces colour_by."""
    mean: Annotated[Literal["settings"] | None, Field(examples=["settings"])] = None
    """settings: over the curves, the mean of each setting over its trials, at steps of which at least 2 have finite
    values, with a t interval of the mean. The 7 settings of most trials have a colour each, unless colour_by is
    study or fact. Curves are then not thinned."""
    target: Annotated[float | None, Field(allow_inf_nan=False, examples=[0.05])] = None
    """A value of the metric, drawn as a line; with colour_by=outcome, the target that decides outcomes."""


@dataclass(frozen=True)
class Line:
    """The rows start:end of an answer, of one trial and metric. number: of the trial, the same for all its metrics."""

    workload: str
    batch_size: int
    trial_id: int
    metric: str
    status: str
    number: int
    start: int
    end: int

    @property
    def trial(self) -> Trial:
        """The trial."""
        return Trial(Study(Workload.parse(self.workload), self.batch_size), self.trial_id)


@dataclass(frozen=True)
class Groups:
    """Groups of lines: the name of each trial's group by the trial's number, and all names in order.

    common: the name that all lines share. is_ordered: the order of the names is meaningful. styles: by name, if
    they differ from the palette.
    """

    common: str
    by_number: Mapping[int, str]
    names: Sequence[str]
    is_ordered: bool = False
    styles: Mapping[str, LineStyle] = field(default_factory=dict)

    @property
    def in_legend(self) -> Sequence[str]:
        """The names in the legend; none if there are too many, or only an empty one."""
        return self.names if any(self.names) and len(self.names) <= _MOST_IN_A_LEGEND else []


def groups_of_lines(lines: Sequence[Line], colour_by: ColourBy | None, outcomes: Mapping[int, str]) -> Groups:
    """Return the groups that colours distinguish. colour_by: None: by trial if there are few, else by study.

    outcomes: by number of the trial, for colour_by=outcome.
    """
    sizes = {line.batch_size for line in lines}
    workloads = workload_labels(list(dict.fromkeys(line.workload for line in lines)))
    common = workloads.common + (f"/{size_name(min(sizes))}" if len(sizes) == 1 else "")
    if colour_by == "status":
        words = {value: status.capitalize() for status, value in _OF_STATUS.items()}
        return _groups_by_outcome(common, {line.number: _OF_STATUS[line.status] for line in lines}, words)
    if colour_by == "outcome":
        return _groups_by_outcome(common, outcomes, {each.value: each.words for each in OUTCOMES})
    several_sizes = len(sizes) > 1
    several_trials = len({line.trial_id for line in lines}) > 1
    few = len({line.number for line in lines}) <= _MOST_NAMED
    by_trial = colour_by == "trial" or (colour_by is None and few and (several_trials or not several_sizes))
    texts = {}
    for line in sorted(lines, key=lambda line: (line.workload, line.batch_size, line.trial_id)):
        parts = [workloads.short[line.workload]] if workloads.short[line.workload] else []
        size = f"batch size {line.batch_size}" if line.batch_size else SCHEDULED
        parts += [size] if several_sizes else []
        parts += [f"trial {line.trial_id}"] if by_trial else []
        texts[line.number] = ", ".join(parts)
    is_ordered = several_sizes and not by_trial and len(workloads.short) == 1
    return Groups(common, texts, list(dict.fromkeys(texts.values())), is_ordered)


def groups_of_highlighted(lines: Sequence[Line], parameters: CurveColours) -> Groups:
    """Return two groups: the trials to highlight, drawn on top, and the others in grey."""
    if parameters.colour_by is not None:
        raise BadParameter("highlight", "highlight and colour_by both choose the colours: give one of them")
    chosen = set(parameters.highlight)
    numbers = {line.number: str(line.trial) in chosen for line in lines}
    unknown = sorted(chosen - {str(line.trial) for line in lines})
    if unknown:
        raise BadParameter("highlight", f"highlight={unknown[0]}: no curve of this figure is of this trial")
    n = sum(numbers.values())
    others, highlighted = f"others ({len(numbers) - n:,})", f"highlighted ({n:,})"
    styles = {others: (theme.CONTOUR, theme.DASHES[0]), highlighted: (theme.COLOURS[0], theme.DASHES[0])}
    by_number = {number: highlighted if is_chosen else others for number, is_chosen in numbers.items()}
    common = workload_labels(list(dict.fromkeys(line.workload for line in lines))).common
    return Groups(common, by_number, [name for name in styles if name in by_number.values()], styles=styles)


def groups_by_setting(lines: Sequence[Line], settings: Mapping[int, int]) -> Groups:
    """Return a group for each setting of most trials, named by its first one; the others in grey, below them."""
    trials = {line.number: line for line in sorted(lines, key=lambda line: -line.number)}
    firsts = {settings[number]: line for number, line in trials.items()}
    sizes = Counter(settings.values())
    named = [setting for setting, n in sizes.most_common(len(theme.COLOURS)) if n > 1]
    of_studies = groups_of_lines(lines, "study", {})
    names = {}
    for setting in named:
        study = of_studies.by_number[firsts[setting].number]
        text = f"trial {firsts[setting].trial_id} and {sizes[setting] - 1:,} more"
        names[setting] = f"{study}, {text}" if study else text
    n_others = len(settings) - sum(sizes[setting] for setting in named)
    others = f"other settings ({n_others:,})"
    styles = {others: (theme.CONTOUR, theme.DASHES[0])} if n_others else {}
    styles |= {names[setting]: (colour, theme.DASHES[0]) for setting, colour in zip(named, theme.COLOURS, strict=False)}
    by_number = {number: names.get(setting, others) for number, setting in settings.items()}
    return Groups(of_studies.common, by_number, list(styles), styles=styles)


def groups_of_facts(lines: Sequence[Line], by_number: Mapping[int, str]) -> Groups:
    """Return the groups of a fact: the rest in grey, then the most frequent; later groups are drawn on top."""
    counts = Counter(by_number.values())
    rest = [name for name in sorted(counts) if name.startswith((f"{OTHERS} (", f"{NOT_STATED} ("))]
    named = sorted(counts.keys() - {*rest}, key=lambda name: (-counts[name], name))
    styles = dict(zip(rest, ((theme.CONTOUR, theme.DASHES[2]), (theme.NEUTRAL, theme.DASHES[1])), strict=False))
    values = [name.rpartition(" (")[0] for name in named]
    colours = [theme.COLOURS[number % len(theme.COLOURS)] for number in look_numbers(values)]
    styles |= {name: (colour, theme.DASHES[0]) for name, colour in zip(named, colours, strict=True)}
    return Groups(groups_of_lines(lines, "study", {}).common, by_number, [*rest, *named], styles=styles)


def _groups_by_outcome(common: str, outcomes: Mapping[int, str], words: Mapping[str, str]) -> Groups:
    """Return a group for each outcome that occurs, with its number of trials; later groups are drawn on top."""
    counts = Counter(outcomes.values())
    names = {
        each.value: f"{words[each.value]} ({counts[each.value]:,})" for each in OUTCOMES[::-1] if counts[each.value]
    }
    styles = {
        names[each.value]: (each.colour, dash)
        for each, dash in zip(OUTCOMES[::-1], theme.DASHES, strict=True)
        if each.value in names
    }
    by_number = {number: names[value] for number, value in outcomes.items()}
    return Groups(common, by_number, list(names.values()), styles=styles)
