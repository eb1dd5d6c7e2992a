"""AlgoPerf's competitions: scores of submissions with intervals, verdicts on pairs, and times by workload."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import pyarrow as pa

from losslake.analysis.measured_levels import measured
from losslake.analysis.performance_profile import LARGEST_RATIO, staircase
from losslake.analysis.resampled_scores import DRAWS, LEVEL, compared_pairs, intervals, median_times
from losslake.analysis.resampled_scores import resampled_scores as resampled
from losslake.output.answer import Answer
from losslake.output.rows import Row, shown
from losslake.questions.declaration.parameters import FieldsParameters, ReleaseParameters
from losslake.questions.declaration.question import Question
from losslake.questions.declaration.summary import Finding, ReleaseSummary, Summary
from losslake.questions.release.errors import BadParameter
from losslake.questions.release.view import ReleaseView
from losslake.questions.trials.league_studies import League, LeagueStudies, league_studies, leagues
from losslake_schema.reached import Floats

_FEW_STUDIES = 5
_EXAMPLE = "algoperf/v05/external_tuning"


class LeagueParameters(FieldsParameters, ReleaseParameters):
    """The competition."""

    collection: Annotated[str, shown(_EXAMPLE)] = ""
    """The competition: a collection of AlgoPerf, which is one version and ruleset. Default: the first of the release.
    Submissions of different rulesets have different budgets and are never compared."""


class LeagueRow(Row):
    """A submission on a workload or on a held-out variant of one."""

    submission: Annotated[str, shown("shampoo_submission")]
    """The submission, which is the optimizer of its workloads."""
    workload: Annotated[str | None, shown("algoperf/v05/external_tuning/imagenet/vit/shampoo_submission")]
    """The workload: collection/dataset/model/optimizer; null if the submission has no trials there."""
    dataset: str
    model: str
    is_held_out: Annotated[bool, shown(False)]
    """True for a variant: it has no share in the score, but a workload counts only if its variant was reached, too."""
    batch_size: Annotated[int | None, shown(1024, "batch_unit of the study, mostly examples")]
    """The batch size that the submission chose; null without trials."""
    n_studies: Annotated[int, shown(5, "studies")]
    """Studies with evaluated trials."""
    n_trials: Annotated[int, shown(25, "trials")]
    """Evaluated trials of all its studies."""
    n_reached: Annotated[int, shown(5, "studies")]
    """Studies in which any trial reaches the validation target."""
    time_s: Annotated[float | None, shown(33094.0, "seconds")]
    """Median over studies of the least seconds in which any trial of the study reaches the target; a study that never
    does takes part as infinity; null if the median is infinite. It is the submission's time, without evaluations."""
    steps: Annotated[float | None, shown(96000.0, "steps")]
    """Likewise of the fewest steps, which may be those of another trial."""
    ratio: Annotated[float | None, shown(1.0, "none: a ratio")]
    """time_s over the least of all submissions that count there; null for a variant, and where it doesn't count."""
    outcome: Annotated[str, shown("counts")]
    """counts; or why not: no trials, not reached, over 4 times the best, variant not reached (or over 4 times the
    best)."""


class SubmissionScore(Summary):
    """A submission's place in the competition."""

    submission: str
    rank: int
    score: float
    lower: float
    upper: float
    n_counted: int
    n_best: int
    published: float | None
    code_score: float


class SubmissionPair(Summary):
    """Two submissions, the one with the higher score first."""

    first: str
    second: str
    difference: float
    lower: float
    upper: float
    p_value: float
    verdict: str


class ProfilePoint(Summary):
    """A point of the performance profile of a submission, where its share rises."""

    submission: str
    factor: float
    share: float


