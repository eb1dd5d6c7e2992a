"""The address of this service, for documents that name their files by URL."""

from __future__ import annotations

import re

from starlette.requests import Request

from losslake_service.problems import ParameterProblem

_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?", re.ASCII
)


def base_url(request: Request, public_url: str | None = None) -> str:
    """Scheme and host without a slash at the end: public_url, else as the request names this service.

    Raises ParameterProblem for a Host header that is none: what it says would end up in documents and SQL.
    """
    if public_url:
        return public_url.rstrip("/")
    host = request.headers.get("host", "")
    if not _HOST.fullmatch(host):
        raise ParameterProblem("bad-parameter", "Host", "the header Host is not a host name or address with a port")
    scheme = "https" if request.url.scheme == "https" else "http"
    return f"{scheme}://{host}"
