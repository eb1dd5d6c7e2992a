"""A server of constants with the service's HTTP stack, to measure its maximum: `/constant?size=3000`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import Response

from losslake.lake.lake import Lake
from losslake.questions.release.releases import Releases
from losslake_service import serve
from losslake_service.operation.logs import configure_logging
from losslake_service.operation.metrics import Metrics
from losslake_service.operation.operate import operate, operation
from losslake_service.settings import Settings


def application(settings: Settings) -> FastAPI:
    """Return an application that answers `size` bytes, operated as the service is."""
    configure_logging(settings)
    metrics, releases = Metrics(), Releases(Lake.open(settings.lake))
    app = FastAPI(lifespan=lambda _: operation(metrics, releases))
    constants: dict[int, bytes] = {}

    async def get_constant(request: Request) -> Response:
        size = int(request.query_params["size"])
        body = constants.setdefault(size, b"x" * size)
        return Response(body, media_type="application/json")

    app.router.add_route("/constant", get_constant)
    app.router.add_route("/healthz", lambda _: Response(b"{}"))
    operate(app, settings, metrics, partial(metrics.refresh, releases))
    return app


def main() -> None:
    lake, port, workers = sys.argv[1:]
    serve.application = application
    serve.serve(Settings(lake=str(Path(lake)), port=int(port), workers=int(workers), log_format="off"))


if __name__ == "__main__":
    main()
