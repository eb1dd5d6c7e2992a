"""The mapping file: what it may say, and one line for whatever is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import BadMapping
from losslake_ingest.formats.format import formats
from losslake_ingest.mapping.mapping import MetricLine, bundled_mappings, load_mapping, overlay, parse_mapping
from losslake_ingest.mapping.template import Template
from losslake_ingest.pipeline.reading import mapping_file

WHOLE = """
[collection]
name = "mine"
licence = "CC-BY-4.0"
[run]
dataset = "mnist"
batch_size = 64
column = "run"
[path]
patterns = ["s{seed:int}/*"]
[files]
formats = ["csv"]
include = ["*.csv"]
side = ["hparams.yaml"]
[[lookup]]
file = "table.csv"
keys = ["arch"]
[fields]
epoch_examples = 50000
[parameters]
learning_rate = "{lr}"
[metrics]
eval_loss = "val/loss"
lr = ""
[status]
done = "COMPLETE"
[[axis]]
column = "epoch"
counts = "epochs"
epoch_size = "{epoch_examples}"
metrics = ["eval_*"]
[time]
wall_time = "time"
[[goal]]
metric = "val/loss"
target = 0.5
source = "a paper"
"""


def test_every_section_is_read(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("arch,model,size\ncnn,simple_cnn,\nmlp,fully_connected,3\n")
    (tmp_path / "losslake.toml").write_text(WHOLE)
    mapping = load_mapping(tmp_path / "losslake.toml")
    assert mapping.collection.name == Template("mine")
    assert mapping.run.batch_size == Template(64)
    assert mapping.run.column == "run"
    assert mapping.lookup[0].rows == {
        ("cnn",): {"model": "simple_cnn"},
        ("mlp",): {"model": "fully_connected", "size": "3"},
    }
    assert mapping.metrics == {"eval_loss": MetricLine(Template("val/loss")), "lr": MetricLine(Template(""))}
    assert (mapping.axis[0].counts, mapping.axis[0].metrics) == ("epochs", ["eval_*"])
    assert mapping.goal[0].target == Template(0.5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[run]\nbatchsize = 3", r"\[run\] batchsize: no such key"),
        ("[runs]\nx = 3", r"\[runs\] : no such section|\[runs\]: no such section"),
        ("[run]\nbatch_size = [3]", r"\[run\] batch_size"),
        ("[run]\ndataset = 3", r"\[run\] dataset"),
        ("[status]\nx = 'GOOD'", r"\[status\] x"),
        ("[metrics]\n'*/*' = 'val/loss'", "a column can contain only one \\*"),
        ("[[axis]]\ncolumn = 'e'\ncounts = 'epochs'", "add epoch_size"),
        ("[[axis]]\ncolumn = 'e'\ncounts = 'hours'", r"\[axis\]"),
        ("[path]\npatterns = ['{a']", "a stray"),
        ("run = ", "not a TOML file"),
        ("a = " + "[" * 5000, "not a TOML file"),
    ],
)
def test_mapping_errors_are_one_line(text: str, message: str) -> None:
    with pytest.raises(BadMapping, match=message) as error:
        parse_mapping(text.encode(), "losslake.toml")
    assert "\n" not in str(error.value)
    assert str(error.value).startswith("losslake.toml: ")


def test_no_mapping_at_the_path_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BadMapping, match="can't read the mapping"):
        load_mapping(tmp_path / "losslake.toml")


@pytest.mark.parametrize("name", sorted(formats()))
def test_the_defaults_of_every_format_are_a_mapping(name: str) -> None:
    mapping = parse_mapping(formats()[name].defaults.encode(), name)
    assert mapping.where == name
    # The licence is that of the logs: no format can know it.
    assert mapping.collection.licence in (None, Template("{licence}"))


@pytest.mark.parametrize("path", bundled_mappings().values(), ids=lambda path: path.parent.name)
def test_the_mappings_in_the_repository_load(path: Path) -> None:
    mapping = load_mapping(path)
    if mapping.text.lines and mapping.collection.name is None:
        return  # of a program: its logs are anyone's
    assert mapping.collection.licence is not None
    assert mapping.collection.source_url is not None


def test_user_mapping_overrides_the_defaults() -> None:
    own = parse_mapping(b"[metrics]\na = 'val/loss'\n[run]\nmodel = 'mine'\n[[axis]]\ncolumn = 'x'", "own")
    default = parse_mapping(
        b"[metrics]\na = 'train/loss'\nb = ''\n[run]\nmodel = 'd'\ndataset = 'd'\n[[axis]]\ncolumn = 'y'", "d"
    )
    both = overlay(own, default)
    assert both.metrics == {"a": MetricLine(Template("val/loss")), "b": MetricLine(Template(""))}
    assert (both.run.model, both.run.dataset) == (Template("mine"), Template("d"))
    assert [axis.column for axis in both.axis] == ["x", "y"]


def test_bundled_mapping_is_used_by_name_unless_a_file_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert mapping_file(Path("mlperf")) == bundled_mappings()["mlperf"]
    Path("mlperf").touch()
    assert mapping_file(Path("mlperf")) == Path("mlperf")
    assert mapping_file(Path("absent")) == Path("absent")


def test_a_mapping_builds_on_a_bundled_one() -> None:
    own = parse_mapping(b"extends = 'mlperf'\n[collection]\ntitle = 'mine'\n[run]\nmodel = 'm'", "own")
    base = load_mapping(bundled_mappings()["mlperf"])
    assert (own.run.model, own.collection.title) == (Template("m"), Template("mine"))
    assert (own.run.optimizer, own.collection.name) == (base.run.optimizer, base.collection.name)
    assert (own.path, own.lookup, own.axis, own.where) == (base.path, base.lookup, base.axis, "own")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("extends = 'nope'", "no bundled mapping 'nope'"),
        ("[[when]]\nmetrics = { a = 'val/b' }", "0.if: field required"),
        ("[[when]]\nif = {}", "at least 1"),
        ("[[when]]\nif.a = 1\nfiles.side = ['x']", "0.files: no such key"),
        ("[[when]]\nif.a = 1\nrun.column = 'x'", "run.column and run.within: give them under"),
        ("[run]\nwithin = ['x']", "within needs column"),
    ],
)
def test_a_wrong_condition_or_base_is_one_line(text: str, problem: str) -> None:
    with pytest.raises(BadMapping, match=problem) as error:
        parse_mapping(text.encode(), "m")
    assert "\n" not in str(error.value)
