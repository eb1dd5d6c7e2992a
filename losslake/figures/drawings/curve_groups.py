"""Which lines of a figure of curves are drawn alike: those of a trial, a study, a status or an outcome."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from losslake.figures import theme
from losslake.figures.charts.curves import Look
from losslake.figures.charts.learning_rate_momentum import OUTCOMES
from losslake.figures.curve_colours import ColourBy
from losslake.figures.drawings.curve_lines import Line
from losslake.questions.errors import BadParameter
from losslake.questions.release_view import ReleaseView
from losslake.questions.workload_facts import workload_labels
from losslake_schema.names import Study, Workload
from losslake_schema.reached import hits, sign_of
from losslake_schema.tables import STATUSES

MOST_NAMED = 7
_MOST_IN_A_LEGEND = 24
_OF_STATUS = {"COMPLETE": "reached", "INCOMPLETE": "incomplete", "INFEASIBLE": "infeasible"}


@dataclass(frozen=True)
class Groups:
    """Groups of lines: the name of each trial's by its number, and all names in order.

    common: what all lines have in common. is_ordered: whether the order of names means much. looks: by name, where they
    are not of the palette.
    """

    common: str
    by_number: Mapping[int, str]
    names: Sequence[str]
    is_ordered: bool = False
    looks: Mapping[str, Look] = field(default_factory=dict)

    @property
    def in_legend(self) -> Sequence[str]:
        """The names that a legend has; none where there are too many, or but one without a name."""
        return self.names if any(self.names) and len(self.names) <= _MOST_IN_A_LEGEND else []


def groups_of(lines: Sequence[Line], colour_by: ColourBy | None, outcomes: Mapping[int, str]) -> Groups:
    """Groups by what colours tell apart; None: by trial where there are few, else by study.

    outcomes: by number of the trial, for colour_by=outcome.
    """
    sizes = {line.batch_size for line in lines}
    workloads = workload_labels(list(dict.fromkeys(line.workload for line in lines)))
    common = workloads.common + (f"/{min(sizes)}" if len(sizes) == 1 else "")
    if colour_by == "status":
        return _by_fate(common, {line.number: _OF_STATUS[line.status] for line in lines}, _words_of_status())
    if colour_by == "outcome":
        return _by_fate(common, outcomes, {each.value: each.words for each in OUTCOMES})
    several_sizes = len(sizes) > 1
    several_trials = len({line.trial_id for line in lines}) > 1
    few = len({line.number for line in lines}) <= MOST_NAMED
    by_trial = colour_by == "trial" or (colour_by is None and few and (several_trials or not several_sizes))
    texts = {}
    for line in sorted(lines, key=lambda line: (line.workload, line.batch_size, line.trial_id)):
        parts = [workloads.own[line.workload]] if workloads.own[line.workload] else []
        parts += [f"batch size {line.batch_size}"] if several_sizes else []
        parts += [f"trial {line.trial_id}"] if by_trial else []
        texts[line.number] = ", ".join(parts)
    is_ordered = several_sizes and not by_trial and len(workloads.own) == 1
    return Groups(common, texts, list(dict.fromkeys(texts.values())), is_ordered)


def outcomes_of(rows: pa.Table, lines: Sequence[Line], view: ReleaseView, target: float | None) -> dict[int, str]:
    """What became of each trial by its number, as /v1/analysis/metaparameter-map calls it; raises BadParameter."""
    if target is None:
        raise BadParameter("target", "colour_by=outcome tells which trials reached a target: give target=…")
    if not lines:
        return {}
    values = rows["value"].to_numpy().astype(np.float64)
    found = {}
    for line in lines:
        facts, index = view.study(Study(Workload.parse(line.workload), line.batch_size))
        direction = view.metric(facts, line.metric, index).direction
        if direction is None:
            why = f"which way {line.metric} is better is not known: colour by something else"
            raise BadParameter("colour_by", why)
        own = values[line.start : line.end]
        sign = sign_of(direction)
        is_reached = bool(hits(own * sign, target * sign).any())
        complete = "reached" if is_reached else "not reached"
        found[line.number] = complete if line.status == STATUSES[0] else line.status.lower()
    return found


def _words_of_status() -> dict[str, str]:
    return {value: status.capitalize() for status, value in _OF_STATUS.items()}


def _by_fate(common: str, fates: Mapping[int, str], words: Mapping[str, str]) -> Groups:
    """A group for each of OUTCOMES that there is, with how many trials it has; the last are above the others."""
    counts = Counter(fates.values())
    present = [each for each in reversed(OUTCOMES) if counts[each.value]]
    names = {each.value: f"{words[each.value]} ({counts[each.value]:,})" for each in present}
    looks = {names[each.value]: Look(each.colour, theme.DASHES[OUTCOMES[::-1].index(each)]) for each in present}
    by_number = {number: names[value] for number, value in fates.items()}
    return Groups(common, by_number, list(names.values()), looks=looks)
