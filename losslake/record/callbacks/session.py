"""The run behind a callback: begun where a training begins, and gone on with where one goes on."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from losslake.record.run import Run, Status, start

_LOGGER = logging.getLogger("losslake.record")


class Session:
    """The run of a callback. run: None before it has begun.

    facts: the arguments of `losslake.record.start` that the callback was given.
    """

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._facts = dict(facts)
        self.run: Run | None = None

    def begin(
        self, *, batch_size: int, parameters: Mapping[str, Any], rank: int | None = None, resume: str | None = None
    ) -> Run:
        """Begin a run, or go on with the one to resume.

        parameters: those that the trainer states; given ones come first. Raises ValueError as `start` does.
        """
        self._facts |= {"batch_size": batch_size, "parameters": {**parameters, **(self._facts.get("parameters") or {})}}
        self._facts["rank"] = rank if self._facts.get("rank") is None else self._facts["rank"]
        self.run = start(**{**self._facts, "resume": resume})
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
        # Nothing is replaced: what was measured at the last step remains, beside what comes now.
        self.run.rewind(step + 1)
        self.run.log(metrics, step=step)
        self.run.finish("COMPLETE")

    def finish(self, status: Status) -> None:
        """End the run, if one has begun and not ended."""
        if self.run is not None:
            self.run.finish(status)


def check_batch_size(given: int | None, known: int | None, how: str) -> int:
    """Return the batch size of an update: the given one, else the known one.

    how: the trainer's own words for it. Raises ValueError if neither is there.
    """
    if given is None and known is None:
        raise ValueError(f"the batch size of an update can't be known here: give batch_size=, which is {how}")
    if given is not None and known is not None and given != known:
        _LOGGER.warning("batch_size is given as %s, and %s is %s: recorded as given", given, how, known)
    return given if given is not None else known  # type: ignore[return-value]
