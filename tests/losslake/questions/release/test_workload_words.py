"""Workloads are found by words in any spelling, and what is close to an unknown name has its words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.lake.lake import Lake
from losslake.questions.release.errors import UnknownName
from losslake.questions.release.named_workload import SeveralWorkloads, named_workload
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_words import WorkloadWords, near_workloads, words_of
from losslake_ingest.run import ingest
from losslake_schema.errors import LossLakeError
from losslake_schema.names import Workload
from tests.ingest.offers import TrialOffer, study_files, unpacked

RESNET = Workload("mlperf-training", "imagenet", "resnet", "lars")
OPEN = Workload("mlperf-training/open", "imagenet", "resnet", "lars")
BERT = Workload("mlperf-training", "wikipedia_2020", "bert", "lamb")
TEXTS = {RESNET: ("val/accuracy", "v4.0", "DGXH100_n8"), OPEN: ("val/accuracy",), BERT: ("val/masked_accuracy", "Dell")}
WORDS = WorkloadWords(TEXTS)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", [RESNET, BERT, OPEN]),
        ("resnet50", [RESNET, OPEN]),
        ("ResNet-50 open", [OPEN]),
        ("RN50", [RESNET, OPEN]),
        ("ilsvrc2012 LARS", [RESNET, OPEN]),
        ("h100", [RESNET]),
        ("dgxh100n8", [RESNET]),
        ("v4.0", [RESNET]),
        ("4.0", [RESNET]),
        ("dell", [BERT]),
        ("masked-accuracy", [BERT]),
        ("--", []),
        ("resnet bert", []),
    ],
)
def test_every_word_matches_whatever_its_spelling(query: str, expected: list[Workload]) -> None:
    assert WORDS.matches(words_of(query)) == sorted(expected)


@given(st.sampled_from([RESNET, OPEN, BERT]), st.data())
def test_any_part_of_a_name_finds_the_workload(workload: Workload, data: st.DataObject) -> None:
    name = str(workload)
    start = data.draw(st.integers(0, len(name) - 1))
    part = name[start : data.draw(st.integers(start + 1, len(name)))]
    assert workload in WORDS.matches(words_of(part.upper()))


def test_similar_searches_replace_words_that_nothing_matches() -> None:
    searches = list(WORDS.near_searches(["resnet", "larz"]))
    assert ("resnet", "lars") in searches
    assert all(WORDS.matches(search) for search in searches)
    assert len(set(searches)) == len(searches)


def test_a_name_unlike_all_others_gets_no_proposals_among_many() -> None:
    many = [Workload("root", "mnist", f"cnn_{number}", "sgd") for number in range(20)]
    assert near_workloads("qqq/zzz/www/kkk", many) == []
    assert near_workloads("qqq/zzz/www/kkk", many[:2]) == list(map(str, many[:2]))
    assert str(UnknownName("workload", "q/z/w/k", [], "release 1")) == (
        "release 1 has no workload 'q/z/w/k', nor one with a similar name"
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("mlperf-training/imagenet/resnet50/lars", RESNET),
        ("mlperf-training/ILSVRC2012/rn50/lars", RESNET),
        ("mlperf-training/open/imagenet/resnet-50/*", OPEN),
        ("mlperf-trainig/wikipedia/bert/lamb", BERT),
        ("/", None),
    ],
)
def test_near_workloads_begin_with_those_that_have_every_part(name: str, first: Workload | None) -> None:
    near = near_workloads(name, TEXTS)
    assert near[0] == str(first) if first else near


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> ReleaseView:
    """Open a release with two workloads, one of them of a round, organisation and system."""
    folder = tmp_path_factory.mktemp("facts")
    facts: dict[str, object] = {
        "parameters": {"round": "2.1", "org": "Fujitsu", "system": "PRIMERGY", "note": "beside"}
    }
    files = study_files({1: TrialOffer(metadata=facts)}, workload="root/imagenet/resnet_50/lars")
    files |= study_files({1: TrialOffer()}, workload="root/imagenet/resnet_50/sgd")
    lake = Lake.create(folder / "lake")
    ingest(lake, [unpacked(folder / "logs", files)])
    return ReleaseView.open(lake, lake.release())


@pytest.mark.parametrize("text", ["resnet50 lars", "fujitsu", "v2.1 imagenet", "primergy", "*/imagenet/lars"])
def test_words_name_the_one_workload_that_they_match(view: ReleaseView, text: str) -> None:
    assert named_workload(view, text) == Workload("root", "imagenet", "resnet_50", "lars")


def test_a_path_is_taken_as_it_is(view: ReleaseView) -> None:
    assert named_workload(view, "root/imagenet/*/lars") == Workload("root", "imagenet", "*", "lars")


def test_words_that_several_or_no_workloads_match_are_refused(view: ReleaseView) -> None:
    with pytest.raises(SeveralWorkloads, match="'resnet50' matches 2 workloads: give more words, a pattern, or one of"):
        named_workload(view, "resnet50")
    for text, message in (("beside", "no workload"), ("nothing", "no workload"), ("", "'' matches 2 workloads")):
        with pytest.raises(LossLakeError, match=message):
            named_workload(view, text)
