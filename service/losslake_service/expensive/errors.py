"""Errors of expensive questions that aren't answered."""

from __future__ import annotations

from losslake_schema.errors import LossLakeError

BUSY, CLIENT, TIME = "questions-busy", "questions-client-limit", "questions-time-limit"
# HTTP status and title by kind.
KINDS = {
    TIME: (422, "The question takes too long"),
    CLIENT: (429, "Too many expensive questions from your address"),
    BUSY: (503, "Too many expensive questions at once"),
}


class QuestionProblem(LossLakeError):
    """An expensive question that isn't answered. kind: of KINDS. retry_after: seconds until it may be asked again."""

    def __init__(self, kind: str, detail: str, retry_after: int | None = None) -> None:
        super().__init__(detail)
        self.kind = kind
        self.retry_after = retry_after
