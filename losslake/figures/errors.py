"""Why a figure was not rendered."""

from __future__ import annotations

from losslake_schema.errors import LossLakeError


class FiguresBusy(LossLakeError):
    """So many figures wait to be rendered that one more would wait too long."""

    def __init__(self, n_waiting: int, retry_after: int) -> None:
        super().__init__(f"{n_waiting} figures are waiting to be rendered: ask again in {retry_after} s")
        self.retry_after = retry_after


class RenderingFailed(Exception):
    """A specification could not be rendered, or not in time."""
