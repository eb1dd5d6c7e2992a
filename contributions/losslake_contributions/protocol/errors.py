"""Errors of the contribution service, each of a kind that clients can rely on."""

from __future__ import annotations

import errno
import logging
from collections.abc import Mapping

from losslake_schema.errors import LakeBroken, LossLakeError
from losslake_schema.package_files import read_toml

_NO_SPACE = (errno.ENOSPC, errno.EDQUOT)
_log = logging.getLogger(__name__)

# HTTP status and title by kind.
KINDS: Mapping[str, tuple[int, str]] = {
    kind: (status, title)
    for kind, (status, title) in read_toml("losslake_contributions.protocol", "problems.toml").items()
}


class ContributionError(LossLakeError):
    """A request that can't be fulfilled.

    kind: of KINDS. retry_after: seconds until it may be sent again. more: further members of the problem document.
    """

    def __init__(self, kind: str, detail: str, retry_after: int | None = None, **more: object) -> None:
        super().__init__(detail)
        self.kind = kind
        self.retry_after = retry_after
        self.more = more

    @property
    def status(self) -> int:
        """The HTTP status."""
        return KINDS[self.kind][0]


class SegmentBroken(LakeBroken):
    """A stored segment that is missing or altered. Its message names no path of the machine."""


def public_reason(error: BaseException) -> str:
    """Return what contributors and reviewers are told of an error: others may name paths of the machine."""
    if isinstance(error, ContributionError | SegmentBroken):
        return str(error)
    return "an error in the service, which is in its log"


def unknown_contribution(run: str) -> ContributionError:
    """Return the error for a run that isn't there, or is someone else's: nobody learns which."""
    return ContributionError("unknown-contribution", f"you have no contribution {run}: create it with PUT first")


def unknown_submission(name: str) -> ContributionError:
    """Return the error for a submission that isn't there, or is someone else's."""
    return ContributionError(
        "unknown-submission", f"you have no submission {name}: 'losslake submissions list' shows yours"
    )


def no_space(error: BaseException | None) -> ContributionError | None:
    """Return the error of a full disk, which is logged; None for any other error."""
    if not isinstance(error, OSError) or error.errno not in _NO_SPACE:
        return None
    _log.error("there is no space left: %s", error)
    detail = "there is no space left: tell the operator, then send the same request again"
    return ContributionError("no-space", detail)
