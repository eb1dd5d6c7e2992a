"""Steps to target by brute force in plain Python: what the service has to answer, from METHODS section 1."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from losslake.analysis.crossings import CrossingRule
from losslake_schema.reached import Comparator


@dataclass(frozen=True)
class Row:
    """One evaluation; step and value are None for a trial that was never evaluated."""

    batch_size: int
    trial_id: int
    status: str
    step: int | None
    value: float | None
    elapsed_s: float | None = None


@dataclass(frozen=True)
class Goal:
    """The question, without the workload and the metric."""

    target: float
    direction: str = "minimize"
    comparator: Comparator = "strict"
    step_budget: int | None = None
    example_budget: int | None = None
    trials: int | None = None
    statuses: tuple[str, ...] = ("COMPLETE", "MISSED")
    crossing: CrossingRule = "first"
    k: int | None = None


def steps_to_target_rows(rows: Sequence[Row], goal: Goal) -> list[dict[str, Any]]:
    """One row per admitted trial, by batch size and trial_id, as /v1/steps-to-target has them."""
    result = []
    for batch_size in sorted({row.batch_size for row in rows}):
        for trial_id in _admitted(rows, goal, batch_size):
            curve = _curve(rows, batch_size, trial_id)
            row: dict[str, Any] = {"steps": None, "value": None, "previous_step": None}
            for index, (step, value) in enumerate(curve):
                if _within(goal, batch_size, step) and _reaches(value, goal):
                    previous = curve[index - 1][0] if index else None
                    row = {"steps": step, "value": value, "previous_step": previous}
                    break
            status = next(r.status for r in rows if (r.batch_size, r.trial_id) == (batch_size, trial_id))
            last = curve[-1][0] if curve else None
            row |= {
                "last_step": last,
                "resolution": _resolution(row["steps"], row["previous_step"]),
                "censored_at": _seen_until(goal, batch_size, last) if row["steps"] is None else None,
                "confirmed_steps": None,
                "confirmed_previous_step": None,
            }
            crossed = _confirmed(goal, [(s, v) for s, v in curve if _within(goal, batch_size, s)])
            if crossed is not None:
                before = [step for step, _ in curve if step < crossed]
                row |= {"confirmed_steps": crossed, "confirmed_previous_step": max(before, default=None)}
            result.append({"batch_size": batch_size, "trial_id": trial_id, "status": status, **row})
    return result


def _confirmed(goal: Goal, curve: Sequence[tuple[int, float]]) -> int | None:
    """The step of the first evaluation that, with those after it that the rule wants, reaches the target."""
    finite = [(step, value) for step, value in curve if math.isfinite(value)]
    for place, (step, _) in enumerate(finite):
        length = {"first": 1, "k_consecutive": goal.k or 2, "sustained": len(finite) - place}[goal.crossing]
        run = finite[place : place + length]
        if len(run) == length and all(_reaches(value, goal) for _, value in run):
            return step
    return None


def _resolution(steps: int | None, previous: int | None) -> float | None:
    return None if steps is None or previous is None else (steps - previous) / steps


def _seen_until(goal: Goal, batch_size: int, last: int | None) -> int | None:
    limits = [last, goal.step_budget, None if goal.example_budget is None else goal.example_budget // batch_size]
    return None if last is None else min(limit for limit in limits if limit is not None)


def scaling_rows(rows: Sequence[Row], goal: Goal) -> list[dict[str, Any]]:
    """One row per batch size, ascending, as /v1/scaling has them."""
    trials = steps_to_target_rows(rows, goal)
    result: list[dict[str, Any]] = []
    for batch_size in sorted({row.batch_size for row in rows}):
        study = [trial for trial in trials if trial["batch_size"] == batch_size]
        hits = sorted(
            (trial for trial in study if trial["steps"] is not None), key=lambda t: (t["steps"], t["trial_id"])
        )
        first: dict[str, Any] = (
            hits[0] if hits else {"steps": None, "trial_id": None, "value": None, "previous_step": None}
        )
        best = _best(rows, goal, batch_size, [trial["trial_id"] for trial in study])
        seen = [trial["censored_at"] for trial in study if trial["censored_at"] is not None]
        gap = abs(best - goal.target) if best is not None and not hits else math.inf
        crossed = sorted((t["confirmed_steps"], t["trial_id"]) for t in study if t["confirmed_steps"] is not None)
        result.append(
            {
                "batch_size": batch_size,
                "steps": first["steps"],
                "trial_id": first["trial_id"],
                "value": first["value"],
                "examples": _examples(first["steps"], batch_size) if hits else None,
                "previous_step": first["previous_step"],
                "n_trials": len(study),
                "n_reached": len(hits),
                "best_value": best,
                "resolution": _resolution(first["steps"], first["previous_step"]),
                "censored_at": max(seen, default=None) if not hits else None,
                "gap": gap if math.isfinite(gap) else None,
                "runner_up_steps": hits[1]["steps"] if len(hits) > 1 else None,
                "runner_up_ratio": hits[1]["steps"] / hits[0]["steps"] if len(hits) > 1 and hits[0]["steps"] else None,
                "confirmed_steps": crossed[0][0] if crossed else None,
                "confirmed_trial_id": crossed[0][1] if crossed else None,
                "n_confirmed": len(crossed),
            }
        )
    reached = [row for row in result if row["steps"] is not None]
    for row in result:
        perfect = reached[0]["steps"] * reached[0]["batch_size"] / row["batch_size"] if reached else None
        row["perfect_scaling_steps"] = perfect
    return result


def best_setting_rows(
    rows: Sequence[Row], goal: Goal, setting_of: Callable[[int], object], seeds: str = "median"
) -> list[dict[str, Any]]:
    """The columns of /v1/scaling that are of the best setting, one row per batch size, for result=best_setting."""
    trials = steps_to_target_rows(rows, goal)
    result: list[dict[str, Any]] = []
    for batch_size in sorted({row.batch_size for row in rows}):
        study = [trial for trial in trials if trial["batch_size"] == batch_size]
        settings = [
            [trial for trial in study if setting_of(trial["trial_id"]) == setting]
            for setting in dict.fromkeys(setting_of(trial["trial_id"]) for trial in study)
        ]
        counted = [setting for setting in settings if len(setting) >= 3] or settings
        best = min(counted, key=lambda setting: (_usual(setting, seeds)[0], setting[0]["trial_id"]), default=[])
        row: dict[str, Any] = {"batch_size": batch_size, "n_settings": len(counted), "n_seeds": len(best)}
        steps, trial = _usual(best, seeds) if best else (math.inf, None)
        row |= {"steps": None, "trial_id": None, "value": None, "previous_step": None}
        if trial is not None and math.isfinite(steps):
            before = [trial] if seeds == "median" else best
            steps_before = [each["previous_step"] for each in before]
            mean_before = None if None in steps_before else round(sum(steps_before) / len(steps_before))
            row |= {"steps": round(steps), "trial_id": trial["trial_id"], "value": trial["value"]}
            row |= {"previous_step": mean_before}
        ordered = sorted(_steps(each) for each in best)
        quartiles = [ordered[math.ceil(share * len(ordered)) - 1] if ordered else math.inf for share in (0.25, 0.75)]
        row["steps_q25"], row["steps_q75"] = (int(each) if math.isfinite(each) else None for each in quartiles)
        others = sorted(_usual(setting, seeds)[0] for setting in counted if setting is not best)
        is_other = row["steps"] is not None and others and math.isfinite(others[0])
        result.append(row | {"runner_up_steps": round(others[0]) if is_other else None})
    return result


def _steps(trial: Mapping[str, Any]) -> float:
    return math.inf if trial["steps"] is None else trial["steps"]


def _usual(setting: Sequence[dict[str, Any]], seeds: str) -> tuple[float, dict[str, Any]]:
    """The median or mean steps of a setting's trials, which are by trial_id, and the trial at or nearest to it."""
    ordered = sorted(setting, key=lambda trial: (_steps(trial), trial["trial_id"]))
    if seeds == "median":
        middle = ordered[(len(ordered) - 1) // 2]
        return _steps(middle), middle
    mean = sum(map(_steps, setting)) / len(setting)
    return mean, min(setting, key=lambda trial: abs(_steps(trial) - mean) if math.isfinite(mean) else 0)


def best_rows(rows: Sequence[Row], goal: Goal) -> list[dict[str, Any]]:
    """One row per batch size, as /v1/best has them: ties to the lesser step, then to the lower trial_id."""
    result: list[dict[str, Any]] = []
    for batch_size in sorted({row.batch_size for row in rows}):
        admitted = _admitted(rows, goal, batch_size)
        values = [
            (value if goal.direction == "minimize" else -value, step, trial_id, value)
            for trial_id in admitted
            for step, value in _curve(rows, batch_size, trial_id)
            if _within(goal, batch_size, step) and math.isfinite(value)
        ]
        _, step, trial_id, value = min(values, default=(None, None, None, None))
        result.append(
            {
                "batch_size": batch_size,
                "best_value": value,
                "trial_id": trial_id,
                "step": step,
                "n_trials": len(admitted),
                "n_measured": len({found[2] for found in values}),
            }
        )
    return result


def near_optimal_trials(rows: Sequence[Row], goal: Goal, within: float) -> list[tuple[Any, ...]]:
    """Batch size, trial_id and steps of the near-optimal trials; nulls where none reached the target."""
    result: list[tuple[Any, ...]] = []
    trials = steps_to_target_rows(rows, goal)
    for batch_size in sorted({row.batch_size for row in rows}):
        hits = sorted(
            (trial["steps"], trial["trial_id"])
            for trial in trials
            if trial["batch_size"] == batch_size and trial["steps"] is not None
        )
        near = [(batch_size, trial_id, steps) for steps, trial_id in hits if steps <= (1 + within) * hits[0][0]]
        result += near or [(batch_size, None, None)]
    return result


def _examples(steps: int, batch_size: int) -> int | None:
    return steps * batch_size if steps * batch_size < 2**63 else None


def _admitted(rows: Sequence[Row], goal: Goal, batch_size: int) -> list[int]:
    found = sorted({r.trial_id for r in rows if r.batch_size == batch_size and r.status in goal.statuses})
    return found if goal.trials is None else found[: goal.trials]


def _curve(rows: Sequence[Row], batch_size: int, trial_id: int) -> list[tuple[int, float]]:
    own = [r for r in rows if (r.batch_size, r.trial_id) == (batch_size, trial_id)]
    return sorted((r.step, r.value) for r in own if r.step is not None and r.value is not None)


def _within(goal: Goal, batch_size: int, step: int) -> bool:
    in_steps = goal.step_budget is None or step <= goal.step_budget
    return in_steps and (goal.example_budget is None or step * batch_size <= goal.example_budget)


def _reaches(value: float, goal: Goal) -> bool:
    is_equal = goal.comparator == "inclusive" and value == goal.target
    return is_equal or _better(value, goal.target, goal.direction)


def _better(value: float, than: float, direction: str) -> bool:
    return math.isfinite(value) and (value < than if direction == "minimize" else value > than)


def _best(rows: Sequence[Row], goal: Goal, batch_size: int, trial_ids: Sequence[int]) -> float | None:
    best = None
    for trial_id in trial_ids:
        for step, value in _curve(rows, batch_size, trial_id):
            is_measured = _within(goal, batch_size, step) and math.isfinite(value)
            if is_measured and (best is None or _better(value, best, goal.direction)):
                best = value
    return best


def flops_per_token(facts: Mapping[str, float]) -> float | None:
    """FLOPs of training on a token: as stated, else 6 for each parameter; None where it isn't known."""
    if "flops_per_token" in facts:
        return facts["flops_per_token"]
    sizes = ("n_active_parameters", "n_parameters", "n_parameters_non_embedding")
    return next((6 * facts[name] for name in sizes if name in facts), None)


def amount_of(
    measure: str,
    batch_size: int,
    steps: int,
    elapsed_s: float | None,
    epoch: int,
    accelerators: float | None,
    facts: Mapping[str, float] | None = None,
) -> float | None:
    """Return steps in the unit of a measure; None where it isn't known. facts: of the trial's model."""
    if measure in ("tokens", "flops"):
        tokens, flops = (facts or {}).get("tokens_per_example"), flops_per_token(facts or {})
        if tokens is None or (measure == "flops" and flops is None):
            return None
        return steps * batch_size * (tokens * flops if measure == "flops" and flops is not None else tokens)
    if measure in ("seconds", "accelerator_seconds"):
        if elapsed_s is None or (measure == "accelerator_seconds" and accelerators is None):
            return None
        return elapsed_s * (accelerators or 1.0) if measure == "accelerator_seconds" else elapsed_s
    return {"steps": float(steps), "examples": steps * float(batch_size), "epochs": steps * batch_size / epoch}[measure]
