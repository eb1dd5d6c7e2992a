"""The pandas way, as the published scripts go it: read a workload's files, sort, group, take the first."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa

from bench.peers.questions import Best, Curve, Scaling, Sweep
from losslake_schema.names import Workload


class PandasFiles:
    """A peer that reads the unpacked archive again for every question."""

    name, is_cached, is_rival = "pandas, reading the CSV files", False, True

    def __init__(self, unpacked: Path) -> None:
        self._unpacked = unpacked

    def scaling(self, question: Scaling) -> pa.Table:
        return table_of(first_of_each(self._workload(question.aim.workload), question))

    def curve(self, question: Curve) -> pa.Table:
        frame = pd.read_csv(self._unpacked / str(question.trial) / "measurements.csv")
        return table_of(frame[["step", question.metric]].rename(columns={question.metric: "value"}))

    def best(self, question: Best) -> pa.Table:
        return table_of(best_of_each(self._workload(question.aim.workload), question))

    def sweep(self, question: Sweep) -> pa.Table:
        return table_of(swept(self._workload(question.aim.workload), question))

    def _workload(self, workload: Workload) -> pd.DataFrame:
        return pd.concat(_trials(self._unpacked / str(workload)))


def _trials(folder: Path) -> Iterator[pd.DataFrame]:
    """Yield the curves of all complete trials of a workload."""
    for study in folder.iterdir():
        batch_size = json.loads((study / "study.json").read_bytes())["batch_size"]
        for trial in study.iterdir():
            if not trial.is_dir():
                continue
            metadata = json.loads((trial / "metadata.json").read_bytes())
            if metadata["status"] == "COMPLETE":
                frame = pd.read_csv(trial / "measurements.csv")
                yield frame.assign(batch_size=batch_size, trial_id=metadata["trial_id"])


def first_of_each(frame: pd.DataFrame, question: Scaling) -> pd.DataFrame:
    """By batch size the first row, by step and then trial, that is better than the target."""
    reached = frame[_is_better(frame[question.aim.metric], question.aim.sign, question.target)]
    ordered = reached.sort_values(["step", "trial_id"]).rename(columns={question.aim.metric: "value"})
    return ordered.groupby("batch_size", as_index=False)[["step", "trial_id", "value"]].first()


def best_of_each(frame: pd.DataFrame, question: Best) -> pd.DataFrame:
    """By batch size the row with the best value up to a step."""
    metric = question.aim.metric
    within = frame[(frame["step"] <= question.step_budget) & frame[metric].notna()]
    ordered = within.sort_values([metric, "step", "trial_id"], ascending=[question.aim.sign > 0, True, True])
    named = ordered.rename(columns={metric: "value"})
    return named.groupby("batch_size", as_index=False)[["step", "trial_id", "value"]].first()


def swept(frame: pd.DataFrame, question: Sweep) -> pd.DataFrame:
    """By target and batch size the first row that is better; sorted once for all targets."""
    ordered = frame.sort_values(["step", "trial_id"]).rename(columns={question.aim.metric: "value"})
    ordered = ordered[["batch_size", "step", "trial_id", "value"]]
    frames = [
        ordered[_is_better(ordered["value"], question.aim.sign, target)]
        .drop_duplicates("batch_size")
        .assign(target=target)
        for target in question.targets
    ]
    return pd.concat(frames)


def _is_better(values: pd.Series[float], sign: int, target: float) -> pd.Series[bool]:
    return values < target if sign > 0 else values > target


def table_of(frame: pd.DataFrame) -> pa.Table:
    """Return the same rows in Arrow."""
    return pa.Table.from_pandas(frame, preserve_index=False)
