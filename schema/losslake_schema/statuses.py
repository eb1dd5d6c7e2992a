"""The statuses of trials: how a trial ended."""

from __future__ import annotations

from typing import Literal, get_args

Status = Literal["COMPLETE", "INCOMPLETE", "INFEASIBLE"]
STATUSES: tuple[Status, Status, Status] = get_args(Status)
# It ran as planned; it was stopped for an outside reason; it diverged.
COMPLETE, INCOMPLETE, INFEASIBLE = STATUSES
