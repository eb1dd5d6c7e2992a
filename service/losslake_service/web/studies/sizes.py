"""The batch sizes of a workload, to go from one study to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake.questions.workload_facts import WorkloadFacts
from losslake_schema.names import Study
from losslake_service.web.page import PageAsked
from losslake_service.web.studies.study_state import StudyParameters

_MOST_SIZES = 40


@dataclass(frozen=True)
class Size:
    """A batch size. url: of the page of its study, with the same goal."""

    batch_size: int
    url: str


@dataclass(frozen=True)
class Sizes:
    """near: batch sizes around this one, ascending, n_all of them in the workload. before, after: next to this one."""

    near: Sequence[Size]
    n_all: int
    before: Size | None
    after: Size | None


def sizes_of(asked: PageAsked, facts: WorkloadFacts, study: int, state: StudyParameters) -> Sizes:
    """The batch sizes beside the study of that index."""
    goal = {"metric": state.metric, "target": state.target}
    found = [
        Size(batch_size, asked.page_of(Study(facts.workload, batch_size), **goal)) for batch_size in facts.batch_sizes
    ]
    first = max(0, min(study - _MOST_SIZES // 2, len(found) - _MOST_SIZES))
    return Sizes(
        near=found[first : first + _MOST_SIZES],
        n_all=len(found),
        before=found[study - 1] if study else None,
        after=found[study + 1] if study + 1 < len(found) else None,
    )
