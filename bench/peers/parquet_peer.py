"""What the peers have in common that answer by statements over the folders of what is asked for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.peers import hive
from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep


class ParquetPeer(ABC):
    """A peer that answers each question by the statement of its name."""

    is_cached = True
    is_rival = True

    def __init__(self, lake: Path) -> None:
        self._lake = lake

    def scaling(self, question: Scaling) -> pa.Table:
        return self._rows("scaling", self._of(question.aim) | {"target": question.target})

    def curve(self, question: Curve) -> pa.Table:
        files = hive.measurements_of_study(self._lake, question.study)
        parameters = {"files": files, "metric": question.metric, "trial_id": question.trial.trial_id}
        return self._rows("curve", parameters)

    def best(self, question: Best) -> pa.Table:
        return self._rows("best", self._of(question.aim) | {"step_budget": question.step_budget})

    def sweep(self, question: Sweep) -> pa.Table:
        return self._rows("sweep", self._of(question.aim) | {"targets": list(question.targets)})

    def _of(self, aim: Aim) -> dict[str, Any]:
        return {
            "files": hive.measurements_of(self._lake, aim.workload),
            "workload": str(aim.workload),
            "metric": aim.metric,
            "sign": aim.sign,
        }

    @abstractmethod
    def _rows(self, name: str, parameters: dict[str, Any]) -> pa.Table:
        """Return the rows of a statement's result."""