class LeagueSummary(ReleaseSummary, Finding):
    """The scores, their intervals, and what is clear about pairs."""

    collection: Annotated[str, shown(_EXAMPLE)]
    """The competition."""
    title: Annotated[str, shown("AlgoPerf v0.5, external tuning")]
    """Its version and ruleset."""
    budget: Annotated[str, shown("5 studies of 5 trials of each workload")]
    """The budget of every submission, in words."""
    n_workloads: Annotated[int, shown(8, "workloads")]
    """Workloads that the score is over."""
    level: Annotated[float, shown(0.9, "none: a fraction")]
    """The level of the intervals."""
    n_draws: Annotated[int, shown(DRAWS, "draws")]
    """Draws of studies."""
    scores: list[SubmissionScore]
    """The submissions, highest score first. lower, upper: the interval of the score. n_counted, n_best: workloads that
    count for it, and on which it is the fastest. published: the published score; null for none. The score by AlgoPerf's
    code takes the trial with the fewest evaluations instead of the fewest seconds."""
    pairs: list[SubmissionPair]
    """All pairs: the difference of scores with its interval, its p-value before the correction for the number of pairs,
    and the verdict: before, or no clear difference."""
    profiles: list[ProfilePoint]
    """Performance profiles: the share of workloads on which a submission takes at most `factor` times the least."""


def _answer(view: ReleaseView, parameters: LeagueParameters) -> Answer:
    """Return the table of a competition; raises BadParameter."""
    league = _chosen(view, parameters.collection)
    facts, table = view.kept(("league", league.collection), lambda: _computed(view, league))
    return QUESTION.of_table({"release": view.number, "definition": QUESTION.definition, **facts}, table)


QUESTION = Question(
    path="/v1/analysis/league",
    doc="AlgoPerf's submissions: scores with intervals, verdicts on pairs, time and steps by workload.",
    parameters=LeagueParameters,
    row=LeagueRow,
    summary=LeagueSummary,
    compute=_answer,
)


def present_leagues(view: ReleaseView) -> list[League]:
    """Return the competitions that a release has."""
    collections = {workload.collection for workload in view.workloads}
    return [league for name, league in leagues().items() if name in collections]


def _chosen(view: ReleaseView, collection: str) -> League:
    present = {league.collection: league for league in present_leagues(view)}
    if collection:
        if collection not in present:
            known = f": give {' or '.join(present)}" if present else ""
            raise BadParameter("collection", f"release {view.number} has no competition {collection}{known}")
        return present[collection]
    return next(iter(present.values()), next(iter(leagues().values())))


def _computed(view: ReleaseView, league: League) -> tuple[dict[str, Any], pa.Table]:
    """Return the summary, without the release, and the rows."""
    studies = league_studies(view, league)
    rows = list(_rows(studies)) if studies.submissions else []
    summary = {
        "collection": league.collection,
        "title": league.title,
        "budget": budget_in_words(league),
        "n_workloads": len(league.workloads),
        "level": LEVEL,
        "n_draws": DRAWS,
        **(_standings(studies) if studies.submissions else {"scores": [], "pairs": [], "profiles": []}),
        "n_used": sum(row["n_trials"] for row in rows),
        "left_out": [*_not_stored(studies), *studies.gaps()],
        "warnings": list(_warnings(studies)),
    }
    return summary, pa.Table.from_pylist(rows, QUESTION.rows.schema)


def budget_in_words(league: League) -> str:
    """Return the budget of every submission of a competition."""
    trials = f" of {league.n_trials} trials" if league.n_trials > 1 else ""
    return f"{league.n_studies} studies{trials} of each workload: {league.rule}"


def _standings(studies: LeagueStudies) -> dict[str, Any]:
    """Return the scores, pairs and profiles."""
    league, names = studies.league, studies.submissions
    score, ratios = studies.score.score, studies.score.ratios
    code = league.scores(median_times(studies.times("by_evaluation"))).score
    draws = resampled(studies.times("seconds"), lambda medians: league.scores(medians).score)
    lower, upper = intervals(draws)
    order = np.argsort(-score, kind="stable").tolist()
    places = {names[each]: place for place, each in enumerate(order)}
    return {
        "scores": [
            {
                "submission": names[each],
                "rank": 1 + int((score > score[each]).sum()),
                "score": float(score[each]),
                "lower": float(lower[each]),
                "upper": float(upper[each]),
                "n_counted": int(np.isfinite(ratios[each]).sum()),
                "n_best": int((ratios[each] == 1).sum()),
                "published": league.published.get(names[each]),
                "code_score": float(code[each]),
            }
            for each in order
        ],
        "pairs": sorted(
            _pairs(names, score, draws, places), key=lambda pair: (places[pair["first"]], places[pair["second"]])
        ),
        "profiles": [
            {"submission": names[each], "factor": factor, "share": share}
            for each in order
            for factor, share in zip(*(array.tolist() for array in staircase(ratios[each])), strict=True)
        ],
    }


