"""Questions to a release at full scale, in-process and over HTTP, with checks of the answers.

In-process is from the question to JSON. Over HTTP one client asks one question after the other on one connection;
beside it, the same connection asks for /healthz, which is the floor of the HTTP stack.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from urllib.parse import urlencode

from bench.answers import by_sql, expect_curve, expect_study, results_in, results_of
from bench.asking import Times, ask, expect
from bench.growth import Figure, Limit, spread
from bench.measure import milliseconds
from bench.scaling import ScalingQuestion, questions
from bench.servers import get, service
from bench.truth import StudyTruth
from losslake.lake.lake import Lake
from losslake.output.formats import json_pieces
from losslake.questions import curves
from losslake.questions.release.view import ReleaseView
from losslake_schema.names import Trial

EVERYWHERE = "val/cross_entropy_error"
LEAST_TARGET, MOST_TARGET = 0.05, 8.0
COMPARED_WITH_SQL = 10
ONE, ONE_OVER_HTTP, ALL = Limit(5.0, 1.5), Limit(8.0, 1.5), Limit(150.0, 1.5)


@dataclass(frozen=True)
class Effort:
    """Number of questions of each kind, and of times that a release is opened.

    processes: in how many processes scaling is asked for; some are faster than others from start to end.
    """

    scaling: int = 400
    all_workloads: int = 40
    curves: int = 200
    studies: int = 20
    openings: int = 5
    processes: int = 5


LEAST_EFFORT = Effort(scaling=2, all_workloads=1, curves=2, studies=1, openings=1, processes=1)


@dataclass(frozen=True)
class CurvesQuestion:
    """The curve of a study's best trial, or the curves of all its trials; of the metric of its goal."""

    truth: StudyTruth
    is_whole: bool

    @property
    def question(self) -> curves.CurvesParameters:
        study, metrics = self.truth.study, [self.truth.metric]
        if self.is_whole:
            return curves.CurvesParameters(study=[str(study)], metric=metrics)
        return curves.CurvesParameters(trial=[str(Trial(study, self.truth.trial_id))], metric=metrics)

    def answered(self, view: ReleaseView) -> bytes:
        """Return the answer as JSON."""
        return b"".join(json_pieces(curves.QUESTION.answer(view, self.question)))

    @property
    def path(self) -> str:
        """Its address."""
        of = ("study", self.question.study) if self.is_whole else ("trial", self.question.trial)
        return f"/v1/curves?{urlencode([of, ('metric', self.question.metric)], doseq=True)}"

    def check(self, answer: bytes) -> None:
        """Raise WrongAnswer unless the answer is what the archive was made from."""
        (expect_study if self.is_whole else expect_curve)(self.truth, answer)


@dataclass(frozen=True)
class Answered:
    """The times of every kind of question; healthz: milliseconds of the floor."""

    scaling: Times
    all_workloads: Times
    curves: Times
    studies: Times
    healthz: Sequence[float]

    def and_more(self, more: Sequence[tuple[Times, Times]]) -> Answered:
        """Return the times together with those of other processes."""
        ones, alls = [self.scaling, *(one for one, _ in more)], [self.all_workloads, *(every for _, every in more)]
        return replace(self, scaling=_together(ones), all_workloads=_together(alls))

    def figures(self) -> Iterator[Figure]:
        """Yield rows of the report."""
        yield from spread("floor: /healthz over HTTP", self.healthz, "ms")
        yield from both_ways("scaling of a workload", self.scaling, ONE, ONE_OVER_HTTP)
        yield from both_ways("scaling of all workloads", self.all_workloads, ALL)
        yield from both_ways("a trial's curve", self.curves)
        yield from both_ways("a study's curves", self.studies)


def _together(times: Sequence[Times]) -> Times:
    return Times([t for each in times for t in each.in_process], [t for each in times for t in each.over_http])


def both_ways(what: str, times: Times, inside: Limit | None = None, over_http: Limit | None = None) -> Iterator[Figure]:
    """Yield median and tail of both ways of asking."""
    yield from spread(f"{what}, in-process", times.in_process, "ms", inside)
    yield from spread(f"{what}, over HTTP", times.over_http, "ms", over_http)


def measure_questions(folder: Path, truths: Sequence[StudyTruth], effort: Effort) -> Answered:
    """Ask the newest release of a lake every question. Raises WrongAnswer."""
    lake = Lake.open(folder)
    view = ReleaseView.open(lake, lake.release())
    chance = random.Random(1)
    single, every = questions(view, effort.scaling), _about_all(view, effort)
    trials = [CurvesQuestion(truth, False) for truth in _some(chance, truths, effort.curves)]
    studies = [CurvesQuestion(truth, True) for truth in _some(chance, truths, effort.studies)]
    with service(folder, 1) as server, closing(server.connect()) as connection:
        times = Answered(
            scaling=ask(view, connection, single),
            all_workloads=ask(view, connection, every),
            curves=ask(view, connection, trials, CurvesQuestion.check),
            studies=ask(view, connection, studies, CurvesQuestion.check),
            healthz=[milliseconds(get, connection, "/healthz") for _ in single],
        )
    check_scaling(view, truths)
    for question in [*single[:COMPARED_WITH_SQL], every[0]]:
        rows = sorted(by_sql(view, question))
        expect(f"scaling by DuckDB, {question.path}", sorted(results_in(question.answered(view))), rows)
    return times


def measure_scaling(folder: Path, effort: Effort) -> tuple[Times, Times]:
    """Measure the scaling questions again: about one workload, and about all."""
    lake = Lake.open(folder)
    view = ReleaseView.open(lake, lake.release())
    with service(folder, 1) as server, closing(server.connect()) as connection:
        one = ask(view, connection, questions(view, effort.scaling))
        return one, ask(view, connection, _about_all(view, effort))


def _about_all(view: ReleaseView, effort: Effort) -> list[ScalingQuestion]:
    chance, every = random.Random(1), tuple(view.workloads)
    targets = [chance.uniform(LEAST_TARGET, MOST_TARGET) for _ in range(effort.all_workloads)]
    return [ScalingQuestion(every, EVERYWHERE, target) for target in targets]


def check_scaling(view: ReleaseView, truths: Sequence[StudyTruth]) -> None:
    """Raise WrongAnswer unless each workload has the steps to its goal that the truth says."""
    for workload, its in groupby(truths, key=lambda truth: truth.key):
        studies = list(its)
        answer = ScalingQuestion((workload,), studies[0].metric, studies[0].goal).answered(view)
        expect(f"scaling of {workload}", results_in(answer), results_of(studies))


def _some(chance: random.Random, truths: Sequence[StudyTruth], count: int) -> Sequence[StudyTruth]:
    return chance.sample(truths, min(count, len(truths)))
