"""LossLake itself, asked in-process and over HTTP; every answer is written as Arrow's IPC stream and read again."""

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

_NAMES = {"steps": "step"}
_NAMES_OF_BEST = {"best_value": "value"}


class LossLake:
    """The service in-process, without HTTP."""

    name, is_cached, is_rival = "LossLake, in-process", True, False

    def __init__(self, view: ReleaseView) -> None:
        self.view = view

    def scaling(self, question: Scaling) -> pa.Table:
        parameters = scaling.ScalingParameters(**_selected(question.aim), target=question.target)
        return _written(scaling.QUESTION.answer(self.view, parameters))

    def curve(self, question: Curve) -> pa.Table:
        parameters = curves.CurvesParameters(trial=[str(question.trial)], metric=[question.metric])
        return _written(curves.QUESTION.answer(self.view, parameters))

    def best(self, question: Best) -> pa.Table:
        parameters = SelectionParameters(**_selected(question.aim), step_budget=question.step_budget)
        return _written(best.QUESTION.answer(self.view, parameters), _NAMES_OF_BEST)

    def sweep(self, question: Sweep) -> pa.Table:
        parameters = targets.TargetsParameters(**_selected(question.aim), target=list(question.targets))
        return _written(targets.QUESTION.answer(self.view, parameters))


def _selected(aim: Aim) -> dict[str, Any]:
    return {"workload": [str(aim.workload)], "metric": aim.metric}


class LossLakeOverHttp:
    """The service, asked over a new connection for each workload, curve or sweep."""

    name, is_cached, is_rival = "LossLake, over HTTP", True, False

    def __init__(self, server: Server) -> None:
        self._server = server

    def scaling(self, question: Scaling) -> pa.Table:
        return self._got("scaling", *_of(question.aim), ("target", question.target))

    def curve(self, question: Curve) -> pa.Table:
        return self._got("curves", ("trial", question.trial), ("metric", question.metric))

    def best(self, question: Best) -> pa.Table:
        budget = ("step_budget", question.step_budget)
        return self._got("best", *_of(question.aim), budget, names=_NAMES_OF_BEST)

    def sweep(self, question: Sweep) -> pa.Table:
        return self._got("targets", *_of(question.aim), *(("target", target) for target in question.targets))

    def _got(self, name: str, *parameters: tuple[str, object], names: Mapping[str, str] = _NAMES) -> pa.Table:
        return _read(self._server.answer(f"/v1/{name}.arrow?{urlencode(parameters)}"), names)


def _of(aim: Aim) -> Sequence[tuple[str, object]]:
    return ("workload", aim.workload), ("metric", aim.metric)


def _written(answer: Answer, names: Mapping[str, str] = _NAMES) -> pa.Table:
    return _read(b"".join(arrow_pieces(answer)), names)


def _read(stream: bytes, names: Mapping[str, str]) -> pa.Table:
    rows = pa.ipc.open_stream(stream).read_all()
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])
