"""Documents of a submission: what its contributor says of it, and its state. Documents of runs are named by links."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator

from losslake_contributions.protocol.contributions import SubmissionState
from losslake_contributions.protocol.limits import LONGEST_NOTE, MOST_CLAIMS, MOST_CONTRIBUTORS, MOST_RUNS
from losslake_contributions.protocol.texts import Count, Document, Name, Note, Orcid, Role, RunId, Step

RunIds = Annotated[tuple[RunId, ...], Field(min_length=1, max_length=MOST_RUNS, strict=False)]


class Credit(Document):
    """A person or a group whose work the runs are. role: of `losslake_schema.contributors`; None: data collection."""

    name: Name
    orcid: Orcid | None = None
    role: Role | None = None


class Claim(Document):
    """A claim about a run: a metric reaches a target after a number of steps. It is compared with the log."""

    contribution: RunId
    metric: Name
    target: float
    steps: Step


class SubmissionRequest(Document):
    """A request for the review of finished runs."""

    contributions: RunIds
    licence: Name
    contributors: Annotated[tuple[Credit, ...], Field(max_length=MOST_CONTRIBUTORS, strict=False)] = ()
    claims: Annotated[tuple[Claim, ...], Field(max_length=MOST_CLAIMS, strict=False)] = ()
    note: Note = ""

    @field_validator("contributions")
    @classmethod
    def _sorted(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(value)) < len(value):
            raise ValueError("the same run is named twice")
        return tuple(sorted(value))

    @model_validator(mode="after")
    def _of_its_runs(self) -> SubmissionRequest:
        if not {claim.contribution for claim in self.claims} <= set(self.contributions):
            raise ValueError("a claim names a run that isn't submitted")
        return self


class ReturnRequest(Document):
    """The reason for which a submission is returned to its contributor."""

    reason: Annotated[Note, StringConstraints(min_length=1, max_length=LONGEST_NOTE)]


class SplitRequest(Document):
    """The runs that are moved from a submission into a new one."""

    contributions: RunIds


class SubmittedRun(Document):
    """A run of a submission. trial: its path in the lake, once it is there. links: `facts`, its run.json."""

    id: RunId
    study: str
    status: str
    n_segments: int
    bytes: int
    trial: str | None = None
    links: Annotated[dict[str, str], Field(default_factory=dict)]


class SubmissionSummary(Document):
    """A submission in a list.

    owner: the contributor who sent it. reason: why it was returned. release: that has it. split_from: the submission
    that its runs were in before.
    """

    id: str
    state: SubmissionState
    owner: Credit
    submitted_at: datetime
    changed_at: datetime
    licence: Name
    note: Note
    n_runs: Count
    bytes: Count
    reason: str | None = None
    reviewer: str | None = None
    release: int | None = None
    split_from: str | None = None


class SubmissionStatus(SubmissionSummary):
    """A submission with a page of its runs, and pages about it.

    contributions: the ids of all runs. refused: up to 100 errors that the checks had found when it was returned. next:
    the run after which the next page begins. links: pages about it.
    """

    contributors: Annotated[tuple[Credit, ...], Field(strict=False)]
    claims: Annotated[tuple[Claim, ...], Field(strict=False)]
    contributions: Annotated[tuple[RunId, ...], Field(strict=False)]
    runs: Annotated[tuple[SubmittedRun, ...], Field(strict=False)]
    next: RunId | None = None
    refused: Annotated[tuple[str, ...], Field(strict=False)] = ()
    links: Annotated[dict[str, str], Field(default_factory=dict)]


class SubmissionList(Document):
    """Submissions, the one that has waited longest first. next: the id after which the next page begins."""

    submissions: Annotated[tuple[SubmissionSummary, ...], Field(strict=False)]
    next: str | None = None
