"""The caption of the live figure: what the regimes are at a target, in a few words, and what they are at the goal."""

from __future__ import annotations

from collections.abc import Iterator

from losslake.analysis.break_points import PERFECT_WITHIN, USEFUL_WITHIN
from losslake_service.web.templates import percent
from losslake_service.web.workload.key_figures import WORDS, AnswerRow, critical_words, end_words, n_reached


def caption(row: AnswerRow, n_batch_sizes: int, goal: tuple[str, AnswerRow] | None = None) -> list[str]:
    """Return the sentences of the caption at a target.

    row: of the target in the target sweep. goal: the target that the page has by default, in words, and its row; None
    at that target.
    """
    reached = n_reached(row, n_batch_sizes)
    sentences = [] if reached == n_batch_sizes else [f"{reached:,} of {n_batch_sizes:,} batch sizes reach this target."]
    if row["max_useful_batch_size"] is not None:
        sentences += [_perfect(row), _useful(row), _critical(row)]
    elif row["fewest_steps"] == 0:
        sentences.append("The target is met before any training: choose a harder one.")
    if goal is not None:
        sentences += _at_goal(*goal)
    return sentences


def _perfect(row: AnswerRow) -> str:
    end, censoring = row["perfect_scaling_end"], row["perfect_scaling_end_censoring"]
    within = percent(PERFECT_WITHIN)
    if end is None:
        return "The batch sizes are too close together to tell where perfect scaling ends."
    if censoring == "left":
        return f"No perfect scaling: already above batch size {end:,}, twice the batch doesn't halve the steps."
    if censoring == "right":
        return f"Perfect scaling at least until batch size {end:,}: twice the batch, half the steps (within {within})."
    return f"Perfect scaling until batch size {end:,}: twice the batch, half the steps (within {within})."


def _useful(row: AnswerRow) -> str:
    size, censoring = row["max_useful_batch_size"], row["max_useful_batch_size_censoring"]
    if censoring == "left":
        return f"No larger batch saves steps over the smallest that reaches the target, {size:,}."
    if censoring == "right":
        return f"No end of the gain in sight: larger batches than {size:,} may still save steps."
    return f"Nothing is gained beyond {size:,} (within {percent(USEFUL_WITHIN)})."


def _critical(row: AnswerRow) -> str:
    number, note = critical_words(row)
    if row["critical_batch_size"] is None:
        return f"Critical batch size {note}."
    interval = f" ({note})" if note else ""
    return f"Critical batch size {number}{interval}: there, the fitted curve takes twice its fewest steps and examples."


def _at_goal(text: str, row: AnswerRow) -> Iterator[str]:
    """Yield what these are at the goal: the slider has moved them."""
    ends = [end_words(row, "perfect_scaling_end"), end_words(row, "max_useful_batch_size"), critical_words(row)[0]]
    known = [words if words != WORDS["none"] else "not known" for words in ends]
    yield f"At {text}, these are {known[0]}, {known[1]} and {known[2]}."
