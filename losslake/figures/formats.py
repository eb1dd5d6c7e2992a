"""The endings of figures and what they are.

Why a figure was not rendered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from losslake.output.answer import Answer
from losslake_schema.errors import LossLakeError

Document = dict[str, Any]
MEDIA_TYPES = {
    "vl.json": "application/vnd.vegalite.v6+json",
    "svg": "image/svg+xml",
    "png": "image/png",
    "pdf": "application/pdf",
    "csv": "text/csv; charset=utf-8",
}
"""By ending of the path; csv has the rows that are drawn."""
IMAGES: dict[str, Literal["svg", "png", "pdf"]] = {"svg": "svg", "png": "png", "pdf": "pdf"}
"""The endings that are rendered."""


@dataclass(frozen=True)
class Finished:
    """The format of a figure that is drawn already. name: its ending."""

    name: str
    body: bytes

    @property
    def media_type(self) -> str:
        return MEDIA_TYPES[self.name]

    def encode(self, _: Answer) -> Iterator[bytes]:
        """The figure's bytes, whatever the answer."""
        yield self.body


class FiguresBusy(LossLakeError):
    """So many figures wait to be rendered that one more would wait too long."""

    def __init__(self, n_waiting: int, retry_after: int) -> None:
        super().__init__(f"{n_waiting} figures are waiting to be rendered: ask again in {retry_after} s")
        self.retry_after = retry_after


class RenderingFailed(Exception):
    """A specification could not be rendered, or not in time."""
