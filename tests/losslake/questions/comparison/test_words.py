"""What a comparison says in sentences, in plain and in odd cases."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.questions.comparison.differences import Difference, Verdict
from losslake.questions.comparison.words import Compared, in_words
from tests.losslake.questions.trials.test_batch_size_words import read

LETTERS: dict[str, Verdict] = {
    "<": "fewer", ">": "more", "=": "not told", "o": "neither reaches", "?": "too few trials",
    "1": "one submitter",
}  # fmt: skip


def difference(batch_size: int, verdict: Verdict, ratio: float | None = None, **more: bool) -> Difference:
    default = {"fewer": 0.5, "more": 2.0, "not told": 0.9}.get(verdict)
    reaches = verdict != "neither reaches"
    flags = {"reaches": reaches, "baseline_reaches": reaches, "ended_sooner": False} | more
    p_value = 0.0001 if verdict in ("fewer", "more") else 0.6
    of_ratio = default if ratio is None else ratio, None, None
    return Difference(
        batch_size, verdict, *of_ratio, p_value, flags["reaches"], flags["baseline_reaches"], flags["ended_sooner"]
    )


def compared(pattern: str) -> Compared:
    """Of batch sizes 1, 2, 4 …, a letter each."""
    found = [difference(2**at, LETTERS[letter]) for at, letter in enumerate(pattern)]
    return Compared("momentum", "sgd", "error < 0.05", "steps", tuple(found))


def said(pattern: str) -> str:
    return in_words(compared(pattern))


def of(*differences: Difference) -> str:
    return in_words(Compared("momentum", "sgd", "error < 0.05", "steps", differences))


def test_a_saving_from_a_batch_size_on() -> None:
    assert said("===<<<") == (
        "momentum takes fewer steps to error < 0.05 than sgd at batch sizes 8 to 32 (0.5 times as many); no difference "
        "can be detected at batch sizes 1 to 4. Both reach the target at every batch size compared. So momentum saves "
        "steps from batch size 8 on; no saving can be detected at smaller ones (1 to 4). The difference is largest at "
        "batch size 8, where momentum takes 0.5 times as many steps."
    )


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        ("<<==", "momentum saves steps up to batch size 2; no saving can be detected at larger ones (4 and 8)."),
        ("=<<=", "from batch size 2 to 4; no saving can be detected at smaller ones (1) and larger ones (8)."),
        ("=<=", "only at batch size 2; no saving can be detected at smaller ones (1) and larger ones (4)."),
        ("?<=", "momentum saves steps at batch size 2; no saving can be detected at larger ones (4)."),
        ("=<<?", "from batch size 2 to 4; no saving can be detected at smaller ones (1)."),
        ("=<=<", "the saving of momentum begins or ends: from 2 to 8 it is detected, but not at 4."),
        ("=<=<<", "from 2 to 16 it is detected, but not at 4; from 8 on it is detected everywhere."),
        ("<<=<=", "from 1 to 8 it is detected, but not at 4; up to 2 it is detected everywhere."),
        ("=<<=<=", "from 2 to 16 it is detected, but not at 8."),
        ("<><", "the saving of momentum begins or ends: from 1 to 4 it is detected, but not at 2."),
        ("<<<", "So momentum saves steps at every batch size compared: where that begins or ends lies outside them."),
        ("?<?o", "So momentum saves steps at batch size 2, the only one that can be judged."),
        ("?<<o", "at every batch size that can be judged: where that begins or ends lies outside them."),
        ("=>>", "So sgd saves steps from batch size 2 on; no saving can be detected at smaller ones (1)."),
    ],
)
def test_where_a_saving_begins_and_ends(pattern: str, sentence: str) -> None:
    assert sentence in said(pattern)


def test_an_order_that_turns_is_said_with_the_batch_sizes_between_which_it_does() -> None:
    turns = "The order turns between batch sizes 2 and 8: sgd is ahead at 1 and 2, momentum at 8 and 16."
    assert turns in said(">>=<<")
    assert turns.replace("sgd is", "momentum is").replace("momentum at", "sgd at") in said("<<=>>")
    assert "order turns" not in said("<><")


def test_an_order_turns_only_where_both_sides_are_clear() -> None:
    doubtful = Difference(1, "more", 2.0, 1.1, 3.0, 0.951, reaches=True, baseline_reaches=True, ended_sooner=False)
    assert "order turns" not in of(doubtful, difference(2, "fewer"))


def test_fewer_and_more_steps_are_both_reported() -> None:
    assert said("><").startswith(
        "momentum takes fewer steps to error < 0.05 than sgd at batch size 2 (0.5 times as many); more at batch size 1 "
        "(2 times as many). Both"
    )
    assert said(">=").startswith(
        "momentum takes more steps to error < 0.05 than sgd at batch size 1 (2 times as many); no difference"
    )


def test_no_difference_is_reported_without_savings() -> None:
    assert said("==") == (
        "No difference in steps to error < 0.05 can be detected between momentum and sgd at batch sizes 1 and 2. Both "
        "reach the target at every batch size compared."
    )
    assert said("=") == (
        "No difference in steps to error < 0.05 can be detected between momentum and sgd at batch size 1. Both reach "
        "the target."
    )


def test_neither_reaching_the_target_is_the_whole_conclusion() -> None:
    assert said("ooo") == "Neither momentum nor sgd reaches error < 0.05 at batch sizes 1 to 4."


def test_unreached_batch_sizes_are_reported_beside_the_steps() -> None:
    text = of(
        difference(1, "more", reaches=False),
        difference(2, "not told"),
        difference(4, "fewer", baseline_reaches=False),
        difference(8, "neither reaches"),
    )
    assert "Only momentum reaches the target at batch size 4. Only sgd reaches the target at batch size 1." in text
    assert "Neither reaches it at batch size 8." in text


def test_workload_that_may_have_stopped_sooner_is_named() -> None:
    text = of(*(difference(size, "not told", baseline_reaches=False, ended_sooner=size == 4) for size in (2, 4)))
    assert text.endswith(
        "Only momentum reaches the target at batch sizes 2 and 4; sgd may only have been stopped sooner at 4; so few "
        "of its trials do at 2 that it may be chance."
    )
    assert "saves" not in text


def test_no_common_batch_size_is_reported() -> None:
    assert of() == "There is no batch size at which both momentum and sgd have trials to compare."


def test_too_few_trials_are_reported() -> None:
    assert said("??") == (
        "At batch sizes 1 and 2 there are too few trials of momentum and sgd with different settings to tell. Both "
        "reach the target at every batch size compared."
    )
    assert "; at batch size 1 there are too few trials with different settings to tell. " in said("?<")


def test_the_largest_difference_is_that_farthest_from_1_on_either_side() -> None:
    text = of(difference(1, "fewer", 0.5), difference(2, "more", 3.0), difference(4, "not told", 9.0))
    assert "largest at batch size 2, where momentum takes 3 times as many steps" in text
    tied = of(difference(1, "fewer", 0.5), difference(2, "more", 2.0))
    assert "largest at batch size 1," in tied


def test_a_ratio_near_1_has_the_digits_that_tell_it_from_1() -> None:
    assert "(0.9996 times as many)" in of(difference(1, "fewer", 0.9996))
    assert "(12,000 times as many)" in of(difference(1, "more", 12000.0))


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.00001234, "0.0000123"),
        (0.1, "0.1"),
        (2.0, "2"),
        (12.34, "12.3"),
        (999.4, "999"),
        (999.7, "1,000"),
        (1000.0, "1,000"),
        (1234.5678, "1,235"),
    ],
)
def test_a_ratio_has_three_digits_without_an_exponent(ratio: float, text: str) -> None:
    assert f"({text} times as many)" in of(difference(1, "more", ratio))


def test_ratios_are_those_of_batch_sizes_that_have_one() -> None:
    unknown = Difference(2, "fewer", None, 0.0, 0.0, 1.0, reaches=True, baseline_reaches=False, ended_sooner=False)
    text = of(difference(1, "fewer", 0.4), unknown, difference(4, "fewer", 0.7))
    assert "at batch sizes 1 to 4 (0.4 to 0.7 times as many, where both reach it)" in text
    assert "at batch size 2. Only" in of(unknown)


def test_possible_chance_among_many_batch_sizes_is_reported() -> None:
    doubtful = Difference(1, "fewer", 0.8, 0.7, 0.9, 0.04, reaches=True, baseline_reaches=True, ended_sooner=False)
    text = of(doubtful, difference(2, "not told"))
    assert text.endswith("With 2 batch sizes, this may be chance: each has a 5% chance of error.")
    assert "saves" not in text
    assert "saves" in of(difference(1, "fewer"), difference(2, "not told"))
    assert "chance" not in of(doubtful)


@given(st.lists(st.sampled_from(sorted(LETTERS)), min_size=1, max_size=11))
def test_every_batch_size_appears_in_exactly_one_statement(letters: Sequence[str]) -> None:
    found = compared("".join(letters))
    text = in_words(found)
    clauses: dict[Verdict, str] = {
        "fewer": r"fewer (?:steps to \S+ < \S+ than sgd )?at",
        "more": r"more (?:steps to \S+ < \S+ than sgd )?at",
        "not told": r"[Nn]o difference (?:in steps to \S+ < \S+ )?can be detected (?:between momentum and sgd )?at",
        "too few trials": r"(?:^A|; a)t(?= [^;]*? there are too few)",
        "one submitter": r"(?:^A|; a)t(?= [^;]*? all trials of)",
        "neither reaches": r"Neither (?:momentum nor sgd )?reaches (?:it|error < \S+) at",
    }
    assert list(clauses) == list(get_args(Verdict))
    for verdict, clause in clauses.items():
        spans = re.findall(clause + r" batch sizes? ([\d,]+(?:(?:,| and| to)? ?\d+,?)*)", text)
        stated = [size for span in spans for size in read(span, found.sizes)]
        if verdict not in ("too few trials", "one submitter"):
            assert stated == found.at(verdict), text
        else:
            assert set(found.at(verdict)) <= set(stated), text
    assert ("saves steps" in text or "the saving of" in text) is (len(letters) > 1 and bool(found.at("fewer", "more")))
