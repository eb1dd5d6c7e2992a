"""The workload that people name: by its path, by a pattern, or by words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from losslake.questions.release.errors import MOST_NEAR_MATCHES, UnknownName
from losslake.questions.release.parsed_names import parse_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_words import near_workloads, parts_of
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload

_FEWEST_PARTS = 4


class SeveralWorkloads(LossLakeError):
    """Words that more than one workload matches."""

    def __init__(self, text: str, workloads: Sequence[Workload]) -> None:
        shown = ", ".join(map(str, workloads[:MOST_NEAR_MATCHES]))
        super().__init__(
            f"'{text}' matches {len(workloads)} workloads: give more words, a pattern, or one of "
            f"{shown}{' …' if len(workloads) > MOST_NEAR_MATCHES else ''}"
        )
        self.workloads = workloads


def named_workload(view: ReleaseView, text: str) -> Workload:
    """Return the workload, or pattern, of that path, or else the one workload that all of these words match.

    Raises UnknownName if no workload matches, and SeveralWorkloads.
    """
    if is_path(text):
        return parse_workload(text)
    matching = view.words.matches(parts_of(text))
    if len(matching) > 1:
        raise SeveralWorkloads(text, matching)
    if not matching:
        raise no_match(view, text)
    return matching[0]


def is_path(text: str) -> bool:
    """Return True if a text is the path of a workload or a pattern, and not words."""
    return len(text.strip("/").split("/")) >= _FEWEST_PARTS


def no_match(view: ReleaseView, text: str) -> UnknownName:
    """Return that no workload matches these words, with similar searches, or similar names, or all if there are few."""
    near: list[str] = []
    if len(view.workloads) > MOST_NEAR_MATCHES:
        searches = islice(view.words.near_searches(parts_of(text)), MOST_NEAR_MATCHES)
        near = [f"'{' '.join(each)}'" for each in searches]
    near = near or near_workloads(text, view.workloads)
    return UnknownName("workload", text, near, f"release {view.number}")
