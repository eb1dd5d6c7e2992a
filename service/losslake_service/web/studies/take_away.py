"""What a page offers of its table and of its raw data: files, and lines to copy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from losslake_schema.names import Study, Trial
from losslake_schema.tables import STATUSES
from losslake_service.web.addresses import Query, with_query
from losslake_service.web.chart import Line
from losslake_service.web.goals import GoalShown
from losslake_service.web.page import PageAsked
from losslake_service.web.snippets import snippets
from losslake_service.web.statements import statement

_ENDINGS = (("CSV", "csv"), ("JSON", "json"), ("Parquet", "parquet"))
_KINDS = {"application/json", "text/csv", "application/vnd.apache.parquet"}


@dataclass(frozen=True)
class Link:
    """A link with its text."""

    text: str
    url: str


@dataclass(frozen=True)
class TakeAway:
    """An answer of REST in all its forms. name: to be told from others of the page. sql: what gives the same rows."""

    name: str
    title: str
    links: Sequence[Link]
    lines: Sequence[Line]
    sql: str = ""


def trials_of_study(asked: PageAsked, study: Study) -> TakeAway:
    """All trials with their metaparameters and sources."""
    return _take_away(asked, "of-trials", "Trials and metaparameters", "/v1/trials", [("study", str(study))])


def steps_of_study(asked: PageAsked, study: Study, goal: GoalShown) -> TakeAway:
    """All trials with their steps to the goal."""
    query = [("workload", str(study.workload)), ("batch_size", str(study.batch_size))]
    query += [("metric", goal.metric), ("target", repr(goal.target)), *(("status", status) for status in STATUSES)]
    sql = statement("trials_of_study", metric=goal.metric, target=goal.target, **study.key())
    return _take_away(asked, "of-steps", "Steps to the target", "/v1/steps-to-target", query, sql)


def curves_of_study(asked: PageAsked, study: Study) -> TakeAway:
    """Every measurement of a study."""
    return _take_away(asked, "of-curves", "Every measurement", "/v1/curves", [("study", str(study))])


def curves_of_trial(asked: PageAsked, trial: Trial) -> TakeAway:
    """Every measurement of a trial."""
    sql = statement("curves_of_trial", trial_id=trial.trial_id, **trial.study.key())
    return _take_away(asked, "of-curves", "Every measurement", "/v1/curves", [("trial", str(trial))], sql)


def _take_away(asked: PageAsked, name: str, title: str, path: str, query: Query, sql: str = "") -> TakeAway:
    pinned = [*query, ("release", str(asked.view.number))]
    links = [Link(text, with_query(f"{path}.{ending}", pinned)) for text, ending in _ENDINGS]
    lines = [Line(*found) for found in snippets(asked.address, path, pinned, _KINDS)]
    return TakeAway(name, title, links, lines, sql)
