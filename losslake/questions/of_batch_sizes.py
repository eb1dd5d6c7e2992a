"""Searching some batch sizes of a workload alone."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from losslake.questions.release_view import ReleaseView
from losslake.questions.search import Search
from losslake_schema.names import Study


def of_batch_sizes(view: ReleaseView, found: Search, batch_sizes: Sequence[int]) -> Search:
    """The search among the trials of these batch sizes; of all where none is given. Raises UnknownName."""
    if not batch_sizes:
        return found
    facts = found.facts
    wanted = np.zeros(len(facts.batch_sizes), np.bool_)
    for batch_size in batch_sizes:
        wanted[view.study(Study(facts.workload, batch_size))[1]] = True
    return found.among(wanted[facts.study_of_trial])
