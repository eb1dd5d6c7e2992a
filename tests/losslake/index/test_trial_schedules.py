"""The view trial_schedules gives what plain Python does by the rules of its comment, and nothing is assumed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.index.view_texts import sql
from losslake_schema.tables import TRIALS

Facts = Mapping[str, Any]
KEYS = {"collection": "c", "dataset": "d", "model": "m", "optimizer": "o", "trial_id": 1}
COSINE = {"opt_learning_rate_decay_schedule": "cosine with linear warmup"}
DECAYS = ("linear", "polynomial", "cosine", "cosine_with_restarts", "cosine_with_min_lr", "cosine_warmup_with_min_lr")
TRAINER = (*DECAYS, "inverse_sqrt", "constant", "constant_with_warmup", "warmup_stable_decay", "reduce_lr_on_plateau")
NUMBERS = (
    "decay_start", "schedule_end", "warmup_end", "warmup_steps", "warmup_ratio", "max_steps",
    "learning_rate_decay_steps", "end_learning_rate_factor",
    "num_warmup_steps",
    "start_warmup_step", "opt_learning_rate_training_steps", "opt_lamb_learning_rate_decay_poly_power",
    "lr_decay_start_steps", "sgd_opt_learning_rate_decay_steps", "opt_learning_rate_warmup_steps",
    "opt_learning_rate_warmup_epochs", "opt_lamb_learning_rate_hold_epochs", "opt_learning_rate_remain_steps",
    "opt_learning_rate_decay_steps", "opt_learning_rate_decay_interval", "init_checkpoint_step", "train_samples",
    "lars_opt_learning_rate_decay_poly_power", "lars_opt_learning_rate_decay_steps",
    "lars_opt_learning_rate_warmup_epochs", "scheduler_lr_warmup_steps", "opt_learning_rate_decay_factor",
    "opt_adagrad_learning_rate_decay",
)  # fmt: skip
OTHERS: Mapping[str, tuple[Any, ...]] = {
    "schedule": ("wsd", ""),
    "lr_scheduler_type": (*TRAINER, "SchedulerType.COSINE"),
    "opt_learning_rate_decay_schedule": ("cosine with linear warmup", "constant", "other"),
    "scheduler_type": ("cosine_annealing", "multistep", "other"),
    **dict.fromkeys(("logged_decay_start", "logged_schedule_end", "logged_warmup_end"), (0, 2, 7, 50)),
}


def rows_of(trials: list[tuple[Facts, Facts, int, int | None]]) -> list[tuple[Any, ...]]:
    """The rows of the view, for trials of these parameters, attributes, batch sizes and last steps."""
    rows = [
        {**KEYS, "trial_id": number, "batch_size": size, "last_step": last, "parameters": [*parameters.items()],
         "attributes": [(name, json.dumps(value)) for name, value in attributes.items()]}
        for number, (parameters, attributes, size, last) in enumerate(trials)
    ]  # fmt: skip
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA base")
        connection.register("given", pa.Table.from_pylist(rows, TRIALS))
        connection.execute("CREATE TABLE base.trials AS FROM given")
        connection.execute(sql("trial_schedules"))
        columns = "schedule, warmup_end, decay_start, schedule_end, is_finished, schedule_source"
        return connection.execute(f"SELECT {columns} FROM trial_schedules ORDER BY trial_id").fetchall()


def row_of(parameters: Facts, attributes: Facts, batch_size: int = 8, last_step: int | None = 100) -> tuple[Any, ...]:
    return rows_of([(parameters, attributes, batch_size, last_step)])[0]


def is_least(value: float | None, least: float) -> bool:
    # SQL's NaN is above all numbers.
    return value is not None and (math.isnan(value) or value >= least)


def times(*factors: float | None) -> float | None:
    return None if None in factors else math.prod(factor for factor in factors if factor is not None)


def total(*parts: float | None) -> float | None:
    return None if None in parts else math.fsum(part for part in parts if part is not None)


def rule_of(p: Facts, a: Facts) -> str | None:
    """The hyperparameters of MLPerf, or of Shallue et al., that tell the schedule."""
    n = p.get
    if is_least(n("learning_rate_decay_steps"), 1) and is_least(n("end_learning_rate_factor"), 0):
        return "shallue"
    if is_least(n("num_warmup_steps"), 0) and is_least(n("opt_learning_rate_training_steps"), 1):
        return "bert"
    if is_least(n("lr_decay_start_steps"), 0) and is_least(n("sgd_opt_learning_rate_decay_steps"), 1):
        return "dlrm"
    if is_least(n("opt_lamb_learning_rate_hold_epochs"), 0):
        return "rnnt"
    if is_least(n("opt_learning_rate_remain_steps"), 0):
        return "gnmt"
    decay = a.get("opt_learning_rate_decay_schedule")
    if decay == "cosine with linear warmup":
        return "llm"
    if a.get("scheduler_type") in ("cosine_annealing", "multistep"):
        return str(a["scheduler_type"])
    if n("lars_opt_learning_rate_decay_poly_power") == 2:
        return "resnet"
    is_never = n("opt_adagrad_learning_rate_decay") == 0 and n("opt_learning_rate_decay_steps") == 0
    if decay == "constant" or n("opt_learning_rate_decay_factor") == 1 or is_never:
        return "constant"
    return "planned" if is_least(n("opt_learning_rate_training_steps"), 1) else None


def first(*values: float | None) -> float | None:
    return next((value for value in values if value is not None), None)


def least(value: float | None, bound: float) -> float | None:
    return value if is_least(value, bound) else None


def of_trainer(a: Facts) -> str | None:
    return str(a["lr_scheduler_type"]).lower().removeprefix("schedulertype.") if "lr_scheduler_type" in a else None


def epoch_of(p: Facts, batch_size: int) -> float | None:
    return p["train_samples"] / batch_size if is_least(p.get("train_samples"), 1) and batch_size else None


def warmup_of_trainer(p: Facts) -> float | None:
    above_0 = math.ulp(0)
    if is_least(p.get("warmup_steps"), above_0):
        return float(p["warmup_steps"])
    if is_least(p.get("warmup_ratio"), above_0):
        return times(p["warmup_ratio"], least(p.get("max_steps"), 1))
    return 0 if p.get("warmup_steps") == 0 or p.get("warmup_ratio") == 0 else None


def warmup_of(p: Facts, a: Facts, trainer: str | None, rule: str | None, epoch: float | None) -> float | None:
    n = p.get
    warmup: float | None = None
    if trainer:
        warmup = warmup_of_trainer(p)
    elif rule == "bert":
        warmup = max(p["num_warmup_steps"] + p.get("start_warmup_step", 0), 0)
    elif rule == "llm":
        # SQL's greatest leaves nulls out.
        warmup = max(total(n("opt_learning_rate_warmup_steps"), -p.get("init_checkpoint_step", 0)) or 0, 0)
    elif rule == "cosine_annealing":
        warmup = n("scheduler_lr_warmup_steps")
    elif rule in ("dlrm", "gnmt"):
        warmup = n("opt_learning_rate_warmup_steps")
    elif rule == "rnnt":
        warmup = times(n("opt_learning_rate_warmup_epochs"), epoch)
    elif rule == "resnet":
        warmup = times(first(n("lars_opt_learning_rate_warmup_epochs"), n("opt_learning_rate_warmup_epochs")), epoch)
    return first(least(n("warmup_end"), 0), warmup, least(a.get("logged_warmup_end"), 0))


def start_of(
    p: Facts, a: Facts, trainer: str | None, rule: str | None, epoch: float | None, warmup: float | None
) -> float | None:
    start: float | None = None
    if trainer in (*DECAYS, "inverse_sqrt") or rule in ("bert", "llm", "cosine_annealing", "resnet"):
        start = warmup
    elif rule == "shallue":
        start = 0
    elif rule == "dlrm":
        start = p.get("lr_decay_start_steps")
    elif rule == "gnmt":
        start = p.get("opt_learning_rate_remain_steps")
    elif rule == "rnnt":
        start = total(warmup, times(p.get("opt_lamb_learning_rate_hold_epochs"), epoch))
    return first(least(p.get("decay_start"), 0), start, least(a.get("logged_decay_start"), 0))


def end_of(p: Facts, a: Facts, trainer: str | None, rule: str | None, epoch: float | None) -> float | None:
    n = p.get
    prefixes = ("lars_", "sgd_", "")
    decay = first(*(n(f"{prefix}opt_learning_rate_decay_steps") for prefix in prefixes))
    end: float | None = None
    if trainer in (*DECAYS, "warmup_stable_decay"):
        end = least(n("max_steps"), 1)
    elif rule == "shallue":
        end = n("learning_rate_decay_steps")
    elif rule in ("bert", "planned"):
        end = n("opt_learning_rate_training_steps")
    elif rule == "dlrm":
        end = total(n("lr_decay_start_steps"), n("sgd_opt_learning_rate_decay_steps"))
    elif rule == "gnmt":
        last_drop = times(total(n("opt_learning_rate_decay_steps"), -1), n("opt_learning_rate_decay_interval"))
        end = total(n("opt_learning_rate_remain_steps"), last_drop)
    elif rule == "llm":
        steps = n("opt_learning_rate_warmup_steps"), n("opt_learning_rate_decay_steps")
        end = total(*steps, -p.get("init_checkpoint_step", 0))
    elif rule == "resnet" and decay is not None and epoch is not None and decay < 10 * epoch:
        end = decay * epoch
    return first(least(n("schedule_end"), 1), end, least(a.get("logged_schedule_end"), 1))


def kind_of(p: Facts, a: Facts, trainer: str | None, rule: str | None) -> str | None:
    kinds = {
        "shallue": "linear", "dlrm": "polynomial", "resnet": "polynomial", "rnnt": "exponential", "gnmt": "step",
        "multistep": "step", "llm": "cosine", "cosine_annealing": "cosine", "constant": "constant",
        "bert": "linear" if p.get("opt_lamb_learning_rate_decay_poly_power") == 1 else "polynomial",
        "constant_with_warmup": "constant", "warmup_stable_decay": "wsd",
    }  # fmt: skip
    return a.get("schedule") or kinds.get(trainer or rule or "", trainer)


def source_of(p: Facts, a: Facts, trainer: str | None, rule: str | None) -> str | None:
    if a.get("schedule") or is_least(p.get("decay_start"), 0) or is_least(p.get("schedule_end"), 1):
        return "stated"
    if trainer or rule:
        return "hyperparameters"
    is_logged = is_least(a.get("logged_decay_start"), 0) or is_least(a.get("logged_schedule_end"), 1)
    return "curve" if is_logged else None


def expected(p: Facts, a: Facts, batch_size: int, last_step: int | None) -> tuple[Any, ...]:
    trainer, epoch = of_trainer(a), epoch_of(p, batch_size)
    rule = None if trainer else rule_of(p, a)
    warmup = warmup_of(p, a, trainer, rule, epoch)
    start, end = start_of(p, a, trainer, rule, epoch, warmup), end_of(p, a, trainer, rule, epoch)
    if start is not None and end is not None and start > end:
        start = end = None
    shown_end = in_steps(end, 1)
    is_finished = None if shown_end is None or last_step is None else last_step >= shown_end
    kind, source = kind_of(p, a, trainer, rule), source_of(p, a, trainer, rule)
    return kind, in_steps(warmup, 0), in_steps(start, 0), shown_end, is_finished, source


def in_steps(value: float | None, least_steps: int) -> int | None:
    return math.ceil(value) if value is not None and least_steps <= value <= 1e15 else None


VALUES = st.sampled_from([0.0, 1.0, 2.0, 7.0, 0.25, 50.0, 120.0, 1e6, -1.0, -30.0, math.inf])
# Most facts are missing, and those of one rule come together often enough.
PARAMETERS = st.dictionaries(st.sampled_from(NUMBERS), VALUES, max_size=7)
ATTRIBUTES = st.fixed_dictionaries({}, optional={name: st.sampled_from(values) for name, values in OTHERS.items()})
CASES = st.lists(
    st.tuples(PARAMETERS, ATTRIBUTES, st.sampled_from([0, 1, 8, 512]), st.none() | st.integers(0, 200)),
    min_size=1,
    max_size=40,
)


@given(CASES)
def test_schedules_are_those_of_the_rules_in_plain_python(cases: list[tuple[Facts, Facts, int, int | None]]) -> None:
    rows = rows_of(cases)
    for case, row in zip(cases, rows, strict=True):
        assert row == expected(*case), case


@pytest.mark.parametrize(
    ("parameters", "attributes", "row"),
    [
        ({}, {}, (None,) * 6),
        ({"decay_start": 60, "schedule_end": 90}, {"schedule": "wsd"}, ("wsd", None, 60, 90, True, "stated")),
        # A Trainer's arguments: warm-up is a number of steps, or a share of them.
        (
            {"warmup_ratio": 0.1, "warmup_steps": 0, "max_steps": 255},
            {"lr_scheduler_type": "cosine"},
            ("cosine", 26, 26, 255, False, "hyperparameters"),
        ),
        (
            {"warmup_steps": 10, "max_steps": 90},
            {"lr_scheduler_type": "constant_with_warmup"},
            ("constant", 10, None, None, None, "hyperparameters"),
        ),
        # MLPerf's BERT at batch size 4,608: warm-up began long before the first step.
        (
            {
                "num_warmup_steps": 200330, "start_warmup_step": -200000, "opt_learning_rate_training_steps": 700,
                "opt_lamb_learning_rate_decay_poly_power": 1,
            },
            {},
            ("linear", 330, 330, 700, False, "hyperparameters"),
        ),
        # MLPerf's Llama 3.1 8B and GPT-3, which goes on from a checkpoint within its decay.
        (
            {"opt_learning_rate_warmup_steps": 96, "opt_learning_rate_decay_steps": 1199904, "init_checkpoint_step": 0},
            COSINE,
            ("cosine", 96, 96, 1200000, False, "hyperparameters"),
        ),
        (
            {
                "opt_learning_rate_warmup_steps": 265, "opt_learning_rate_decay_steps": 108600,
                "init_checkpoint_step": 4000,
            },
            COSINE,
            ("cosine", 0, 0, 104865, False, "hyperparameters"),
        ),
        # DLRM, and GNMT, whose rate halves 4 times.
        (
            {
                "lr_decay_start_steps": 49315, "sgd_opt_learning_rate_decay_steps": 27772,
                "opt_learning_rate_warmup_steps": 2750,
            },
            {},
            ("polynomial", 2750, 49315, 77087, False, "hyperparameters"),
        ),
        (
            {
                "opt_learning_rate_remain_steps": 4054, "opt_learning_rate_decay_interval": 506,
                "opt_learning_rate_decay_steps": 4, "opt_learning_rate_warmup_steps": 200,
            },
            {},
            ("step", 200, 4054, 5572, False, "hyperparameters"),
        ),
        # RNN-T, in epochs of 80 examples, 10 steps each.
        (
            {
                "opt_lamb_learning_rate_hold_epochs": 11, "opt_learning_rate_warmup_epochs": 6, "train_samples": 80,
            },
            {},
            ("exponential", 60, 170, None, None, "hyperparameters"),
        ),
        # ResNet's end, in epochs, or in steps that mean different things in different logs.
        (
            {
                "lars_opt_learning_rate_decay_poly_power": 2, "lars_opt_learning_rate_decay_steps": 37,
                "lars_opt_learning_rate_warmup_epochs": 2, "train_samples": 80,
            },
            {},
            ("polynomial", 20, 20, 370, False, "hyperparameters"),
        ),
        (
            {
                "lars_opt_learning_rate_decay_poly_power": 2, "lars_opt_learning_rate_decay_steps": 370,
                "lars_opt_learning_rate_warmup_epochs": 2, "train_samples": 80,
            },
            {},
            ("polynomial", 20, 20, None, None, "hyperparameters"),
        ),
        (
            {"learning_rate_decay_steps": 80, "end_learning_rate_factor": 0.1},
            {},
            ("linear", None, 0, 80, True, "hyperparameters"),
        ),
        ({"opt_learning_rate_decay_factor": 1}, {}, ("constant", None, None, None, None, "hyperparameters")),
        ({}, {"logged_decay_start": 40, "logged_schedule_end": 99}, (None, None, 40, 99, True, "curve")),
        ({"decay_start": 90, "schedule_end": 60}, {}, (None, None, None, None, None, "stated")),
    ],
)  # fmt: skip
def test_known_logs_give_known_schedules(parameters: Facts, attributes: Facts, row: tuple[Any, ...]) -> None:
    assert row_of({name: float(value) for name, value in parameters.items()}, attributes) == row
