"""Polars, lazily over the release's Parquet files."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa

from bench.peers import parquet
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep

PARTITIONS = {
    "collection": pl.String,
    "dataset": pl.String,
    "model": pl.String,
    "optimizer": pl.String,
    "batch_size": pl.Int64,
}
_WORKLOAD = ("collection", "dataset", "model", "optimizer")


class PolarsParquet:
    """A peer that scans the folders of a question; the list of complete trials is in memory."""

    name, is_cached, is_rival = "Polars, on the Parquet", True, True

    def __init__(self, lake: Path) -> None:
        self._lake = lake
        self._complete = (
            pl.scan_parquet(parquet.trials(lake))
            .filter(pl.col("status") == "COMPLETE")
            .select(pl.concat_str(_WORKLOAD, separator="/").alias("workload"), "batch_size", "trial_id")
            .collect()
        )

    def measurements(self, aim: Aim) -> pl.DataFrame:
        """Those of a metric in the complete trials of a workload: batch_size, trial_id, step, value."""
        return self._measurements(aim).collect()

    def scaling(self, question: Scaling) -> pa.Table:
        reached = self._measurements(question.aim).filter(_is_better(question.aim, question.target))
        soonest = reached.filter(pl.col("step") == pl.col("step").min().over("batch_size"))
        return soonest.sort("trial_id").group_by("batch_size").first().collect().to_arrow()

    def curve(self, question: Curve) -> pa.Table:
        rows = (
            _scan(parquet.measurements_of_study(self._lake, question.study))
            .filter(pl.col("metric") == question.metric, pl.col("trial_id") == question.trial.trial_id)
            .select("step", "value")
        )
        return rows.collect().to_arrow()

    def best(self, question: Best) -> pa.Table:
        within = self._measurements(question.aim).filter(
            pl.col("step") <= question.step_budget, pl.col("value").is_not_nan()
        )
        loss = pl.col("value") * question.aim.sign
        ordered = within.filter(loss == loss.min().over("batch_size")).sort("step", "trial_id")
        return ordered.group_by("batch_size").first().collect().to_arrow()

    def sweep(self, question: Sweep) -> pa.Table:
        # What is first to a target is better than everything before, by step and trial.
        loss = pl.col("value") * question.aim.sign
        before = loss.cum_min().shift(fill_value=float("inf")).over("batch_size")
        ordered = self._measurements(question.aim).filter(pl.col("value").is_not_nan()).sort("step", "trial_id")
        records = ordered.filter(loss < before).collect()
        frames = [
            records.filter(_is_better(question.aim, target))
            .unique("batch_size", keep="first", maintain_order=True)
            .with_columns(target=pl.lit(target))
            for target in question.targets
        ]
        return pl.concat(frames).to_arrow()

    def _measurements(self, aim: Aim) -> pl.LazyFrame:
        complete = self._complete.lazy().filter(pl.col("workload") == str(aim.workload))
        return (
            _scan(parquet.measurements_of(self._lake, aim.workload))
            .filter(pl.col("metric") == aim.metric)
            .select("batch_size", "trial_id", "step", "value")
            .join(complete, on=["batch_size", "trial_id"], how="semi")
        )


def _scan(files: str) -> pl.LazyFrame:
    return pl.scan_parquet(files, hive_partitioning=True, hive_schema=PARTITIONS)


def _is_better(aim: Aim, target: float) -> pl.Expr:
    # Polars has nan above every number.
    if aim.sign > 0:
        return pl.col("value") < target
    return (pl.col("value") > target) & pl.col("value").is_not_nan()
