"""What can go wrong with another machine, each one line."""

from __future__ import annotations

from losslake_schema.errors import LossLakeError


class RemoteError(LossLakeError):
    """Another machine did not give what was asked for, and asking again won't help."""


class Interrupted(RemoteError):
    """An attempt failed in a way that may pass.

    after: seconds that the other side asks to wait, None if it doesn't say. has_progressed: whether bytes came.
    """

    def __init__(self, message: str, after: float | None = None) -> None:
        super().__init__(message)
        self.after = after
        self.has_progressed = False


class Stopped(RemoteError):
    """The user, or an error elsewhere in the command, stopped the work."""
