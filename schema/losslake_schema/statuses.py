"""The statuses of trials: how a trial ended."""

from __future__ import annotations

from typing import Literal, get_args

Status = Literal["COMPLETE", "MISSED", "INCOMPLETE", "INFEASIBLE"]
STATUSES: tuple[Status, Status, Status, Status] = get_args(Status)
# It ran as planned; it ran to its end without reaching a goal; it ended early; it diverged.
COMPLETE, MISSED, INCOMPLETE, INFEASIBLE = STATUSES
# What logs can state, and trials are stored with. A stored INCOMPLETE is MISSED by the other trials and the goals of a
# release: `views/serving/base_missed.sql` decides it for the release's index.
STORED_STATUSES: tuple[Status, Status, Status] = (COMPLETE, INCOMPLETE, INFEASIBLE)
