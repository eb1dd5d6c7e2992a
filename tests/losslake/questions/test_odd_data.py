"""Every analysis of odd data: no traceback, no warning of numpy, no number that isn't one, bounds in their order."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from losslake.output.formats import FORMATS
from losslake.questions.declaration.question import Question
from losslake.questions.questions import ANALYSES
from losslake_schema.errors import LossLakeError
from losslake_service.routes.reading import read_query
from tests.losslake.questions.views import METRIC, OTHER, WORKLOAD, view_of
from tests.oracle import Row

NAN, INF = math.nan, math.inf
VALUES = (0.1, 0.2, 0.3, 0.5, 0.9, NAN, INF, -INF, 1e308, -1e308, 5e-324, 0.0, -0.0)
STATUSES = ("COMPLETE", "COMPLETE", "COMPLETE", "INFEASIBLE", "INCOMPLETE")
STEPS = (0, 1, 2, 5, 10, 100, 1000, 2**40, 2**62)
SIZES = (1, 2, 8, 64, 512, 2**40, 2**62)
PARAMETERS: tuple[dict[str, float], ...] = (
    {},
    {"learning_rate": 0.1},
    {"learning_rate": 0.1, "momentum": 1.0},
    {"learning_rate": -1.0, "momentum": 2.0},
    {"learning_rate": 1e300, "momentum": 1 - 1e-16},
    {"momentum": 0.5},
)
CHOICES: dict[str, tuple[Any, ...]] = {
    "target": (0.3, 0.5, 0.05, 1e308, -1e308, 0.0),
    "comparator": ("strict", "inclusive"),
    "step_budget": (0, 1, 10, 2**62),
    "example_budget": (0, 1, 1000, 2**62),
    "trials": (1, 2, 9),
    "direction": ("minimize", "maximize"),
    "last": ("true",),
    "spacing": ("breakpoints", "linear", "log"),
    "submission": (str(OTHER),),
    "budget": (1, 2, 5),
    "max_useful_tau": (0,),
    "within": (1000,),
}
# Of questions that can't be asked without them.
REQUIRED: dict[str, tuple[Any, ...]] = {
    "batch_size": (0, *SIZES),
    "curve": ("0=0.5", "1=nan", "5=1e308", f"{2**62}=-inf"),
    "parameters": (1, 1e9, 1e30),
    "tokens": (1, 1e10, 1e30),
}


def odd_rows(chance: random.Random) -> Iterator[Row]:
    for size in chance.sample(SIZES, chance.randint(1, 6)):
        for trial in range(1, chance.randint(1, 5) + 1):
            status = chance.choice(STATUSES)
            for step in sorted(chance.sample(STEPS, chance.randint(1, 5))):
                elapsed = chance.choice([None, 0.0, step * 0.1])
                yield Row(size, trial, status, step, chance.choice(VALUES), elapsed)


def odd_query(question: Question, chance: random.Random) -> bytes:
    own = (("workload", str(WORKLOAD)), ("metric", METRIC))
    asked = [pair for pair in own if pair[0] in question.parameters.model_fields]
    if "compare" in question.path or "profiles" in question.path:
        asked.append(("workload", str(OTHER)))
    for name, values in CHOICES.items():
        if name in question.parameters.model_fields and (name == "target" or chance.random() < 0.3):
            asked.append((name, str(chance.choice(values))))
    for name, values in REQUIRED.items():
        if name in question.parameters.model_fields and question.parameters.model_fields[name].is_required():
            asked.append((name, str(chance.choice(values))))
    return urlencode(asked).encode()


def unlike_numbers(value: Any) -> Iterator[Any]:
    """NaN and infinities, which JSON has in words; and bounds in the wrong order."""
    if isinstance(value, list):
        for each in value:
            yield from unlike_numbers(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from unlike_numbers(each)
            other = value.get(name.replace("lower", "upper"))
            if name.endswith("lower") and isinstance(each, float) and other is not None and each > other:
                yield name, each, other
    elif value in ("NaN", "Infinity", "-Infinity"):
        yield value


@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.fuzz) for seed in range(6, 100))])
@pytest.mark.filterwarnings("error")
def test_analysis_of_odd_data_has_only_finite_numbers(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    view = view_of(
        list(odd_rows(chance)),
        chance.choice(["minimize", "maximize"]),
        tmp_path,
        list(odd_rows(chance)),
        lambda *_: chance.choice(PARAMETERS),
        goal=0.3,
        goal_of_other=0.5,
    )
    for question in ANALYSES:
        parameters = read_query(odd_query(question, chance), question.parameters)
        try:
            answer = question.answer(view, parameters)
        except LossLakeError:
            continue
        found = json.loads(b"".join(FORMATS["json"].encode(answer)))
        assert list(unlike_numbers(found)) == [], question.path
