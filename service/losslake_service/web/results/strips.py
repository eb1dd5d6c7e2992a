"""The runs of submissions, and their strips: a dot for each run, by its time over that of the submission."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

_MINUTE, _HOUR = 60.0, 3600.0
# A time is in seconds up to as many of them, then in minutes up to as many.
_MOST = 100.0
WIDTH, HEIGHT = 150, 16
_MARGIN = 7
# Half the width of a scale, as shares of the time in the middle; the first one that holds nearly all runs is used.
_REACHES = (0.05, 0.1, 0.25, 0.5, 1.0)
_SHARE_INSIDE = 0.9


def duration(seconds: float) -> str:
    """Return a time to four significant digits, in the unit that suits it: 7.16 s, 28.49 min, 4.62 h."""
    for unit, length in (("s", 1.0), ("min", _MINUTE)):
        if seconds < _MOST * length:
            return f"{seconds / length:.4g} {unit}"
    return f"{seconds / _HOUR:,.4g} h" if seconds < 1e4 * _HOUR else f"{seconds / _HOUR:,.0f} h"


@dataclass(frozen=True)
class Run:
    """A run. seconds: None without a time to the target. is_dropped: it isn't in MLPerf's mean. log: its address."""

    seconds: float | None
    is_dropped: bool
    trial: str
    log: str | None

    @property
    def time(self) -> str:
        """The time in words; empty if there is none."""
        return "" if self.seconds is None else duration(self.seconds)


@dataclass(frozen=True)
class Strip:
    """A strip, in px. counted, dropped: centres of dots. below, above: number of runs beyond its ends."""

    counted: tuple[float, ...]
    dropped: tuple[float, ...]
    below: int
    above: int
    has_middle: bool

    @property
    def dots(self) -> str:
        """The path of the counted runs: lines without length, drawn with round ends."""
        return "".join(f"M{x:g} {HEIGHT // 2}h0" for x in self.counted)


def reach_of(submissions: Iterable[tuple[float | None, Sequence[Run]]]) -> float:
    """Return half the width of the scale that all strips of a page share, as a share of each one's time."""
    shares = sorted(abs(share) for time, runs in submissions for share in _shares(time, runs))
    if not shares:
        return _REACHES[0]
    inside = shares[min(int(_SHARE_INSIDE * len(shares)), len(shares) - 1)]
    return next((reach for reach in _REACHES if inside <= reach), _REACHES[-1])


def strip_of(time: float | None, runs: Sequence[Run], reach: float) -> Strip | None:
    """Return the strip of a submission's runs; None if none of them has a time. time: MLPerf's, else None."""
    timed = [run for run in runs if run.seconds is not None]
    if not timed:
        return None
    shares = [*_shares(time, runs)]
    inside = [(run, share) for run, share in zip(timed, shares, strict=True) if abs(share) <= reach]
    return Strip(
        counted=tuple(_place(share, reach) for run, share in inside if not run.is_dropped),
        dropped=tuple(_place(share, reach) for run, share in inside if run.is_dropped),
        below=sum(share < -reach for share in shares),
        above=sum(share > reach for share in shares),
        has_middle=time is not None,
    )


def _shares(time: float | None, runs: Sequence[Run]) -> Iterator[float]:
    """Yield how much longer each run took than the submission, as a share of its time, else of the median run's."""
    seconds = [run.seconds for run in runs if run.seconds is not None]
    middle = time if time is not None else median(seconds) if seconds else 0.0
    yield from (each / middle - 1 if middle else 0.0 for each in seconds)


def _place(share: float, reach: float) -> float:
    return round(WIDTH / 2 + share / reach * (WIDTH / 2 - _MARGIN), 1)
