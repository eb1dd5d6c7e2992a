"""The near-optimal set: the trials that reach a target almost as soon as the best one of their study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

WITHIN = 0.1


@dataclass(frozen=True)
class NearOptimal:
    """rows: of the trials, by steps and then by row; the first is the best. steps: of the best."""

    rows: npt.NDArray[np.int64]
    steps: float

    @property
    def best(self) -> int:
        """The row of the trial with the fewest steps."""
        return int(self.rows[0])


def near_optimal(steps: npt.NDArray[np.float64], within: float = WITHIN) -> NearOptimal | None:
    """{i: S_i <= (1 + within) S*}, ties to the lower row; None if no trial reached the target (METHODS 4).

    steps: to the target by trial, inf where never reached. A single best trial jumps from batch size to batch size;
    the set shows how much. Raises ValueError for a negative or infinite `within`.
    """
    if not 0 <= within < np.inf:
        raise ValueError(f"within={within} has to be a finite number, 0 or more")
    ordered = np.argsort(steps, kind="stable")
    ordered = ordered[np.isfinite(steps[ordered])]
    if not len(ordered):
        return None
    fewest = float(steps[ordered[0]])
    return NearOptimal(ordered[steps[ordered] <= (1 + within) * fewest], fewest)
