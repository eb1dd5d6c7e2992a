"""The same with pandas when everything that is asked for already is in memory, as a frame per workload."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from bench.peers.pandas_files import best_of_each, first_of_each, swept, table_of
from bench.peers.polars_parquet import PolarsParquet
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep


class PandasMemory:
    """Holds the measurements of one metric per workload, of complete trials."""

    name, is_cached, is_rival = "pandas, all in memory", True, True

    def __init__(self, source: PolarsParquet, aims: Sequence[Aim]) -> None:
        self._frames = {
            aim.workload: source.measurements(aim).to_pandas().rename(columns={"value": aim.metric}) for aim in aims
        }

    def scaling(self, question: Scaling) -> pa.Table:
        return table_of(first_of_each(self._frames[question.aim.workload], question))

    def curve(self, question: Curve) -> pa.Table:
        frame = self._frames[question.study.workload]
        is_of_trial = (frame["batch_size"] == question.study.batch_size) & (
            frame["trial_id"] == question.trial.trial_id
        )
        return table_of(frame.loc[is_of_trial, ["step", question.metric]].rename(columns={question.metric: "value"}))

    def best(self, question: Best) -> pa.Table:
        return table_of(best_of_each(self._frames[question.aim.workload], question))

    def sweep(self, question: Sweep) -> pa.Table:
        return table_of(swept(self._frames[question.aim.workload], question))
