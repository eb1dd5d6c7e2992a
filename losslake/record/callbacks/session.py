"""The run behind a callback: begun where a training begins, and gone on with where one goes on."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from losslake.record.run import Run, Status, start

_LOGGER = logging.getLogger("losslake.record")


class Session:
    """The run of a callback. run: None before it has begun.

    facts: the arguments of `losslake.record.start` that the callback was given. resume: the run that the first training
    goes on with, if the user names one.
    """

    def __init__(self, facts: Mapping[str, Any], resume: str | None) -> None:
        self._facts = dict(facts)
        self._resume = resume
        self.run: Run | None = None

    @property
    def recorded(self) -> str | None:
        """The name of the run, if one was begun and is recorded by this process."""
        return self.run.name if self.run is not None and self.run.folder is not None else None

    def begin(
        self,
        *,
        batch_size: int,
        parameters: Mapping[str, Any],
        updates: int,
        last: str | None,
        rank: int | None = None,
    ) -> Run:
        """Begin a run, or go on with one: the one that the user names, or after earlier updates the last one.

        parameters: those that the trainer states; given ones come first. updates: those before. Raises ValueError as
        `start` does.
        """
        self._facts |= {"batch_size": batch_size, "parameters": {**parameters, **(self._facts.get("parameters") or {})}}
        self._facts["rank"] = rank if self._facts.get("rank") is None else self._facts["rank"]
        self.run = start(**{**self._facts, "resume": self._resume or (last if updates else None)})
        self._resume = None
        if updates:
            self.run.rewind(updates + 1)
        return self.run

    def log(self, metrics: Mapping[str, Any], step: int) -> None:
        """Record metrics; if the run has ended, as before an evaluation after training, go on with it."""
        if self.run is None or not metrics:
            return
        if not self.run.is_finished:
            self.run.log(metrics, step=step)
            return
        if self.run.folder is None:
            return
        try:
            self.run = start(**{**self._facts, "resume": self.run.name})
        except ValueError as error:
            _LOGGER.warning("an evaluation after the training isn't recorded: %s", error)
            return
        # Nothing is replaced: what was of_trainer at the last step remains, beside what comes now.
        self.run.rewind(step + 1)
        self.run.log(metrics, step=step)
        self.run.finish("COMPLETE")

    def finish(self, status: Status) -> None:
        """End the run, if one has begun and not ended."""
        if self.run is not None:
            self.run.finish(status)


def check_batch_size(stated: int | None, of_trainer: int | None, how: str) -> int:
    """Return the batch size of an update: the one that the user stated, else the one that the trainer has.

    how: the trainer's own words for it. Raises ValueError if neither is there.
    """
    if stated is None and of_trainer is None:
        raise ValueError(f"the batch size of an update can't be known here: give batch_size=, which is {how}")
    if stated is not None and of_trainer is not None and stated != of_trainer:
        _LOGGER.warning("batch_size is given as %s, and %s is %s: recorded as given", stated, how, of_trainer)
    return stated if stated is not None else of_trainer  # type: ignore[return-value]
