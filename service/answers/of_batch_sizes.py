"""Searching some batch sizes of a workload alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from schema.names import Study
from service.answers.search import Search
from service.release_view import ReleaseView


def of_batch_sizes(view: ReleaseView, found: Search, batch_sizes: Sequence[int]) -> Search:
    """The search among the trials of these batch sizes; of all where none is given. Raises UnknownName."""
    if not batch_sizes:
        return found
    facts = found.facts
    wanted = np.zeros(len(facts.batch_sizes), np.bool_)
    for batch_size in batch_sizes:
        wanted[view.study(Study(facts.workload, batch_size))[1]] = True
    return found.among(wanted[facts.study_of_trial])
