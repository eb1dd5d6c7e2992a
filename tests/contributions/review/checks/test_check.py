from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import losslake.record
from losslake.lake.lake import Lake
from losslake.record.gaps import BAD_STEP
from losslake_contributions.review.checks.evidence import Claim, Evidence
from losslake_contributions.review.checks.licences import licences, nearest
from losslake_contributions.review.checks.report import Report, as_text
from losslake_contributions.review.checks.rules import CHECKS_VERSION, rules
from losslake_contributions.review.checks.run import check
from losslake_contributions.review.draft import Draft, make_draft
from losslake_ingest.readers.recorded.folder import Spool, read_spool, spools_in
from losslake_ingest.run import ingest
from tests.conformance.corpora import ROOT
from tests.contributions.made_runs import ERROR, GOALS, curve, lake_of, name_of, runs_in, write_run
from tests.contributions.review.checks.test_curve_index import descent

GOOD = [0.9, 0.7, 0.5, 0.4, 0.35, 0.29, 0.28]
BATCH_SIZES = (4, 8, 8, 16, 16, 32)


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Six trials, two of them with a loss as well."""
    folder = tmp_path_factory.mktemp("stored")
    for number in range(len(BATCH_SIZES)):
        write_stored(folder / "runs", number)
    return lake_of(folder / "lake", folder / "runs")


def write_stored(runs: Path, number: int, name: int | None = None) -> Spool:
    """Write a run that is stored. name: if it is another one."""
    values = [0.9, 0.7, 0.6, 0.5, *[0.4 - 0.001 * number] * 40, 0.29 - 0.001 * number]
    rows = curve(values)
    if number < 2:
        rows += curve(descent(number), "val/loss", every=7)
    facts: dict[str, Any] = {"batch_size": BATCH_SIZES[number], "goals": GOALS, "origin": origin(number)}
    return write_run(runs, number if name is None else name, rows, **facts)


def origin(number: int) -> dict[str, Any]:
    return {"format": "csv", "files": {"run.csv": f"{number:064x}"}}


def checked(tmp_path: Path, spools: Sequence[Spool], base: Lake | None = None, **facts: Any) -> Report:
    return checked_draft(make_draft(tmp_path / "lake", spools, base), spools, base=base, **facts)


def checked_draft(draft: Draft, spools: Sequence[Spool], **facts: Any) -> Report:
    return check(Evidence(draft, {spool.name: spool for spool in spools}, **facts))


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> tuple[Draft, list[Spool]]:
    """A draft of a good run, without a lake."""
    folder = tmp_path_factory.mktemp("good")
    spools = [write_run(folder / "runs", 1, curve(GOOD))]
    return make_draft(folder / "lake", spools), spools


def found(report: Report, run: int = 1) -> set[str]:
    return {finding.rule for finding in report.findings if finding.run == name_of(run)}


def test_a_good_run_passes_and_says_what_was_not_checked_without_a_lake(good: tuple[Draft, list[Spool]]) -> None:
    report = checked_draft(*good, licence="CC0-1.0")
    assert (report.findings, report.refuses, report.version) == ([], False, CHECKS_VERSION)
    assert {each.rule for each in report.not_run} == {rule.name for rule in rules().values() if rule.needs}
    assert any("--lake" in line for line in as_text(report))


def test_a_good_run_passes_beside_stored_ones(tmp_path: Path, stored: Lake) -> None:
    values = [0.9, 0.7, 0.6, 0.5, *[0.4 - 0.0003 * row for row in range(40)], 0.2901, 0.29, 0.288]
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, curve(values), goals=GOALS)], stored)
    assert (report.findings, [each.rule for each in report.not_run]) == ([], ["others_collection"])


def test_faults_of_single_runs_are_found(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    spools = [
        write_run(runs, 1, [{"step": 0, ERROR: 7.0}]),
        write_run(runs, 2, curve(GOOD)),
        write_run(runs, 3, [*curve(GOOD)[::-1], {"step": 70, "elapsed_s": 3.0, ERROR: 0.2}]),
        write_run(runs, 4, curve(GOOD), licence="Proprietary"),
        write_run(runs, 5, curve(GOOD), parameters={"data": "/home/ann/mnist", "key": "hf_" + "a1" * 16}),
        write_run(runs, 6, curve([0.5] * 6)),
        write_run(runs, 7, curve([0.0, 0.0, 0.1])),
        write_run(runs, 8, [{**row, "train/examples": 64.0 * row["step"]} for row in curve(GOOD)]),
        write_run(runs, 9, curve(GOOD), status="INFEASIBLE"),
    ]
    (runs / name_of(2) / "end.json").unlink()
    spools[1] = read_spool(runs / name_of(2))
    report = checked(tmp_path, spools)
    expected = {
        1: "quarantined", 2: "unfinished", 3: "time_goes_back", 4: "licence", 5: "private_data", 6: "constant_curve",
        7: "perfect_at_start", 8: "examples_differ", 9: "not_complete",
    }  # fmt: skip
    for run, rule in expected.items():
        assert rule in found(report, run), (run, rule, found(report, run))
    assert report.refuses
    text = "\n".join(as_text(report))
    assert "ann" not in text.replace("can't", "")
    assert "hf_" not in text


@pytest.mark.parametrize(("n_each", "is_right"), [((64, 128), True), ((64, 64), False)])
def test_examples_of_a_run_that_changes_its_batch_size_are_the_sum_over_its_pieces(
    tmp_path: Path, n_each: tuple[int, int], is_right: bool
) -> None:
    steps = range(0, 100, 10)
    total = [sum(n_each[update > 50] for update in range(1, step + 1)) for step in steps]
    rows = [{"step": step, "train/examples": float(n)} for step, n in zip(steps, total, strict=True)]
    facts: dict[str, Any] = {"batch_size": None, "batch_schedule": [[0, 64], [50, 128]]}
    facts["parameters"] = {"n_examples_seen": total[-1]}
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, rows, **facts)])
    assert found(report) == (set() if is_right else {"examples_differ", "total_differs"})


def test_attempts_may_begin_anew_in_time(tmp_path: Path) -> None:
    attempts = {"0001": curve(GOOD), "0002-from-30": [{"step": 30, "elapsed_s": 0.5, ERROR: 0.4}]}
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, attempts)])
    assert "time_goes_back" not in found(report)


def test_a_step_that_went_back_unannounced_refuses_a_run(tmp_path: Path) -> None:
    facts = {"workload": "given/mnist/cnn/sgd", "batch_size": 64, "licence": "CC0-1.0", "folder": tmp_path / "runs"}
    with losslake.record.start(**facts) as run:  # type: ignore[arg-type]
        for step in (*range(60), *range(30, 60)):
            run.log({ERROR: 0.9 / (step + 1)}, step=step)
    (local,) = runs_in(tmp_path / "runs").runs
    assert local.end.assumed_rewinds == 1
    (spool,) = [read_spool(folder) for folder in spools_in(tmp_path / "runs")]
    report = checked(tmp_path, [spool])
    (finding,) = [each for each in report.findings if each.rule == "rewinds"]
    assert finding.message.startswith(
        "its step went back 1 time without run.rewind(), so values may have been replaced"
    )
    assert report.refuses


def test_lines_without_a_step_have_no_order_in_time(tmp_path: Path) -> None:
    fetched = [{"elapsed_s": 3.0, "epoch": 1, ERROR: 0.4}, {"elapsed_s": 0.5, "epoch": 2, ERROR: 0.3}]
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, fetched)])
    assert "time_goes_back" not in found(report)


def test_altered_segments_refuse_a_run(tmp_path: Path) -> None:
    spool = write_run(tmp_path / "runs", 1, curve(GOOD))
    spool.segments[0].file.write_bytes(spool.segments[0].data().replace(b"0.9", b"0.8"))
    report = checked(tmp_path, [spool])
    assert found(report) >= {"altered", "damaged"}


def test_copies_of_stored_logs_and_of_other_runs_are_refused(tmp_path: Path, stored: Lake) -> None:
    again, twin = write_stored(tmp_path / "runs", 5), write_stored(tmp_path / "runs", 5, name=6)
    report = checked(tmp_path, [again, twin], stored)
    assert "copy_of_stored" in found(report, 5)
    assert "repeated" in found(report, 6)


def test_near_copies_of_stored_curves_are_for_the_reviewer(tmp_path: Path, stored: Lake) -> None:
    values = [float(f"{value:.4g}") for value in descent(1)]
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, curve(values, "val/loss", every=14))], stored)
    (finding,) = [each for each in report.findings if each.rule == "near_copy"]
    assert "at 2 times their steps" in finding.message
    assert "small/mnist/cnn/sgd/8/1" in finding.message
    assert not report.refuses


def test_implausible_runs_are_for_the_reviewer(tmp_path: Path, stored: Lake) -> None:
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, curve([0.9, 0.001, 0.001]), goals=GOALS)], stored)
    assert found(report) >= {"too_fast", "far_better", "few_evaluations"}
    assert not report.refuses


def test_trials_are_flagged_for_their_examples_but_not_for_equal_curves(tmp_path: Path, stored: Lake) -> None:
    rows = curve([0.9, 0.7, 0.6, 0.5, *[0.4] * 40, 0.28])
    later = [row | {"elapsed_s": 2 * row["elapsed_s"]} for row in rows]
    twins = [write_run(tmp_path / "runs", lr, of_lr, parameters={"lr": lr}) for lr, of_lr in ((1, rows), (2, later))]
    sooner = write_run(tmp_path / "runs", 3, curve([0.9, 0.2]), batch_size=16, goals=GOALS)
    report = checked(tmp_path, [*twins, sooner], stored)
    assert [finding.run for finding in report.findings if finding.rule == "flagged"] == [name_of(3)]


@pytest.mark.slow
def test_runs_beyond_the_references_of_mlperf_are_for_the_reviewer(tmp_path: Path) -> None:
    base = Lake.create(tmp_path / "base")
    ingest(base, [str(ROOT / "published" / "mlperf-rcp" / "mlperf-rcp.tar")])
    rows = curve([0.1, 0.76], "val/accuracy", every=100)
    source = "MLPerf Training, quality target of resnet"
    goal = {"metric": "val/accuracy", "target": 0.759, "comparator": "inclusive", "source": source}
    facts: dict[str, Any] = {"goals": [goal]}
    facts |= {"collection": "mine", "dataset": "imagenet", "model": "resnet", "optimizer": "lars", "batch_size": 3264}
    report = checked(tmp_path, [write_run(tmp_path / "runs", 1, rows, **facts)], base)
    assert "beyond_reference" in found(report), report.findings


CLAIMS = [
    (ERROR, 0.3, 50, None),
    (ERROR, 0.3, 49, "the first value of the log that is better than it is at step 50: claim that"),
    (ERROR, 0.29, 60, None),
    (ERROR, 0.1, 60, "no value of the log is better than it: leave the claim out"),
    ("val/x", 1, 1, f"the run doesn't measure val/x, but {ERROR}: name one of these"),
]


@pytest.mark.parametrize(("metric", "target", "steps", "message"), CLAIMS)
def test_claims_have_to_equal_their_computation(
    good: tuple[Draft, list[Spool]], metric: str, target: float, steps: int, message: str | None
) -> None:
    report = checked_draft(*good, claims=[Claim(name_of(1), metric, target, steps)])
    assert report.refuses == (message is not None)
    assert [(each.rule, each.message) for each in report.findings] == ([("claim", message)] if message else [])


def test_the_licence_of_a_run_is_that_of_the_submission(tmp_path: Path) -> None:
    spools = [
        write_run(tmp_path / "runs", 1, curve(GOOD)),
        write_run(tmp_path / "runs", 2, curve(GOOD[1:]), licence=None, collection="b"),
    ]
    report = checked(tmp_path, spools, licence="MIT")
    assert (found(report, 1), found(report, 2) - {"near_copy_of_run"}) == ({"licence"}, set())


@pytest.mark.parametrize(
    ("text", "proposed"),
    [
        *(
            ("CC BY 4.0", "CC-BY-4.0"),
            ("cc-by 4", "CC-BY-4.0"),
            ("Apache License 2.0", "Apache-2.0"),
            ("CC0", "CC0-1.0"),
        ),
        *(("MIT license", "MIT"), ("BSD 3", "BSD-3-Clause"), ("odbl", "ODbL-1.0"), ("PDDL", "PDDL-1.0")),
        *(
            ("CC-BY-NC-4.0", None),
            ("CC BY-ND 4.0", None),
            ("CC BY", None),
            ("GPL-3.0", None),
            ("bsd", None),
            ("", None),
        ),
    ],
)
def test_the_licence_that_a_text_means_is_proposed_and_no_other(text: str, proposed: str | None) -> None:
    assert nearest(text) == proposed


def test_each_wrong_input_is_named_with_its_remedy(tmp_path: Path) -> None:
    runs, accuracy = tmp_path / "runs", "val/accuracy"
    percent = [{"metric": accuracy, "target": 95}, {"metric": "val/loss", "target": 1.0}]
    write_run(runs, 1, curve([10.0, 95.0], accuracy))
    write_run(runs, 2, [{"step": 0, "val/loss": "abc"}, {"step": 1, "val/loss": 1.0}])
    write_run(runs, 3, curve(GOOD), licence="CC BY 4.0", collection="other")
    write_run(runs, 4, curve(GOOD, accuracy), goals=percent)
    write_run(runs, 5, curve(GOOD, "acc"))
    write_run(runs, 6, [{"step": -1, "val/loss": 1.0}])
    write_run(runs, 7, curve(GOOD), batch_size="8")
    report = checked(tmp_path, [read_spool(runs / name_of(number)) for number in range(1, 8)])
    expected = {
        (1, "quarantined", "log fractions, as 0.95 for 95%"),
        (2, "quarantined", "log numbers only"),
        (3, "licence", "write CC-BY-4.0 in its run.json"),
        (4, "goal_left_out", "val/accuracy lies between 0 and 1: write 0.95 in its run.json"),
        (4, "goal_left_out", "the run doesn't measure val/loss, but val/accuracy: name one of these"),
        (5, "quarantined", "log metrics under names as val/accuracy"),
        (6, "quarantined", "log the number of updates so far as step"),
        (7, "unsendable", "batch_size: input should be a valid integer: correct it there"),
    }
    for run, rule, text in expected:
        assert any(text in each.message for each in report.findings if (each.run, each.rule) == (name_of(run), rule)), (
            text
        )


WORDS = [
    ({"collection": "m\u043dist"}, True),
    ({"optimizer": "\u0391dam"}, True),
    ({"optimizer": "adam-\u03b2"}, False),
    ({"collection": "\u043c\u043d\u0438\u0441\u0442"}, False),
    ({"model": "\u6a21\u578b2 cnn\u00e9"}, False),
]


@pytest.fixture(scope="module")
def report_on_words(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("words")
    spools = [write_run(folder / "runs", number, curve(GOOD), **facts) for number, (facts, _) in enumerate(WORDS)]
    return checked(folder, spools, licence="CC0-1.0")


def test_a_report_is_stored_with_its_version_and_read_again(report_on_words: Report) -> None:
    assert report_on_words.findings
    assert Report.from_json(report_on_words.to_json()) == report_on_words
    assert json.loads(report_on_words.to_json())["version"] == CHECKS_VERSION


@pytest.mark.parametrize("number", range(len(WORDS)))
def test_words_of_letters_that_look_alike_are_found(report_on_words: Report, number: int) -> None:
    _, is_found = WORDS[number]
    assert ("mixed_scripts" in found(report_on_words, number)) == is_found


def test_every_rule_is_documented() -> None:
    text = (ROOT / "docs" / "checks.md").read_text("utf-8")
    table = re.findall(r"^\| `(\w+)` \| (\w+) \| (.*?) \|$", text, re.MULTILINE)
    assert table == [(name, rule.severity, rule.meaning) for name, rule in sorted(rules().items())]
    assert all(f"`{spdx}`" in text for spdx in licences())


def test_checks_name_the_rules_of_the_table_and_no_others() -> None:
    folder = ROOT / "contributions" / "losslake_contributions" / "review" / "checks"
    text = "\n".join(file.read_text("utf-8") for file in sorted(folder.glob("*.py")))
    assert set(re.findall(r'finding\(\s*"(\w+)"', text)) <= rules().keys()
    assert [name for name in rules() if f'"{name}"' not in text] == []


@pytest.mark.parametrize(
    ("gaps", "says"),
    [
        ([], "3 measurements were dropped: log less often"),
        (
            [{"reason": "the queue was full", "n": 3}],
            "3 measurements were dropped (the queue was full): log less often",
        ),
        ([{"reason": BAD_STEP, "n": 3}], "): log the number of updates so far as step"),
        ([{"reason": "the file was removed", "n": 3}], "(the file was removed): mend that"),
        ("odd", "3 measurements were dropped: log less often"),
    ],
)
def test_what_to_do_about_lost_measurements_is_that_of_the_reason(
    good: tuple[Draft, list[Spool]], gaps: Any, says: str
) -> None:
    draft, (spool,) = good
    end = {**(spool.end or {}), "n_dropped": 3, "gaps": gaps}
    report = checked_draft(draft, [replace(spool, end=end)])
    (dropped,) = [each.message for each in report.findings if each.rule == "dropped"]
    assert says in dropped
    assert dropped.endswith("or say in the note why the rest counts")
