"""The studies of a competition of AlgoPerf: by submission and workload, what each takes to the validation target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from losslake.analysis.performance_profile import Scores, scores
from losslake.analysis.resampled_scores import StudyTimes, median_times
from losslake.questions.release.known_names import name_of_part
from losslake.questions.release.view import ReleaseView
from losslake_schema.package_files import read_toml
from losslake_schema.reached import Floats, Integers


@dataclass(frozen=True)
class League:
    """A competition, as its rules say.

    collection: of its logs. workloads: `dataset/model` of each, with that of its held-out variant, empty for none.
    n_studies, n_trials: of each workload, and of each study. rule: what a study is, in words. published: scores.
    """

    collection: str
    title: str
    workloads: Mapping[str, str]
    n_studies: int
    n_trials: int
    rule: str
    published: Mapping[str, float]

    @property
    def places(self) -> tuple[str, ...]:
        """The workloads, and after them the variants."""
        return *self.workloads, *(variant for variant in self.workloads.values() if variant)

    @property
    def base_of(self) -> Integers:
        """The index of the workload of each variant, in the order of the variants."""
        return np.array([number for number, variant in enumerate(self.workloads.values()) if variant], np.int64)

    def scores(self, times: Floats) -> Scores:
        """Return AlgoPerf's scores. times: (…, submissions, places)."""
        n = len(self.workloads)
        return scores(times[..., :n], times[..., n:], self.base_of)


@cache
def leagues() -> Mapping[str, League]:
    """Return all competitions by their collection, the newest rules last."""
    declared = read_toml("losslake.questions", "leagues.toml")
    found = {}
    for each in declared["leagues"]:
        about = {name: value for name, value in each.items() if name != "has_variants"}
        workloads = declared["workloads"] if each["has_variants"] else dict.fromkeys(declared["workloads"], "")
        found[each["collection"]] = League(workloads=workloads, **about)
    return found


def submission_name(submission: str, collection: str) -> str:
    """Return what people call a submission to a competition."""
    name = "baseline" if submission == "baseline" else name_of_part("optimizer", submission, collection)
    return name[:1].upper() + name[1:]


@dataclass(frozen=True)
class StudyResult:
    """A study. seconds, steps: the least of any of its trials, inf if none reaches the target.

    by_evaluation: the seconds of the trial that reaches it with the fewest evaluations, as AlgoPerf's scoring code has
    it; of equal ones, the least.
    """

    n_trials: int
    seconds: float
    steps: float
    by_evaluation: float


@dataclass(frozen=True)
class LeagueStudies:
    """The studies of all submissions by name, each by place of the league, in their order; empty for no trials.

    batch_sizes: by submission and place.
    """

    league: League
    submissions: tuple[str, ...]
    studies: Mapping[tuple[str, str], Sequence[StudyResult]]
    batch_sizes: Mapping[tuple[str, str], int]

    def times(self, name: str) -> StudyTimes:
        """Return that field of each study, by submission and place."""
        return [
            [np.array([getattr(study, name) for study in self.at(submission, place)]) for place in self.league.places]
            for submission in self.submissions
        ]

    def at(self, submission: str, place: str) -> Sequence[StudyResult]:
        """Return the studies of a submission on a workload or variant."""
        return self.studies.get((submission, place), ())

    @cached_property
    def seconds(self) -> Floats:
        """The median over studies of the seconds to the target, (submissions, places); NaN for no trials."""
        return median_times(self.times("seconds"))

    @cached_property
    def score(self) -> Scores:
        """AlgoPerf's scores by submission."""
        return self.league.scores(self.seconds)

    def gaps(self) -> Iterator[str]:
        """Yield in words what the studies lack of what the rules say."""
        for submission in self.submissions:
            for place in self.league.places:
                studies = self.at(submission, place)
                where = f"{submission} on {place}"
                if not studies:
                    yield f"{where}: no trials, which count as not reaching the target"
                    continue
                if len(studies) < self.league.n_studies:
                    yield f"{where}: {len(studies)} of {self.league.n_studies} studies have evaluated trials"
                n_fewer = sum(study.n_trials < self.league.n_trials for study in studies)
                if n_fewer:
                    counts = ", ".join(str(study.n_trials) for study in studies)
                    yield f"{where}: fewer than {self.league.n_trials} trials in {n_fewer} of its studies ({counts})"


def league_studies(view: ReleaseView, league: League) -> LeagueStudies:
    """Return the studies of a competition; without submissions, if the release doesn't have its collection."""
    if league.collection not in {workload.collection for workload in view.workloads}:
        return LeagueStudies(league, (), {}, {})
    table = view.table("trials_of_league", {"collection": league.collection})
    trials: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    batch_sizes = {}
    for row in table.to_pylist():
        key = row["submission"], row["place"]
        trials.setdefault(key, {}).setdefault(str(row["study"]), []).append(row)
        batch_sizes[key] = row["batch_size"]
    places = set(league.places)
    submissions = tuple(sorted({submission for submission, place in trials if place in places}))
    studies = {key: [_result(each) for each in of_study.values()] for key, of_study in trials.items()}
    return LeagueStudies(league, submissions, studies, batch_sizes)


def _result(trials: Sequence[Mapping[str, Any]]) -> StudyResult:
    reached = [trial for trial in trials if trial["steps"] is not None and trial["seconds"] is not None]
    if not reached:
        return StudyResult(len(trials), np.inf, np.inf, np.inf)
    return StudyResult(
        n_trials=len(trials),
        seconds=min(trial["seconds"] for trial in reached),
        steps=float(min(trial["steps"] for trial in reached)),
        by_evaluation=min((trial["n_before"], trial["seconds"]) for trial in reached)[1],
    )
