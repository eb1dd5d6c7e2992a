"""Published laws beside stored points: how far the points are from each law, where both mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from losslake.analysis.batch_laws import Law, converted
from losslake.questions.laws.law_points import LawPoint


@dataclass(frozen=True)
class Comparison:
    """The ratios of points to a published law, by row, None where they can't be compared; and why, if none can."""

    law: Law
    ratios: tuple[float | None, ...]
    n_inside: int
    not_compared: str | None

    @property
    def known(self) -> list[float]:
        """The ratios that are known."""
        return [each for each in self.ratios if each is not None]

    @property
    def rms_log_ratio(self) -> float | None:
        """The root mean square of their logarithms; None without any."""
        return float(np.sqrt(np.square(np.log(self.known)).mean())) if self.known else None


def compared(points: Sequence[LawPoint], law: Law) -> Comparison:
    """Return the ratios of critical batch sizes to a published law."""
    ratios: list[float | None] = []
    n_inside = 0
    for each in points:
        expected = None if each.number.value is None else each.law_in_tokens(law)
        if expected is None or each.number.value is None or each.tokens_per_example is None:
            ratios.append(None)
            continue
        ratios.append(each.number.value * each.tokens_per_example / expected)
        n_inside += law.is_inside(each.values_of(law)) is True
    has_any = any(ratio is not None for ratio in ratios)
    return Comparison(law, tuple(ratios), n_inside, None if has_any else _why_not(points, law))


def _why_not(points: Sequence[LawPoint], law: Law) -> str:
    """Return why a law is compared with none of the points."""
    if not points:
        return "there are no points"
    if converted(1e300, law.definition, points[0].meaning.by) is None:
        return f"{law.definition} is another definition, and neither follows from the other"
    if law.coefficient is None:
        return "only its exponent could be verified"
    needed = {factor.name for factor in law.factors if factor.exponent}
    lacking = sorted(name for name in needed if not any(name in each.values_of(law) for each in points))
    if lacking:
        return f"no point has {' and '.join(lacking)}"
    return "no point has a critical batch size in tokens that the law can have"
