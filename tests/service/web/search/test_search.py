"""The search: expected pages are among its first three results, and no input raises an error."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from losslake.questions.release.view import ReleaseView
from losslake_service.web.search.matching import Entry
from losslake_service.web.search.search import search, workload_matches
from losslake_service.web.templates import with_query
from tests.service.web.search.lake_to_search import BERT, RESNET, view_to_search

SGD, ADAM = "bundled/digits/mlp_64/sgd", "bundled/digits/mlp_64/adam"


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    """Return the release that is searched."""
    return view_to_search(tmp_path_factory.mktemp("searched"))


def address(entry: Entry) -> str:
    return with_query(entry.path, entry.query) + (f"#{entry.anchor}" if entry.anchor else "")


def first(view: ReleaseView, text: str, most: int = 3) -> list[str]:
    """Return the addresses of what is found first."""
    return [address(each.entry) for each in search(view, text)[:most]]


EXPECTED = {
    "adam vs sgd": f"/compare?workload={ADAM}&workload={SGD}",
    "compare SGD and Adam": f"/compare?workload={SGD}&workload={ADAM}",
    "nvidia vs google": "/results?organisation=NVIDIA&organisation=Google",
    "h100 against a100": "/results?accelerator=NVIDIA%20H100&accelerator=NVIDIA%20A100",
    "batch size 32768": f"/studies/{RESNET}/32768",
    "batch size 32,768": f"/studies/{RESNET}/32768",
    "bs=32k": f"/studies/{RESNET}/32768",
    "lamb 4096": f"/studies/{BERT}/4096",
    "bert lamb 16384": f"/studies/{BERT}/16384",
    "critical batch size": "/batch-size",
    "scaling laws": "/laws",
    "compute-optimal": "/laws",
    "learning rate law": "/laws",
    "perfect scaling": "/batch-size",
    "speech recognition": "/workloads/mlperf-training/librispeech/rnnt/lamb",
    "word error rate": "/workloads/mlperf-training/librispeech/rnnt/lamb",
    "recommendation": "/workloads/mlperf-training/criteo_1tb/dlrm/sgd",
    "translation": "/workloads/mlperf-training/wmt16_en_de/gnmt/adam",
    "image segmentation": "/workloads/mlperf-training/kits19/unet3d/nag",
    "performance profile": "/optimizers",
    "optimizer comparison": "/optimizers",
    "algoperf leaderboard": "/optimizers",
    "H100": "/results?accelerator=NVIDIA%20H100",
    "google tpu v4": "/results?accelerator=Google%20TPU%20v4",
    "nvidia": "/results?organisation=NVIDIA",
    "quanta cloud": "/results?organisation=Quanta_Cloud_Technology",
    "mlperf v4.0": "/results?round=4.0",
    "results": "/results",
    "resnet": f"/workloads/{RESNET}",
    "ResNet-50": f"/workloads/{RESNET}",
    "RN50": f"/workloads/{RESNET}",
    "bert": f"/workloads/{BERT}",
    "llama": "/workloads/mlperf-training/govreport/llama2_70b_lora/adamw",
    "adam": f"/workloads/{ADAM}",
    "modded nanogpt": "/workloads?collection=modded-nanogpt",
    "download": "/docs/download",
    "how to cite": "/releases/1#cite",
    "contribute": "/docs/contributions",
    "api": "/docs/reference",
    "learning rate": "/docs/bundled-studies#learning-rates",
    "tensorboard": "/docs/formats",
}


@pytest.mark.parametrize("text", EXPECTED)
def test_search_finds_what_it_means_in_the_first_three_rows(view: ReleaseView, text: str) -> None:
    assert EXPECTED[text] in first(view, text)


def test_of_equal_matches_the_one_with_the_most_trials_is_first(view: ReleaseView) -> None:
    found = [each.entry for each in search(view, "resnet") if each.entry.kind == "Workload"]
    assert [entry.n_trials for entry in found] == [5, 1]
    assert first(view, "batch size 32768", 2) == [
        f"/studies/{RESNET}/32768",
        "/studies/mlperf-training/criteo_1tb/dlrm/sgd/32768",
    ]


def test_names_come_before_words_that_only_begin_so(view: ReleaseView) -> None:
    optimizers = [each.entry.path.rpartition("/")[2] for each in search(view, "adam") if each.is_of_workload]
    assert optimizers.index("adamw") > max(at for at, name in enumerate(optimizers) if name == "adam")


def test_references_are_not_found(view: ReleaseView) -> None:
    assert "mlperf-rcp" not in " ".join(first(view, "mlperf", 1000) + first(view, "unknown", 1000))


def test_comparison_is_of_workloads_that_share_what_is_measured(view: ReleaseView) -> None:
    assert first(view, "lamb vs adagrad") == []
    for entry in (each.entry for each in search(view, "adam vs sgd")):
        names = [str(value).split("/") for _, value in entry.query]
        assert names[0][1:3] == names[1][1:3]


def test_every_workload_is_listed_for_no_words(view: ReleaseView) -> None:
    assert set(workload_matches(view, "")) == set(view.listed)
    assert search(view, "") == search(view, " - ") == []


@given(st.text(max_size=300))
@example("vs " * 100)
@example(" vs ")
@example("compare " * 60)
@example("batch size " * 40 + "9" * 4000)
@example("((((((a+)+)+)+" * 20 + "!")
@example("\x00\ud800<script>%_'\"")
@example("9" * 5000 + "k")
def test_any_text_is_searched(view: ReleaseView, text: str) -> None:
    found = search(view, text)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
