"""`losslake map --init` on logs of a format: the draft loads, and names what the log has."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import UnknownFormat
from losslake_ingest.mapping.mapping import load_mapping, parse_mapping
from losslake_ingest.pipeline.mapping_draft import draft_mapping
from tests.ingest.made_up.documents import SACRED, TRACKIO
from tests.ingest.made_up.logs import METRICS, MadeUp, runs
from tests.ingest.made_up.texts import DVCLIVE, JSON_ARRAYS, JSON_ENTRIES, LONG
from tests.ingest.offers import unpacked


@pytest.mark.parametrize(
    "made", [JSON_ARRAYS, JSON_ENTRIES, LONG, DVCLIVE, SACRED, TRACKIO], ids=lambda made: str(made.name)
)
def test_a_draft_loads_and_names_the_metrics_and_the_step(tmp_path: Path, made: MadeUp) -> None:
    path = draft_mapping(unpacked(tmp_path, made.write(runs(made, 3, 2))))
    text = path.read_text()
    assert load_mapping(path).where == str(path)
    assert [name for name in METRICS if f'# {name} = ""' not in text] == []
    assert "is its column step, which counts steps" in text


def test_a_draft_asks_for_the_facts_of_its_collection(tmp_path: Path) -> None:
    text = draft_mapping(unpacked(tmp_path, {"run.csv": b"step,val/loss\n1,2\n2,1\n"})).read_text()
    section = text.partition("[collection]\n")[2].partition("\n\n")[0]
    filled = "\n".join(line.removeprefix("# ") for line in section.splitlines())
    assert list(tomllib.loads(filled)) == ["name", "title", "licence", "citation", "source_url"]
    assert parse_mapping(f"[collection]\n{filled}\n".encode(), "m").collection.licence is not None


def test_guesses_by_odd_names_are_valid_once_the_comment_is_removed(tmp_path: Path) -> None:
    log = b"step,val/loss\n1,2\n2,1\n"
    fields = b'{"x\\"y.arch": "cnn", "a|b.batch_size": 8, "{o}.optimizer": "sgd"}'
    files = {f"runs/{{a}}/b{size}/m.csv": log for size in (8, 16)} | {"config.json": fields}
    lines = draft_mapping(unpacked(tmp_path, files)).read_text().splitlines()
    places = {
        name: next(line[2:] for line in lines if line.startswith(f"# {name} = ")) for name in ("patterns", "model")
    }
    assert tomllib.loads(places["model"])["model"] == '{x"y.arch}'
    mapping = parse_mapping(f"[path]\n{places['patterns']}\n[run]\n{places['model']}\n".encode(), "m")
    assert mapping.path.patterns[0].match("runs/{a}/b8/m.csv") == {"batch_size": 8}
    assert not any("{a|b." in line or "{{o}" in line for line in lines if "guess" in line)


def test_a_draft_says_that_the_batch_size_is_in_the_paths(tmp_path: Path) -> None:
    files = {f"bs{size}_seed0.csv": b"step,val/loss\n1,2\n2,1\n" for size in (8, 16)}
    text = draft_mapping(unpacked(tmp_path, files)).read_text()
    assert '# patterns = ["bs{batch_size:int}_seed0.csv"]\n' in text
    assert "# batch_size comes from the path" in text
    assert "# batch_size = " not in text


def test_without_a_draft_a_pickle_is_told_how_to_convert_it(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match=r"history\.pkl is a pickle .*CSV"):
        draft_mapping(unpacked(tmp_path, {"history.pkl": b"\x80\x04N."}))
