"""A lake or a service as an object with a method for each question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from losslake.library.methods import QuestionMethods
from losslake.library.result import Result, Source, plain, result_type
from losslake_schema.errors import LossLakeError


class Lake(QuestionMethods):
    """The questions to a lake in a folder or bucket, or to a service: the same methods, the same answers.

    Methods are named for the questions of REST (`/v1/analysis/critical-batch-size` is `critical_batch_size`) and take
    the same parameters. What may be repeated there takes one value or a list. Errors are LossLakeError, of one line.
    """

    def __init__(self, source: Source, release: int | None = None) -> None:
        """Take the source of answers. release: None for the newest, at the time of each question."""
        self._source, self._release = source, release

    def release(self, number: int) -> Lake:
        """Return the same lake as of a release: its answers never change."""
        return Lake(self._source, number)

    def sql(self, statement: str, parameters: Sequence[Any] | Mapping[str, Any] | None = None) -> Result:
        """Return the result of a SELECT in DuckDB's dialect on the views and macros of the release.

        parameters: a list for ?, or a mapping for $names. A service runs it within its limits, and cuts nothing short:
        a larger result is refused. Raises LossLakeError.

        >>> lake.sql("SELECT count(*) AS n FROM trials WHERE model = $model", {"model": "mlp_64"}).to_dicts()
        [{'n': 2816}]
        """
        return Result(self._source, "/v1/sql", {}, self._source.sql(statement, parameters, self._release))

    def _answer(self, path: str, parameters: Mapping[str, Any]) -> Result:
        """Return the answer to a question."""
        values = {name: plain(value) for name, value in parameters.items() if value is not None}
        return result_type(path)(self._source, path, values, self._source.answer(path, values, self._release))

    def __repr__(self) -> str:
        release = "newest release" if self._release is None else f"release {self._release}"
        return f"<LossLake {self._source.name}, {release}>"


def opened(lake: str | Path | None, release: int | None) -> Lake:
    """Open a lake or a service; see `losslake.open`."""
    if lake is not None and not str(lake).strip():
        raise LossLakeError("an empty text names no lake: give a folder, a lake.toml, or a service's URL, or None")
    if isinstance(lake, str) and lake.startswith(("http://", "https://")):
        from losslake.library.service import ServiceSource

        return Lake(ServiceSource(lake), release)
    try:
        from losslake.library.local import LocalSource
    except ModuleNotFoundError as error:
        from losslake.extras import how_to_install, missing_extra

        raise LossLakeError(how_to_install("to open a lake", missing_extra(error))) from None
    return Lake(LocalSource(lake), release)
