"""Facts of logs are hostile: what isn't a name or a time is left out, and said."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.rcp import exact_olympic_mean
from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake.questions.results.references import folder_of
from losslake.questions.results.rules import rules_of
from losslake.questions.results.runs import _seconds
from losslake_ingest.run import ingest
from tests.ingest.offers import TrialOffer, study_files, unpacked
from tests.losslake.questions.results.test_results import results

FACTS = {"round": "5.1", "org": "Acme", "system": "box", "benchmark": "bert", "submission_division": "closed"}


def offer(seconds: object = "1.5", **others: object) -> TrialOffer:
    facts = {name: value for name, value in {**FACTS, "run_seconds": seconds, **others}.items() if value is not None}
    return TrialOffer(metadata={"parameters": {"learning_rate": 0.1, **facts}})


def view_of(folder: Path, *offers: TrialOffer) -> ReleaseView:
    lake = Lake.create(folder / "lake")
    files = study_files(dict(enumerate(offers, 1)))
    assert not ingest(lake, [unpacked(folder / "logs", files)]).quarantined
    return ReleaseView.open(lake, lake.release())


def test_a_release_without_submissions_says_so(tmp_path: Path) -> None:
    rows, facts = results(view_of(tmp_path, TrialOffer()), round=["5.1"])
    assert rows == []
    assert facts["left_out"] == [
        "no trial of this release states a round, an organisation, a system and a benchmark, as MLPerf's logs do"
    ]
    assert facts["facets"] == []


def test_names_that_are_missing_or_endless_are_left_out_and_counted(tmp_path: Path) -> None:
    odd = [offer(round="9" * 5000), offer(org=None), offer(system=""), offer(benchmark=["bert"])]
    rows, facts = results(view_of(tmp_path, offer(), *odd))
    assert {row["benchmark"] for row in rows} == {"bert", '["bert"]'}
    assert "2 logs whose round, organisation, system or benchmark is empty or too long" in facts["left_out"]


def test_a_name_with_slashes_is_one_part_of_the_submission(tmp_path: Path) -> None:
    (row,), _ = results(view_of(tmp_path, offer(system="a/b%<script>")))
    assert row["submission"] == "root/5.1/closed/Acme/a%2Fb%25<script>/bert"
    assert row["time_reason"] == "the number of runs that bert requires isn't known"
    assert (row["n_required"], row["rcp"]) == (None, None)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-1", "0", "1e999999999", "1e-999999999", "12 s", "", "9" * 5000, None, "0x10"]
)
def test_what_is_no_time_is_unknown(text: str | None) -> None:
    assert _seconds(text) is None


@given(st.integers(1, 10**12))
def test_times_are_exact(milliseconds: int) -> None:
    text = f"{milliseconds // 1000}.{milliseconds % 1000:03d}"
    expected = Decimal(milliseconds) / 1000 if milliseconds < 10**12 else None
    assert _seconds(text) == expected


@given(st.lists(st.integers(1, 10**9), max_size=12), st.integers(0, 5), st.integers(1, 4))
def test_the_mean_leaves_out_the_fastest_and_the_slowest(values: list[int], n_without: int, trimmed: int) -> None:
    """Compare with sorting all values, where those that aren't known come last."""
    everything = [*sorted(values), *[None] * n_without]
    kept = everything[trimmed : len(everything) - trimmed]
    expected = Fraction(sum(v for v in kept if v), len(kept)) if kept and None not in kept else None
    assert exact_olympic_mean([Decimal(value) for value in values], n_without, trimmed) == expected


def test_rules_and_rounds_are_known_by_their_names_only() -> None:
    assert rules_of("mlperf-training", "nothing") is None
    assert rules_of("defaults", "trimmed") is None
    unet = rules_of("mlperf-training", "unet3d")
    assert unet is not None
    assert (unet.runs, unet.trimmed, unet.not_reached) == (40, 4, 4)
    assert folder_of("mlperf-training", "5.1") == "training_5.1.0"
    for round_ in ("", "5", "5.x", "9" * 100, "5.1.0.0"):
        assert folder_of("mlperf-training", round_) is None
