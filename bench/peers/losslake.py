"""LossLake itself, asked in-process and over HTTP for the columns that peers return.

Every answer is written as Arrow's IPC stream and read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa

from bench.peers.questions import Aim, Best, Curve, Scaling, Sweep
from bench.servers import Server
from losslake.output.answer import Answer
from losslake.output.formats import arrow_pieces
from losslake.questions import best, curves, scaling, targets
from losslake.questions.declaration.parameters import SelectionParameters
from losslake.questions.release.view import ReleaseView

# The columns of an answer, by those of peers.
_SCALING = {"batch_size": "batch_size", "steps": "step", "trial_id": "trial_id", "value": "value"}
_CURVE = {"step": "step", "value": "value"}
_BEST = {"batch_size": "batch_size", "step": "step", "trial_id": "trial_id", "best_value": "value"}
_SWEEP = {"target": "target", **_SCALING}


class LossLake:
    """The service in-process, without HTTP."""

    name, is_cached, is_rival = "LossLake, in-process", True, False

    def __init__(self, view: ReleaseView) -> None:
        self.view = view

    def scaling(self, question: Scaling) -> pa.Table:
        parameters = scaling.ScalingParameters(**_selected(question.aim, _SCALING), target=question.target)
        return _written(scaling.QUESTION.answer(self.view, parameters), _SCALING)

    def curve(self, question: Curve) -> pa.Table:
        trial, metric = [str(question.trial)], [question.metric]
        parameters = curves.CurvesParameters(trial=trial, metric=metric, fields=",".join(_CURVE))
        return _written(curves.QUESTION.answer(self.view, parameters), _CURVE)

    def best(self, question: Best) -> pa.Table:
        parameters = SelectionParameters(**_selected(question.aim, _BEST), step_budget=question.step_budget)
        return _written(best.QUESTION.answer(self.view, parameters), _BEST)

    def sweep(self, question: Sweep) -> pa.Table:
        parameters = targets.TargetsParameters(**_selected(question.aim, _SWEEP), target=list(question.targets))
        return _written(targets.QUESTION.answer(self.view, parameters), _SWEEP)


def _selected(aim: Aim, columns: Mapping[str, str]) -> dict[str, Any]:
    return {"workload": [str(aim.workload)], "metric": aim.metric, "fields": ",".join(columns)}


class LossLakeOverHttp:
    """The service, asked over a new connection for each workload, curve or sweep."""

    name, is_cached, is_rival = "LossLake, over HTTP", True, False

    def __init__(self, server: Server) -> None:
        self._server = server

    def scaling(self, question: Scaling) -> pa.Table:
        return self._got("scaling", _SCALING, *_of(question.aim), ("target", question.target))

    def curve(self, question: Curve) -> pa.Table:
        return self._got("curves", _CURVE, ("trial", question.trial), ("metric", question.metric))

    def best(self, question: Best) -> pa.Table:
        return self._got("best", _BEST, *_of(question.aim), ("step_budget", question.step_budget))

    def sweep(self, question: Sweep) -> pa.Table:
        return self._got("targets", _SWEEP, *_of(question.aim), *(("target", target) for target in question.targets))

    def _got(self, name: str, columns: Mapping[str, str], *parameters: tuple[str, object]) -> pa.Table:
        query = urlencode([*parameters, ("fields", ",".join(columns))])
        return _read(self._server.answer(f"/v1/{name}.arrow?{query}"), columns)


def _of(aim: Aim) -> Sequence[tuple[str, object]]:
    return ("workload", aim.workload), ("metric", aim.metric)


def _written(answer: Answer, columns: Mapping[str, str]) -> pa.Table:
    return _read(b"".join(arrow_pieces(answer)), columns)


def _read(stream: bytes, columns: Mapping[str, str]) -> pa.Table:
    return pa.ipc.open_stream(stream).read_all().rename_columns(columns)
