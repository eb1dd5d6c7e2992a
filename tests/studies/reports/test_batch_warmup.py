"""The report on a growing batch size counts tokens step by step, and refuses runs that differ in more than seeds."""

from __future__ import annotations

from typing import Any

import pytest

from studies.reports.batch_warmup import section

PIECES = "[[0, 64], [10, 128], [15, 512]]"


def runs(
    recipe: str, step: int, losses: list[float], size: int | None, pieces: str | None = None
) -> list[dict[str, Any]]:
    facts = {"recipe": recipe, "batch_size": size, "pieces": pieces, "step": step}
    return [{**facts, "loss": loss, "seconds": 10.0 + n} for n, loss in enumerate(losses)]


def test_steps_and_tokens_are_those_of_a_plain_count() -> None:
    text = section(runs("a", 25, [0.5, 0.7], 256), runs("b", 20, [0.4, 0.6], None, PIECES), n_later=3)
    tokens = sum(64 if step < 10 else 128 if step < 15 else 512 for step in range(20))
    assert f"| a | 256 | 2 | 25 | {25 * 256:,} | 0.6000 | 10.5 |" in text
    assert f"| b | 64 from step 0, 128 from step 10, 512 from step 15 | 2 | 20 | {tokens:,} | 0.5000 | 10.5 |" in text
    assert f"takes {1 - 20 / 25:.1%} of the steps and {1 - tokens / (25 * 256):.1%} of the tokens" in text
    assert f"average {tokens / 20:.0f} tokens" in text
    assert "All 3 later records" in text


def test_the_interval_of_the_losses_is_that_of_welch() -> None:
    """Samples of two, 0.1 apart with a variance of 0.02 each: 0.1 -+ t(0.95, 2) sqrt(0.02)."""
    text = section(runs("a", 25, [0.5, 0.7], 256), runs("b", 20, [0.4, 0.6], None, PIECES), n_later=3)
    half = 2.9199855804 * (0.02 / 2 + 0.02 / 2) ** 0.5
    assert f"lower by {0.1 - half:.4f} to {0.1 + half:.4f}" in " ".join(text.split())


@pytest.mark.parametrize("other", [{"step": 19}, {"pieces": "[[0, 64], [10, 256]]"}])
def test_runs_that_differ_in_steps_or_pieces_are_refused(other: dict[str, Any]) -> None:
    after = runs("b", 20, [0.4, 0.6], None, PIECES)
    after[1] |= other
    with pytest.raises(ValueError, match="unpack"):
        section(runs("a", 25, [0.5, 0.7], 256), after, n_later=3)
