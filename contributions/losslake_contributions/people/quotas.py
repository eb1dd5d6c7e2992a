"""Quotas of a token: how much in all, counted in the database, and how much an hour, counted in each process."""

from __future__ import annotations

import math
from typing import Literal

from sqlalchemy import bindparam, case, update
from sqlalchemy.orm import Session

from losslake_contributions.protocol.errors import ContributionError
from losslake_contributions.settings import Settings
from losslake_contributions.store.tables import Token
from losslake_service.shares.allowances import HOUR, Allowance

Amount = Literal["runs", "segments", "bytes", "submissions"]
_UNSYNCHRONIZED = {"synchronize_session": False}
# Made once: to build it for each request takes time.
_USED = {
    Token.runs: Token.runs + bindparam("more_runs"),
    Token.segments: Token.segments + bindparam("more_segments"),
    Token.bytes: Token.bytes + bindparam("more_bytes"),
    Token.document_bytes: Token.document_bytes + bindparam("more_document_bytes"),
}
_MOST = Token.most_runs, Token.most_segments, Token.most_bytes, Token.most_document_bytes
_USE = (
    update(Token)
    .where(Token.id == bindparam("token"), *(used <= most for used, most in zip(_USED.values(), _MOST, strict=True)))
    .values(_USED)
    .execution_options(**_UNSYNCHRONIZED)
)


def use(
    session: Session, token: str, runs: int = 0, segments: int = 0, n_bytes: int = 0, document_bytes: int = 0
) -> None:
    """Count what is sent with a token; raise ContributionError if that is more than its quota."""
    used = {
        "token": token, "more_runs": runs, "more_segments": segments, "more_bytes": n_bytes,
        "more_document_bytes": document_bytes,
    }  # fmt: skip
    if session.connection().execute(_USE, used).rowcount:
        return
    row = session.get_one(Token, token)
    amounts = f"{row.runs:,} of {row.most_runs:,} runs, {row.segments:,} of {row.most_segments:,} segments"
    more = (
        f"{row.bytes:,} of {row.most_bytes:,} bytes, {row.document_bytes:,} of {row.most_document_bytes:,} of documents"
    )
    raise ContributionError("quota-exceeded", f"{amounts}, {more} are used: ask the operator for a larger quota")


def give_back(session: Session, token: str, n_bytes: int) -> None:
    """Count fewer bytes: of pieces that counted more than they have, and whose segment has a file now."""
    remaining = case((Token.bytes > n_bytes, Token.bytes - n_bytes), else_=0)
    if n_bytes:
        session.execute(
            update(Token).where(Token.id == token).values(bytes=remaining), execution_options=_UNSYNCHRONIZED
        )


class HourlyQuotas:
    """The hourly quotas of all tokens, for one process."""

    def __init__(self, settings: Settings) -> None:
        amounts: dict[Amount, int] = {
            "runs": settings.runs_per_hour,
            "segments": settings.segments_per_hour,
            "bytes": settings.megabytes_per_hour * 1_000_000,
            "submissions": settings.submissions_per_hour,
        }
        self._allowances = {name: Allowance(amount, HOUR) for name, amount in amounts.items() if amount}

    def use(self, token: str, name: Amount, cost: int = 1) -> None:
        """Count what is sent with a token; raise ContributionError if that is more than its quota of an hour."""
        allowance = self._allowances.get(name)
        if allowance is None:
            return
        balance = allowance.take(token, cost)
        if not balance.is_allowed:
            seconds = math.ceil(balance.retry)
            detail = f"the token has sent its {name} of an hour: try again in {seconds:,} s"
            raise ContributionError("too-fast", detail, retry_after=seconds)
