"""The schedules of learning rates, in words, of a trial or the trials of a study."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.index.records import Trials
from losslake.questions.trials.schedules import is_finished
from losslake_schema.quantities import plural
from losslake_schema.reached import NEVER, Integers


def schedule_in_words(trials: Trials) -> str:
    """Return where the learning rate of trials decays, and how many reached the end; empty if nothing is known."""
    return "; ".join(_parts(trials))


def _parts(trials: Trials) -> Iterator[str]:
    start, end = _steps(trials.decay_start), _steps(trials.schedule_end)
    if start and end:
        yield f"decays from {start} to {end}"
    elif start:
        yield f"decays from {start}, its end isn't known"
    elif end:
        yield f"its schedule ends at {end}"
    if end:
        n, known = len(trials.trial_id), int((trials.schedule_end != NEVER).sum())
        of_all = "" if known == n else f" of {n:,}, {known:,} of which have a known end,"
        n_finished = int(is_finished(trials).sum())
        if n == 1:
            yield "evaluated at that end or later" if n_finished else "not evaluated at that end"
        else:
            yield f"{n_finished:,} {plural('trial', n_finished)}{of_all or f' of {n:,}'} evaluated at that end or later"


def _steps(steps: Integers) -> str:
    """Return known steps as text, the least and the most."""
    known = steps[steps != NEVER]
    if not len(known):
        return ""
    least, most = int(known.min()), int(known.max())
    return f"step {least:,}" if least == most else f"steps {least:,} to {most:,}"
