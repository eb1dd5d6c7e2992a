"""Questions to a release at full scale, in-process and over HTTP, with checks of the answers.

In-process is from the question to JSON. Over HTTP one client asks one question after the other on one connection;
beside it, the same connection asks for /healthz, which is the floor of the HTTP stack.
"""

from __future__ import annotations

import hashlib
import http.client
import random
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar
from urllib.parse import urlencode

from bench.answers import by_sql, expect, expect_curve, expect_study, results_in, results_of
from bench.growth import Figure, Limit
from bench.scaling import ScalingQuestion, get, milliseconds, percentile, questions
from bench.servers import service
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
    """How many questions of each kind are asked, and how often a release is opened.

    processes: in how many processes scaling is asked for; some are faster than others from start to end.
    """

    scaling: int = 400
    all_workloads: int = 40
    curves: int = 200
    studies: int = 20
    openings: int = 5
    processes: int = 5


LEAST_EFFORT = Effort(scaling=2, all_workloads=1, curves=2, studies=1, openings=1, processes=1)


class Question(Protocol):
    """A question that can be asked in-process and over HTTP."""

    def answered(self, view: ReleaseView) -> bytes:
        """Return the answer as JSON."""

    @property
    def path(self) -> str:
        """Its address."""


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
class Times:
    """The milliseconds of each question of a kind."""

    in_process: Sequence[float]
    over_http: Sequence[float]

    def figures(self, what: str, inside: Limit | None = None, over_http: Limit | None = None) -> Iterator[Figure]:
        """Yield rows of the report."""
        yield from spread(f"{what}, in-process", self.in_process, inside)
        yield from spread(f"{what}, over HTTP", self.over_http, over_http)


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
        return replace(self, scaling=together(ones), all_workloads=together(alls))

    def figures(self) -> Iterator[Figure]:
        """Yield rows of the report."""
        yield from spread("floor: /healthz over HTTP", self.healthz)
        yield from self.scaling.figures("scaling of a workload", ONE, ONE_OVER_HTTP)
        yield from self.all_workloads.figures("scaling of all workloads", ALL)
        yield from self.curves.figures("a trial's curve")
        yield from self.studies.figures("a study's curves")


def together(times: Sequence[Times]) -> Times:
    """Return the times of several processes combined."""
    return Times([t for each in times for t in each.in_process], [t for each in times for t in each.over_http])


def spread(what: str, times: Sequence[float], limit: Limit | None = None) -> Iterator[Figure]:
    """Yield median and tail of times in milliseconds."""
    yield Figure(f"{what}, median", statistics.median(times), "ms", limit)
    yield Figure(f"{what}, p99", percentile(times, 0.99), "ms")


def measure_questions(folder: Path, truths: Sequence[StudyTruth], effort: Effort) -> Answered:
    """Ask the newest release of a lake every question. Raises WrongAnswer."""
    lake = Lake.open(folder)
    view = ReleaseView.open(lake, lake.release())
    chance = random.Random(1)
    single, every = questions(view, effort.scaling), _about_all(view, effort)
    trials = [CurvesQuestion(truth, False) for truth in _some(chance, truths, effort.curves)]
    studies = [CurvesQuestion(truth, True) for truth in _some(chance, truths, effort.studies)]
    with service(folder, 1) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        times = Answered(
            scaling=_measure(view, connection, single),
            all_workloads=_measure(view, connection, every),
            curves=_measure(view, connection, trials, CurvesQuestion.check),
            studies=_measure(view, connection, studies, CurvesQuestion.check),
            healthz=[milliseconds(lambda: get(connection, "/healthz")) for _ in single],
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
    with service(folder, 1) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port)
        one = _measure(view, connection, questions(view, effort.scaling))
        return one, _measure(view, connection, _about_all(view, effort))


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


Kind = TypeVar("Kind", bound=Question)


def _measure(
    view: ReleaseView,
    connection: http.client.HTTPConnection,
    requests: Sequence[Kind],
    check: Callable[[Kind, bytes], None] | None = None,
) -> Times:
    """Ask all questions one way, then the other. Raises WrongAnswer if one is wrong or the two differ."""
    answers: list[bytes] = []
    digests: list[bytes] = []
    inside: list[float] = []
    over_http: list[float] = []
    for question in requests:
        inside.append(milliseconds(lambda q=question: answers.append(q.answered(view))))  # type: ignore[misc]
        answer = answers.pop()
        if check is not None:
            check(question, answer)
        digests.append(hashlib.sha256(answer).digest())
    for question, digest in zip(requests, digests, strict=True):
        over_http.append(milliseconds(lambda q=question: answers.append(get(connection, q.path))))  # type: ignore[misc]
        expect(f"the answer to {question.path}", hashlib.sha256(answers.pop()).digest(), digest)
    return Times(inside, over_http)


def _some(chance: random.Random, truths: Sequence[StudyTruth], count: int) -> Sequence[StudyTruth]:
    return chance.sample(truths, min(count, len(truths)))
