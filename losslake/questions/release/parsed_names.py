"""Parse the workloads, studies and trials that parameters name."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from losslake.questions.release.errors import BadParameter
from losslake_schema.errors import BadName
from losslake_schema.names import Study, Trial, Workload

_Name = TypeVar("_Name", Workload, Study, Trial)


@lru_cache(1024)
def parse_workload(path: str, parameter: str = "workload") -> Workload:
    """Return the workload that a parameter names; raises BadParameter."""
    return _parsed(Workload.parse, path, parameter)


def parse_study(path: str) -> Study:
    """Return the study that a parameter names; raises BadParameter."""
    return _parsed(Study.parse, path, "study")


def parse_trial(path: str) -> Trial:
    """Return the trial that a parameter names; raises BadParameter."""
    return _parsed(Trial.parse, path, "trial")


def _parsed(parse: Callable[[str], _Name], path: str, parameter: str) -> _Name:
    try:
        return parse(path)
    except BadName as error:
        raise BadParameter(parameter, f"{error}; a search of workloads (q=) finds it by words") from None
