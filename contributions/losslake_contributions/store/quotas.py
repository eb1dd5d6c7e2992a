"""Quotas of a token: how much in all, counted in the database, and how much an hour, counted in each process."""

from __future__ import annotations

import math
from dataclasses import dataclass

from sqlalchemy import bindparam, update
from sqlalchemy.orm import Session

from losslake_contributions.errors import ContributionError
from losslake_contributions.store.tables import Token
from losslake_service.shares.allowances import HOUR, Allowance

# Made once: to build it for each request takes time.
_USE = (
    update(Token)
    .where(
        Token.id == bindparam("token"),
        Token.runs + bindparam("more_runs") <= Token.most_runs,
        Token.segments + bindparam("more_segments") <= Token.most_segments,
        Token.bytes + bindparam("more_bytes") <= Token.most_bytes,
    )
    .values(
        runs=Token.runs + bindparam("more_runs"),
        segments=Token.segments + bindparam("more_segments"),
        bytes=Token.bytes + bindparam("more_bytes"),
    )
    .execution_options(synchronize_session=False)
)


def use(session: Session, token: str, runs: int = 0, segments: int = 0, n_bytes: int = 0) -> None:
    """Count what is sent with a token; raise ContributionError if that is more than its quota."""
    used = {"token": token, "more_runs": runs, "more_segments": segments, "more_bytes": n_bytes}
    result = session.connection().execute(_USE, used)
    if result.rowcount:
        return
    row = session.get_one(Token, token)
    amounts = f"{row.runs:,} of {row.most_runs:,} runs, {row.segments:,} of {row.most_segments:,} segments"
    more = f"{row.bytes:,} of {row.most_bytes:,} bytes are used"
    raise ContributionError("quota-exceeded", f"{amounts}, {more}: ask the operator for a token with a larger quota")


@dataclass(frozen=True)
class HourlyQuota:
    """What may be sent with a token in an hour; 0: anything."""

    runs: int
    segments: int
    megabytes: int
    submissions: int


class HourlyQuotas:
    """The hourly quotas of all tokens, for one process."""

    def __init__(self, quota: HourlyQuota) -> None:
        amounts = {"runs": quota.runs, "segments": quota.segments, "bytes": quota.megabytes * 1_000_000}
        amounts["submissions"] = quota.submissions
        self._allowances = {name: Allowance(amount, HOUR) for name, amount in amounts.items() if amount}

    def use_run(self, token: str) -> None:
        """Count a new run; raise ContributionError if there were too many."""
        self._use(token, "runs", 1)

    def use_segment(self, token: str) -> None:
        """Count a segment that is being sent; raise ContributionError if there were too many."""
        self._use(token, "segments", 1)

    def use_submission(self, token: str) -> None:
        """Count a request to submit runs, whose review takes time; raise ContributionError if there were too many."""
        self._use(token, "submissions", 1)

    def use_bytes(self, token: str, n_bytes: int) -> None:
        """Count the JSON lines of a segment; raise ContributionError if there were too many."""
        self._use(token, "bytes", n_bytes)

    def _use(self, token: str, name: str, cost: int) -> None:
        allowance = self._allowances.get(name)
        if allowance is None:
            return
        balance = allowance.take(token, cost)
        if not balance.is_allowed:
            seconds = math.ceil(balance.retry)
            detail = f"the token has sent its {name} of an hour: try again in {seconds:,} s"
            raise ContributionError("too-fast", detail, retry_after=seconds)