def _pairs(names: Sequence[str], score: Floats, draws: Floats, places: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    """Yield all pairs of submissions. places: of the submissions by score; the better one of a pair is its first."""
    pairs = compared_pairs(draws)
    columns = (pairs.first, pairs.second, pairs.lower, pairs.upper, pairs.p_value, pairs.is_clear)
    for first, second, lower, upper, p_value, is_clear in zip(*(column.tolist() for column in columns), strict=True):
        if places[names[first]] > places[names[second]]:
            first, second, lower, upper = second, first, -upper, -lower
        difference = float(score[first] - score[second])
        is_before = is_clear and difference > 0 and lower > 0
        yield {
            "first": names[first],
            "second": names[second],
            "difference": difference,
            "lower": lower,
            "upper": upper,
            "p_value": p_value,
            "verdict": "before" if is_before else "no clear difference",
        }


def _rows(studies: LeagueStudies) -> Iterator[dict[str, Any]]:
    league, seconds = studies.league, studies.seconds
    steps, ratios, n = median_times(studies.times("steps")), studies.score.ratios, len(league.workloads)
    why = outcomes(studies)
    for i, submission in enumerate(studies.submissions):
        for j, place in enumerate(league.places):
            of_place = studies.at(submission, place)
            ratio = float(ratios[i, j]) if j < n else math.inf
            dataset, model = place.split("/")
            yield {
                "submission": submission,
                "workload": f"{league.collection}/{place}/{submission}" if of_place else None,
                "dataset": dataset,
                "model": model,
                "is_held_out": j >= n,
                "batch_size": studies.batch_sizes.get((submission, place)),
                "n_studies": len(of_place),
                "n_trials": sum(study.n_trials for study in of_place),
                "n_reached": sum(math.isfinite(study.seconds) for study in of_place),
                "time_s": _finite(seconds[i, j]),
                "steps": _finite(steps[i, j]),
                "ratio": _finite(ratio),
                "outcome": why[submission, place],
            }


def outcomes(studies: LeagueStudies) -> Mapping[tuple[str, str], str]:
    """Return by submission and place whether its time counts, or why not, by AlgoPerf's order of operations."""
    league, found = studies.league, dict[tuple[str, str], str]()
    n, seconds = len(league.workloads), studies.seconds
    reached = np.where(np.isnan(seconds), np.inf, seconds)
    # A variant's time counts only if its workload was reached.
    valid = reached.copy()
    for variant, base in enumerate(league.base_of.tolist(), n):
        valid[np.isinf(reached[:, base]), variant] = np.inf
    best = valid.min(axis=0, initial=np.inf)
    for i, submission in enumerate(studies.submissions):
        for j, place in enumerate(league.places):
            if np.isnan(seconds[i, j]):
                why = "no trials"
            elif np.isinf(reached[i, j]):
                why = "not reached"
            elif valid[i, j] > LARGEST_RATIO * best[j]:
                why = "over 4 times the best" if np.isfinite(valid[i, j]) else "workload not reached"
            else:
                why = "counts"
            found[submission, place] = why
        for variant, base in enumerate(league.base_of.tolist(), n):
            base_key, of_variant = (submission, league.places[base]), found[submission, league.places[variant]]
            if found[base_key] == "counts" and of_variant != "counts":
                found[base_key] = f"variant {'not reached' if of_variant == 'no trials' else of_variant}"
    return found


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _not_stored(studies: LeagueStudies) -> Iterator[str]:
    if studies.submissions:
        for submission, score in studies.league.published.items():
            if submission not in studies.submissions:
                yield f"{submission}, published with {score:.4f}: its trials aren't in the collection"


def _warnings(studies: LeagueStudies) -> Iterator[str]:
    if not studies.submissions:
        yield "this release has no competition of AlgoPerf"
        return
    if len(studies.submissions) == 1:
        yield f"there is nothing to compare {studies.submissions[0]} with: its ratios are to itself"
    if studies.league.n_studies < _FEW_STUDIES:
        yield (
            f"{studies.league.n_studies} studies say little about how much times vary: in simulations, such intervals "
            f"held {measured('league few')} of the time"
        )
    yield (
        "intervals are for submissions that differ by three times as much as their studies do, as those of AlgoPerf's "
        f"first competition: of closer ones they held {measured('league close')} of the time in simulations"
    )
