"""Asking a release questions in-process, to the answer as JSON, and over HTTP; both have to give the same bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Protocol, TypeVar

from bench.measure import milliseconds
from bench.servers import get
from losslake.questions.release.view import ReleaseView


class WrongAnswer(Exception):
    """An answer is wrong, so the run is invalid."""


def expect(what: str, actual: object, right: object) -> None:
    """Raise WrongAnswer unless both are equal."""
    if actual != right:
        raise WrongAnswer(f"{what}: {str(actual)[:500]} instead of {str(right)[:500]}")


class Question(Protocol):
    """A question that can be asked in-process and over HTTP."""

    def answered(self, view: ReleaseView) -> bytes:
        """Return the answer as JSON."""

    @property
    def path(self) -> str:
        """Its address."""


@dataclass(frozen=True)
class Times:
    """The milliseconds of each question of a kind."""

    in_process: Sequence[float]
    over_http: Sequence[float]


AnyQuestion = TypeVar("AnyQuestion", bound=Question)


def ask(
    view: ReleaseView,
    connection: HTTPConnection,
    questions: Sequence[AnyQuestion],
    check: Callable[[AnyQuestion, bytes], None] | None = None,
) -> Times:
    """Ask all questions one way, then the other. Raises WrongAnswer if one is wrong or the two differ."""
    answers: list[bytes] = []
    digests: list[bytes] = []
    in_process: list[float] = []
    over_http: list[float] = []
    for question in questions:
        in_process.append(milliseconds(lambda q=question: answers.append(q.answered(view))))
        answer = answers.pop()
        if check is not None:
            check(question, answer)
        digests.append(hashlib.sha256(answer).digest())
    for question, digest in zip(questions, digests, strict=True):
        over_http.append(milliseconds(lambda q=question: answers.append(get(connection, q.path))))
        expect(f"the answer to {question.path}", hashlib.sha256(answers.pop()).digest(), digest)
    return Times(in_process, over_http)
