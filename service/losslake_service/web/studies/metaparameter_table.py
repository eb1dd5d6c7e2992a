"""A table of a study's metaparameters: what was searched, what was tried, and with what the goal was reached."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from losslake_service.web.studies.metaparameters import MOST_NAMED, Metaparameter, shown, span
from losslake_service.web.studies.trials import StudyTrials

MOST_ROWS = 40


@dataclass(frozen=True)
class MetaparameterRow:
    """A metaparameter, in words. searched: the range it was drawn from. tried: by any trial. reached: by those that
    reached the goal. best: by the study's best trial."""

    name: str
    searched: str
    tried: str
    reached: str
    best: str


def metaparameter_rows(
    trials: StudyTrials, metaparameters: Sequence[Metaparameter], space: Mapping[str, str]
) -> Sequence[MetaparameterRow]:
    """A row for each metaparameter that was tried or was to be searched; those that differ come first."""
    ranked, best = trials.ranked, trials.best
    rows = [
        MetaparameterRow(
            name=each.name,
            searched=space.get(each.name, ""),
            tried=span(each.values),
            reached=span([each.values[row] for row in ranked]) if ranked else "",
            best=shown(None if best is None else each.values[best]),
        )
        for each in metaparameters
    ]
    tried = {each.name for each in metaparameters}
    return rows + [MetaparameterRow(name, words, "", "", "") for name, words in space.items() if name not in tried]


def told(metaparameters: Sequence[Metaparameter], row: int) -> str:
    """The metaparameters that tell a trial from others, for a sentence: learning_rate 0.31, momentum 0.9."""
    told = [each for each in metaparameters if not each.is_constant] or list(metaparameters)
    parts = [f"{each.name} {shown(each.values[row])}" for each in told if each.values[row] is not None]
    if len(parts) > MOST_NAMED:
        parts[MOST_NAMED:] = [f"{len(parts) - MOST_NAMED} more"]
    return " and ".join(filter(None, [", ".join(parts[:-1]), *parts[-1:]]))
