"""The workloads, studies and trials that parameters name."""

from __future__ import annotations

from losslake.questions.errors import BadParameter
from losslake_schema.errors import BadName
from losslake_schema.names import Study, Trial, Workload


def named_workload(path: str) -> Workload:
    """The workload that a parameter names; raises BadParameter."""
    try:
        return Workload.parse(path)
    except BadName as error:
        raise BadParameter("workload", str(error)) from None


def named_study(path: str) -> Study:
    """The study that a parameter names; raises BadParameter."""
    try:
        return Study.parse(path)
    except BadName as error:
        raise BadParameter("study", str(error)) from None


def named_trial(path: str) -> Trial:
    """The trial that a parameter names; raises BadParameter."""
    try:
        return Trial.parse(path)
    except BadName as error:
        raise BadParameter("trial", str(error)) from None
