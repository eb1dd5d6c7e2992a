"""The step of a value in a text log: on its line, or carried to it; and numbers with a unit."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.mapping.expressions import letters_after, words_before
from tests.ingest.test_silence import planned

EPOCHS = r"""
[text]
lines = ['^Epoch (?P<epoch>\d+)\b', 'val_loss: (?P<val_loss>\S+)']
carried = ["epoch"]
"""
AXIS = """
[metrics]
val_loss = "val/loss"
[[axis]]
column = "epoch"
counts = "steps"
"""


def curve(folder: Path, log: str, text: str = EPOCHS, rest: str = AXIS) -> list[tuple[int, float | None]]:
    """The steps and values of the one metric of one run."""
    ((_, study),) = planned(folder, {"run.log": log}, text + rest).studies.items()
    return [(step, *values.values()) for _, step, values in study.first_rows]  # type: ignore[misc]


def refused(folder: Path, log: str, text: str = EPOCHS, rest: str = AXIS) -> str:
    """The refusal of one run, with its rule and place."""
    (item,) = planned(folder, {"run.log": log}, text + rest).quarantined
    return str(item)


ABOVE = "Epoch 1\nval_loss: 0.9\nEpoch 2\nval_loss: 0.8\n"
BELOW = "val_loss: 0.9\nEpoch 1 done\nval_loss: 0.8\nEpoch 2 done\n"


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (ABOVE, [(1, 0.9), (2, 0.8)]),
        (BELOW, [(1, 0.9), (2, 0.8)]),
        ("Epoch 1\nEpoch 2\nval_loss: 0.9\nEpoch 3\nEpoch 4\nval_loss: 0.8\n", [(2, 0.9), (4, 0.8)]),
        ("val_loss: 0.9\nEpoch 1 a\nEpoch 1 b\nval_loss: 0.8\nEpoch 2\n", [(1, 0.9), (2, 0.8)]),
    ],
    ids=["above", "below", "every second epoch", "two lines of an epoch"],
)
def test_the_ends_of_a_log_show_where_the_epoch_of_a_value_stands(
    tmp_path: Path, log: str, expected: list[tuple[int, float]]
) -> None:
    assert curve(tmp_path, log) == expected


@pytest.mark.parametrize(
    ("log", "line", "shows", "above", "below"),
    [
        (
            f"val_loss: 1.5\n{ABOVE}",
            1,
            "line 1 has values before the first epoch (line 2), line 5 after the last (line 4)",
            [(1, 0.9), (2, 0.8)],
            [(1, 1.5), (2, 0.9)],
        ),
        (
            "Epoch 1\nval_loss: 0.9\nEpoch 2\n",
            2,
            "the values stand between the first epoch (line 1) and the last (line 3)",
            [(1, 0.9)],
            [(2, 0.9)],
        ),
        (
            "val_loss: 1.5\nEpoch 1\nEpoch 2\nval_loss: 0.9\nEpoch 3\n",
            1,
            "line 1 has values before the first epoch (line 2), and none are between line 2 and line 3",
            [(2, 0.9)],
            [(1, 1.5), (3, 0.9)],
        ),
    ],
    ids=["values at both ends", "values at no end", "an evaluation before training, and interrupted"],
)
def test_a_log_whose_ends_dont_show_it_is_asked_for_it(
    tmp_path: Path,
    log: str,
    line: int,
    shows: str,
    above: list[tuple[int, float]],
    below: list[tuple[int, float]],
) -> None:
    plan = planned(tmp_path / "asked", {"run.log": log}, EPOCHS + AXIS)
    (item,) = plan.quarantined
    assert (item.rule, item.path, item.line, shows in item.message) == ("step_unknown", "run.log", line, True)
    ((field, runs),) = plan.missing.items()
    assert (field.add, runs) == ('carried_from = "above"   # or "below", under [text]', 1)
    for word, expected in (("above", above), ("below", below)):
        assert curve(tmp_path / word, log, f'{EPOCHS}carried_from = "{word}"\n') == expected


def test_an_explicit_direction_is_believed(tmp_path: Path) -> None:
    assert curve(tmp_path, BELOW, f'{EPOCHS}carried_from = "above"\n') == [(1, 0.8)]


BARS = [
    f"Epoch {epoch}: 100%|####| 50/50 [00:56<00:00, {'1.12s/it' if epoch == 4 else '1.41it/s'}, loss={1 / epoch:.2f}]\n"
    for epoch in range(1, 7)
]
BAR = r"""
[text]
lines = ['Epoch (?P<epoch>\d+): 100%\S+ 50/50 \[00:56<00:00, 1.41it/s, loss=(?P<loss>[\d.]+)\]', '^Test: (?P<test>\S+)']
carried = ["epoch"]
[metrics]
loss = "train/loss"
test = "test/accuracy"
[[axis]]
column = "epoch"
counts = "steps"
"""


def test_a_skipped_line_that_names_the_step_of_a_value_refuses_the_run(tmp_path: Path) -> None:
    log = "".join(bar + (f"Test: 0.{epoch}\n" if epoch % 2 == 0 else "") for epoch, bar in enumerate(BARS, 1))
    message = refused(tmp_path / "skipped", log, BAR, "")
    assert message.startswith("step_unknown: run.log:5: line 5, 'Epoch 4: 100%")
    assert "names epoch 4, and no expression matches it, so that the values in line 6 would have epoch 3" in message
    assert "extend the expression of epoch in [text] lines so that it matches" in message
    whole = BAR.replace("1.41it/s", r"1\S+")
    ((_, study),) = planned(tmp_path / "whole", {"run.log": log}, whole).studies.items()
    assert study.first_rows[1] == (1, 2, {"test/accuracy": 0.2, "train/loss": 0.5})
    assert study.first_rows[3] == (1, 4, {"test/accuracy": 0.4, "train/loss": 0.25})


def test_a_skipped_line_may_have_an_expression_of_its_own(tmp_path: Path) -> None:
    log = "Epoch 1\nbest: Epoch 7\nval_loss: 0.9\nEpoch 2\nval_loss: 0.8\n"
    assert "names epoch 7" in refused(tmp_path / "skipped", log)
    other = EPOCHS.replace("lines = [", r"lines = ['best: Epoch (?P<best>\d+)', ")
    assert curve(tmp_path / "own", log, other, AXIS.replace("[[", 'best = ""\n[[', 1)) == [(1, 0.9), (2, 0.8)]


@pytest.mark.parametrize("line", ["Epoch 1 took 30 s", "Epoch 2 begins", "Epoch two", "epochs: 7"])
def test_skipped_lines_that_change_no_step_are_harmless(tmp_path: Path, line: str) -> None:
    lines = ABOVE.splitlines()
    log = "\n".join([*lines[:2], line, *lines[2:], ""])
    assert curve(tmp_path, log, EPOCHS.replace(r"\b'", "$'")) == [(1, 0.9), (2, 0.8)]


LOSS = r"""
[text]
lines = ['^step (?P<step>\S+): val_loss (?P<val_loss>\S+)$']
[metrics]
val_loss = "val/loss"
"""


def test_a_skipped_line_with_a_step_and_a_value_is_a_lost_row(tmp_path: Path) -> None:
    log = "step 1: val_loss 0.9\nstep 2: val_loss 0.8 (best)\nstep 3: val_loss 0.7\nstep 3: saved checkpoint 3\n"
    plan = planned(tmp_path / "lost", {"run.log": log}, LOSS)
    ((_, study),) = plan.studies.items()
    assert dict(study.statuses) == {"INCOMPLETE": 1}
    assert [str(item) for item in plan.quarantined] == [
        (
            "damaged_log: run.log:2: 1 x a line that names step and a value, as step 2, is skipped, since no "
            "expression matches it; the run isn't COMPLETE: extend the expression, or give the line one of its "
            'own, whose groups have NAME = "" under [metrics]'
        )
    ]
    own = LOSS.replace("lines = [", r"lines = ['^step \d+: val_loss (?P<best>\S+) .best.', ").replace(
        "[metrics]", '[metrics]\nbest = ""'
    )
    plan = planned(tmp_path / "own", {"run.log": log}, own)
    ((_, study),) = plan.studies.items()
    assert (dict(study.statuses), plan.quarantined) == ({"COMPLETE": 1}, [])


def test_a_skipped_line_of_a_step_that_has_its_row_is_harmless(tmp_path: Path) -> None:
    log = "step 1: val_loss 0.95 so far\nstep 1: val_loss 0.9\nstep 2: saved\n"
    ((_, study),) = planned(tmp_path, {"run.log": log}, LOSS).studies.items()
    assert dict(study.statuses) == {"COMPLETE": 1}


@pytest.mark.parametrize(
    ("written", "steps"),
    [
        (["1k", "1.5k", "2k"], [1_000, 1_500, 2_000]),
        (["500", "1 K", "2M", "1.2B", "3T"], [500, 1_000, 2_000_000, 1_200_000_000, 3_000_000_000_000]),
        (["0.1k", "0.3k"], [100, 300]),
    ],
)
def test_steps_with_a_unit_are_read_whole(tmp_path: Path, written: list[str], steps: list[int]) -> None:
    log = "".join(f"step {step}: val_loss 0.5\n" for step in written)
    assert [step for step, _ in curve(tmp_path, log, LOSS.replace(r"step>\S+", "step>[^:]+"), "")] == steps


def test_a_group_that_ends_before_the_unit_of_its_number_is_refused(tmp_path: Path) -> None:
    log = "step 1k: val_loss 0.9\nstep 1.5k: val_loss 0.8\n"
    cut = LOSS.replace(r"(?P<step>\S+):", r"(?P<step>[\d.]+)\S*:")
    assert refused(tmp_path / "cut", log, cut, "").startswith(
        "not_a_number: run.log:1: step is '1', and the number goes on with 'k': extend its expression"
    )
    named = LOSS.replace(r"(?P<step>\S+):", r"(?P<step>[\d.]+)k:") + '[[axis]]\ncolumn = "step"\nscale = 1000\n'
    assert curve(tmp_path / "named", log, named, "") == [(1_000, 0.9), (1_500, 0.8)]


def test_steps_that_may_be_thousands_are_asked_for_their_scale(tmp_path: Path) -> None:
    log = "step 1.000: val_loss 0.9\nstep 2.000: val_loss 0.8\nstep 10.000: val_loss 0.7\n"
    plan = planned(tmp_path / "asked", {"run.log": log}, LOSS)
    (item,) = plan.quarantined
    assert (item.rule, "every step is written like 1.000, which is one, or one thousand" in item.message) == (
        "step_unknown",
        True,
    )
    ((field, _),) = plan.missing.items()
    assert (item.line, field.add) == (1, '[[axis]]\ncolumn = "step"\nscale = 1000   # or 1')
    for scale, steps in ((1000, [1_000, 2_000, 10_000]), (1, [1, 2, 10])):
        axis = f'[[axis]]\ncolumn = "step"\nscale = {scale}\n'
        assert [step for step, _ in curve(tmp_path / str(scale), log, LOSS, axis)] == steps
    decimals = log.replace("1.000", "0.000", 1)
    assert [step for step, _ in curve(tmp_path / "decimals", decimals, LOSS, "")] == [0, 2, 10]


def test_durations_are_seconds_in_the_column_of_the_time_only(tmp_path: Path) -> None:
    text = LOSS.replace(r"\S+)$", r"\S+) t (?P<t>.*)$") + 'val_loss = "val/loss"\n[time]\nelapsed_s = "t"\n'
    text = text.replace('val_loss = "val/loss"\nval_loss', "val_loss")
    log = "step 1: val_loss 0.9 t 59\nstep 2: val_loss 0.8 t 1:02\nstep 3: val_loss 0.7 t 1 day, 2:03:04\n"
    ((_, study),) = planned(tmp_path / "time", {"run.log": log}, text).studies.items()
    assert study.evaluations == 3
    other = text.replace('elapsed_s = "t"', 'elapsed_s = "u"').replace("[time]", 't = "val/time"\n[time]')
    assert refused(tmp_path / "metric", log, other, "").startswith("not_a_number: run.log:2: t is '1:02'")
    cut = text.replace("(?P<t>.*)$", r"(?P<t>\d+)")
    assert "t is '1', and the number goes on with ':02'" in refused(tmp_path / "cut", log, cut, "")


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (r"\bEpoch *(?P<epoch>\d+)", {"epoch": "Epoch"}),
        (r"^Epochs?:? *\[(?P<epoch>\d+)\]\s+.*Loss:? *(?P<loss>\S+)", {"epoch": "Epochs?", "loss": "Loss"}),
        (r"(?:Epoch|epoch)[ :=]+(?P<epoch>\d+)", {"epoch": "epoch"}),
        (r".* (?P<a>\d+) s(?P<b>\d) val\w+ (?P<c>\d) (?:no)? (?P<d>\d)", {}),
        (r".global_step.: (?P<step>\S+), top1 (?P<top1>\S+)", {"step": "global_step", "top1": "top1"}),
    ],
)
def test_the_word_before_a_group(expression: str, words: dict[str, str]) -> None:
    assert words_before(expression) == words


def test_the_letter_after_a_group() -> None:
    assert letters_after(r"(?:a (?P<a>\d+(?:x))M)? (?P<b>\d+)\S (?P<c>\d+)k") == {"a": "M", "c": "k"}
