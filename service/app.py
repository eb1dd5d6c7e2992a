"""The service as an ASGI application: one short function per path."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Query, Request
from fastapi.responses import HTMLResponse, Response, StreamingResponse

from schema.lake import Lake
from service.answers import lists
from service.answers.curves import Curves, curve_parts
from service.answers.described import DESCRIBED
from service.answers.scaling import Scaling, scaling
from service.answers.steps import StepsToTarget, steps_to_target
from service.bulk.paths import add_bulk_download
from service.json_text import curve_text, json_text
from service.parameters import (
    CurvesParameters,
    GoalParameters,
    ReleaseParameters,
    StudiesParameters,
    TrialsParameters,
    only,
)
from service.problems import RESPONSES, answer_with_problems, describe
from service.release_view import named_workload
from service.releases import Releases
from service.root_page import root_page

_DESCRIPTION = """Training-curve measurements, and what they say about batch sizes.

Every answer is of one release. JSON has no number for NaN and infinities: where a value can be one, it is the string
NaN, Infinity or -Infinity. Errors are problem documents (RFC 9457)."""


@dataclass(frozen=True, slots=True)
class Health:
    """The service answers."""

    __pydantic_config__ = DESCRIBED

    status: str
    """ok"""
    release: int
    """The release that is answered from by default."""


def create_app(lake: Lake) -> FastAPI:
    """The application that answers questions about a lake."""
    app = FastAPI(
        title="LossLake",
        description=_DESCRIPTION,
        version=_version(),
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.releases = Releases(lake)
    app.include_router(_router)
    add_bulk_download(app, lake)
    answer_with_problems(app)
    app.openapi = partial(describe, app)  # type: ignore[method-assign]
    return app


def _version() -> str:
    try:
        return version("losslake")
    except PackageNotFoundError:
        return "0"


def _open_releases(request: Request) -> Releases:
    releases: Releases = request.app.state.releases
    return releases


_router = APIRouter()
_Asked = Annotated[Releases, Depends(_open_releases)]


def _path(answer: type, parameters: type[ReleaseParameters] | None = None) -> dict[str, Any]:
    """What the paths have in common: the shape of answers and errors, and that unknown parameters are refused."""
    return {
        "response_model": answer,
        "response_class": Response,
        "responses": RESPONSES | {200: {"model": answer}},
        "dependencies": [Depends(only(parameters))],
    }


def _json(answer: object) -> Response:
    return Response(json_text(answer), media_type="application/json")


@_router.get("/v1/workloads", **_path(lists.Workloads, ReleaseParameters))
def get_workloads(asked: _Asked, parameters: Annotated[ReleaseParameters, Query()]) -> Response:
    """The workloads of a release, with their batch sizes, metrics and goals."""
    return _json(lists.workloads(asked.view(parameters.release)))


@_router.get("/v1/studies", **_path(lists.Studies, StudiesParameters))
def get_studies(asked: _Asked, parameters: Annotated[StudiesParameters, Query()]) -> Response:
    """The studies of a release or of one workload."""
    workload = named_workload(parameters.workload) if parameters.workload is not None else None
    return _json(lists.studies(asked.view(parameters.release), workload))


@_router.get("/v1/trials", **_path(lists.TrialList, TrialsParameters))
def get_trials(asked: _Asked, parameters: Annotated[TrialsParameters, Query()]) -> Response:
    """The trials of a workload or of a study, with their metaparameters."""
    return _json(lists.trials(asked.view(parameters.release), parameters.of(), parameters.status))


@_router.get("/v1/curves", **_path(Curves, CurvesParameters))
def get_curves(asked: _Asked, parameters: Annotated[CurvesParameters, Query()]) -> Response:
    """The measurements of a trial, or of all trials of a study."""
    question = parameters.question()
    view = asked.view(parameters.release)
    text = curve_text(view.number, str(question.study), curve_parts(view, question))
    return StreamingResponse(text, media_type="application/json")


@_router.get("/v1/steps-to-target", **_path(StepsToTarget, GoalParameters))
def get_steps_to_target(asked: _Asked, parameters: Annotated[GoalParameters, Query()]) -> Response:
    """When each trial of a workload reaches a target."""
    return _json(steps_to_target(asked.view(parameters.release), parameters.question()))


@_router.get("/v1/scaling", **_path(Scaling, GoalParameters))
def get_scaling(asked: _Asked, parameters: Annotated[GoalParameters, Query()]) -> Response:
    """How many steps the best trial of a workload takes to a target, by batch size."""
    return _json(scaling(asked.view(parameters.release), parameters.question()))


@_router.get("/v1/releases", **_path(lists.ReleaseList))
def get_releases(asked: _Asked) -> Response:
    """Every release of the lake, newest first."""
    return _json(lists.releases(asked.lake.releases()))


@_router.get("/healthz", **_path(Health))
def get_health(asked: _Asked) -> Response:
    """Whether questions can be answered."""
    return _json(Health("ok", asked.view().number))


@_router.get("/", response_class=HTMLResponse, responses=RESPONSES, dependencies=[Depends(only())])
def get_root(asked: _Asked) -> HTMLResponse:
    """A page that says what this is and where to begin."""
    view = asked.view()
    return HTMLResponse(root_page(view, asked.lake.release(view.number)))
