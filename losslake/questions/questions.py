"""Every question of the library: each in a module of its own, and the lists."""

from __future__ import annotations

from losslake.questions import (
    advice,
    atlas,
    best,
    cite,
    compare,
    critical_batch_law,
    critical_batch_size,
    curves,
    doublings,
    forecast,
    frontier,
    league,
    loss_law,
    metaparameter_map,
    metaparameter_optima,
    metaparameters,
    profiles,
    quality,
    rcp,
    recommend,
    records,
    regimes,
    scaling,
    steps_to_target,
    survival,
    target_sweep,
    targets,
    time_cost,
    tuning_budget,
)
from losslake.questions.declaration.question import Question
from losslake.questions.lists.lists import RELEASES_QUESTION, WITHDRAWN_QUESTION, list_questions
from losslake.questions.results import results

PREFIX = "/v1/analysis/"
_MOST_FREQUENT = (scaling, curves, steps_to_target, best, metaparameters, targets, cite, results)
_ANALYSES = (
    advice,
    atlas,
    compare,
    critical_batch_law,
    critical_batch_size,
    doublings,
    forecast,
    frontier,
    league,
    loss_law,
    metaparameter_map,
    metaparameter_optima,
    profiles,
    quality,
    rcp,
    recommend,
    records,
    regimes,
    survival,
    target_sweep,
    time_cost,
    tuning_budget,
)
ANALYSES: tuple[Question, ...] = tuple(module.QUESTION for module in _ANALYSES)
# The most frequent ones come first.
QUESTIONS: tuple[Question, ...] = (
    *(module.QUESTION for module in _MOST_FREQUENT),
    *ANALYSES,
    *list_questions(),
    RELEASES_QUESTION,
    WITHDRAWN_QUESTION,
)
