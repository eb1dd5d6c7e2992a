"""An object store that speaks the S3 protocol: moto's, which keeps all in memory and here believes no wrong signature.

Unlike moto alone, it has no CORS configuration, and who follows a signed URL gets every header that S3 may send.

python -m tests.servers.s3_process PORT BUCKET ACCESS_KEY SECRET_KEY
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

import botocore.session
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from moto.s3.models import s3_backends
from werkzeug.serving import WSGIRequestHandler, run_simple

from tests.servers.processes import ADDRESS
from tests.servers.s3_signatures import Head, is_signed

_ACCOUNT = "123456789012"
_REGION = "us-east-1"


class _Handler(WSGIRequestHandler):
    # Head and body of an answer are sent separately: together with a client's late acknowledgement that is 40 ms.
    disable_nagle_algorithm = True

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""


class _Signed:
    """An application of which only who signs with the key may ask anything."""

    def __init__(self, application: WSGIApplication, access_key: str, secret_key: str) -> None:
        self._application = application
        self._access_key = access_key
        self._secret_key = secret_key

    def __call__(self, environment: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if is_signed(_head(environment), self._access_key, self._secret_key):
            return self._application(environment, start_response)
        start_response("403 Forbidden", [("Content-Type", "application/xml")])
        return [b"<Error><Code>SignatureDoesNotMatch</Code><Message>Wrong, or its time is over.</Message></Error>"]


class _AsAnyStore:
    """An application without the headers that moto alone sends, and with those that other stores send."""

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application
        self._more = [(name, "of-the-store") for name in object_headers()]

    def __call__(self, environment: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        is_signed_url = "X-Amz-Signature=" in environment["QUERY_STRING"]

        def start(status: str, headers: list[tuple[str, str]], *more: Any) -> Any:
            kept = [(name, value) for name, value in headers if not name.lower().startswith("access-control-")]
            names = {name.lower() for name, _ in kept}
            if is_signed_url:
                kept += [(name, value) for name, value in self._more if name not in names]
            return start_response(status, kept, *more)

        return self._application(environment, start)


def object_headers() -> list[str]:
    """Return the names, in small letters, of all headers named x-amz-… that S3 documents for its answers."""
    service = botocore.session.get_session().get_service_model("s3")
    shapes = [service.operation_model(name).output_shape for name in service.operation_names]
    members = [member.serialization for shape in shapes if shape is not None for member in shape.members.values()]
    names = {each["name"].lower() for each in members if each.get("location") == "header"}
    return sorted({"x-amz-id-2", "x-amz-request-id", *(name for name in names if name.startswith("x-amz-"))})


def _head(environment: WSGIEnvironment) -> Head:
    headers = {name[5:].replace("_", "-").lower(): value for name, value in environment.items() if name[:5] == "HTTP_"}
    headers |= {
        name.replace("_", "-").lower(): environment.get(name, "") for name in ("CONTENT_TYPE", "CONTENT_LENGTH")
    }
    return Head(environment["REQUEST_METHOD"], environment["REQUEST_URI"], headers)


def main() -> None:
    """Serve until the process is ended."""
    port, bucket, access_key, secret_key = sys.argv[1:]
    s3_backends[_ACCOUNT]["aws"].create_bucket(bucket, _REGION)
    application = _AsAnyStore(DomainDispatcherApplication(create_backend_app))
    signed = _Signed(application, access_key, secret_key)
    run_simple(ADDRESS, int(port), signed, threaded=True, request_handler=_Handler)


if __name__ == "__main__":
    main()
