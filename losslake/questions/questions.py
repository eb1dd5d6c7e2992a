"""Every question of the library: each in a module of its own, and the lists."""

from __future__ import annotations

from losslake.questions import (
    best,
    compare,
    critical_batch_size,
    curves,
    doublings,
    metaparameter_map,
    metaparameter_optima,
    metaparameters,
    profiles,
    quality,
    rcp,
    regimes,
    scaling,
    steps_to_target,
    survival,
    target_sweep,
    targets,
    time_cost,
    tuning_budget,
)
from losslake.questions.lists.lists import RELEASES_QUESTION, list_questions
from losslake.questions.question import Question

PREFIX = "/v1/analysis/"
_ASKED_MOST = (scaling, curves, steps_to_target, best, metaparameters, targets)
_ANALYSES = (
    compare,
    critical_batch_size,
    doublings,
    metaparameter_map,
    metaparameter_optima,
    profiles,
    quality,
    rcp,
    regimes,
    survival,
    target_sweep,
    time_cost,
    tuning_budget,
)
ANALYSES: tuple[Question, ...] = tuple(module.QUESTION for module in _ANALYSES)
QUESTIONS: tuple[Question, ...] = (
    *(module.QUESTION for module in _ASKED_MOST),
    *ANALYSES,
    *list_questions(),
    RELEASES_QUESTION,
)
"""The questions of the library, those asked most often first."""
