"""`ingest` of logs with a mapping, `--dry-run`, `map` and `formats`: output and errors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from losslake_ingest.formats.format import formats
from tests.cli.conftest import Run
from tests.ingest.offers import tar_bytes, unpacked, zip_bytes

MAPPING = b"""
[collection]
name = "mine"
licence = "CC0"
[run]
dataset = "mnist"
model = "cnn"
optimizer = "sgd"
[path]
patterns = ["b{batch_size:int}/*/metrics.csv"]
[metrics]
val_wer = "val/word_error_rate"
[[goal]]
metric = "val/word_error_rate"
target = 0.5
source = "a paper"
"""
TABLE = b"step,val_wer,lr\n0,0.75,0.1\n10,0.25,0.1\n"


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    two = TABLE.replace(b"0.75", b"0.8")
    files = {"losslake.toml": MAPPING, "b8/one/metrics.csv": TABLE, "b8/two/metrics.csv": two, "notes.md": b"#"}
    return unpacked(tmp_path / "logs", files)


def test_ingest_prints_format_mapping_and_ignored_columns(losslake: Run, tmp_path: Path, logs: Path) -> None:
    done = losslake("ingest", logs, "--lake", tmp_path / "lake")
    assert done.returncode == 0
    assert f"read         {logs}: csv (2 files); 1 other file" in done.stdout
    assert f"mapping      {logs / 'losslake.toml'}" in done.stdout
    assert "ingested     2 trials in 1 study" in done.stdout
    assert "2 x run whose log doesn't say how it ended: stored as COMPLETE" in done.stdout
    steps = losslake("steps", "mine/mnist/cnn/sgd", "--lake", tmp_path / "lake", "--format", "json")
    assert json.loads(steps.stdout)["rows"][0]["steps"] == 10


def test_columns_that_the_mapping_uses_are_not_called_ignored(losslake: Run, tmp_path: Path) -> None:
    mapping = MAPPING.replace(b"[path]", b'[parameters]\nrate = "{eta}"\n[path]')
    table = b"step,val_wer,batch_size,eta,noise\n0,0.75,8,0.5,0.1\n10,0.25,8,0.5,0.2\n"
    logs = unpacked(tmp_path / "logs", {"losslake.toml": mapping, "one.csv": table})
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    assert "ignored      noise (1 run): no line under [metrics] in the mapping names it" in done.stdout


def test_a_dry_run_prints_studies_first_rows_and_goals_and_creates_no_lake(
    losslake: Run, tmp_path: Path, logs: Path
) -> None:
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    assert done.returncode == 0
    for text in (
        "mine/mnist/cnn/sgd/8",
        "first rows of mine/mnist/cnn/sgd/8",
        "collection   mine: licence CC0",
        "goal         mine/mnist/cnn/sgd: val/word_error_rate 0.5 (a paper)",
        "nothing was stored: would ingest 2 trials in 1 study",
    ):
        assert text in done.stdout
    assert not (tmp_path / "lake").exists()


def test_ingest_prints_which_trials_move_when_the_mapping_is_corrected(
    losslake: Run, tmp_path: Path, logs: Path
) -> None:
    losslake("ingest", logs, "--lake", tmp_path / "lake")
    (logs / "losslake.toml").write_bytes(MAPPING.replace(b'"cnn"', b'"vit"'))
    moved = "moved        2 trials from mine/mnist/cnn/sgd/8 to mine/mnist/vit/sgd/8; earlier releases keep them"
    assert moved in losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run").stdout
    assert moved in losslake("ingest", logs, "--lake", tmp_path / "lake").stdout
    ledger = losslake("ledger", "--outcome", "moved", "--lake", tmp_path / "lake", "--format", "json")
    assert {row["path"] for row in json.loads(ledger.stdout)} == {f"mine/mnist/cnn/sgd/8/{number}" for number in (1, 2)}


def test_a_dry_run_prints_every_missing_line_of_the_mapping(losslake: Run, tmp_path: Path, logs: Path) -> None:
    (logs / "losslake.toml").write_text("[run]\nmodel = '{arch}'\n")
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    for line in ('name = "…"', 'dataset = "…"', 'arch = "…"', 'optimizer = "…"', 'batch_size = "…"'):
        assert f"\n      {line}" in done.stdout
    assert "2 runs: " in done.stdout
    (logs / "losslake.toml").write_bytes(MAPPING.replace(b"val_wer", b"other"))
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    assert '\n      val_wer = "val/word_error_rate"' in done.stdout


def test_the_default_goal_is_one_on_validation_data(losslake: Run, tmp_path: Path, logs: Path) -> None:
    goal = '[[goal]]\nmetric = "test/accuracy"\ntarget = 0.5\nsource = "a paper"\n'
    (logs / "losslake.toml").write_text(MAPPING.decode() + goal)
    losslake("ingest", logs, "--lake", tmp_path / "lake")
    done = losslake("steps", "mine/mnist/cnn/sgd", "--lake", tmp_path / "lake")
    assert "steps to val/word_error_rate < 0.5" in done.stdout


def test_a_drafted_mapping_loads_and_has_the_fields_of_the_logs(losslake: Run, tmp_path: Path, logs: Path) -> None:
    (logs / "losslake.toml").unlink()
    done = losslake("map", "--init", logs)
    assert done.returncode == 0
    text = (logs / "losslake.toml").read_text()
    assert '# val_wer = "val/word_error_rate"   # guessed by its name' in text
    assert '# patterns = ["b{batch_size:int}/*/metrics.csv"]' in text
    assert losslake("map", logs).returncode == 0
    again = losslake("map", "--init", logs)
    assert again.returncode == 1
    assert "already exists" in again.stderr
    tried = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    assert "missing in the mapping" in tried.stdout


def test_a_drafted_mapping_states_nothing_and_lists_every_field(losslake: Run, tmp_path: Path) -> None:
    files = {f"b{n}/log.csv": f"step,val_loss,task,f{n}\n0,1,a,b\n9,2,a,b\n".encode() for n in range(1, 71)}
    folder = unpacked(tmp_path / "runs", files)
    assert losslake("map", "--init", folder).returncode == 0
    text = (folder / "losslake.toml").read_text()
    assert [line for line in text.splitlines() if line and line[0] not in "#["] == []
    assert '# dataset = "{task}"   # guessed by its name' in text
    assert '# patterns = ["b{batch_size:int}/log.csv"]' in text
    assert all(f"#   {{f{n}}} = b" in text for n in range(1, 71))


def test_a_dry_run_counts_further_reasons_by_rule_and_names_no_ledger(losslake: Run, tmp_path: Path) -> None:
    files = {f"b{n}/one/metrics.csv": f"step,val_wer\n{n}.5,1\n".encode() for n in range(1, 31)}
    folder = unpacked(tmp_path / "runs", files | {"losslake.toml": MAPPING})
    done = losslake("ingest", folder, "--lake", tmp_path / "lake", "--dry-run")
    assert "  … and 20 more reasons (20 x bad_step)\n" in done.stdout
    assert "ledger" not in done.stdout


def test_an_invalid_mapping_is_one_line_and_creates_no_lake(losslake: Run, tmp_path: Path, logs: Path) -> None:
    (logs / "losslake.toml").write_text("[run]\nbatchsize = 3\n")
    for command in (("ingest", logs, "--lake", tmp_path / "lake"), ("map", logs)):
        done = losslake(*command)
        assert done.returncode == 1
        assert "[run] batchsize: no such key" in done.stderr
        assert done.stderr.count("\n") == 1
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--format", "xml"), "there is no format 'xml': the formats are algoperf,"),
        (("--map", "absent/losslake.toml"), "can't read the mapping absent/losslake.toml: No such file or directory\n"),
        (
            ("--map", "ml-perf"),
            "can't read the mapping ml-perf: No such file or directory; bundled ones are algoperf, ",
        ),
    ],
)
def test_an_invalid_option_is_one_line(
    losslake: Run, tmp_path: Path, logs: Path, options: tuple[str, str], message: str
) -> None:
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", *options)
    assert done.returncode == 1
    assert message in done.stderr
    assert not (tmp_path / "lake").exists()


def test_a_path_without_a_known_log_is_one_line_and_makes_no_lake(losslake: Run, tmp_path: Path) -> None:
    files = {"empty/readme.md": b"#"}
    folder = unpacked(tmp_path, files) / "empty"
    (tmp_path / "empty.tar").write_bytes(tar_bytes(files))
    (tmp_path / "empty.zip").write_bytes(zip_bytes(files))
    for place in (folder, folder / "readme.md", tmp_path / "empty.tar", tmp_path / "empty.zip"):
        done = losslake("ingest", place, "--lake", tmp_path / "lake")
        assert (done.returncode, done.stdout) == (1, "")
        assert "no log of a known format is in it: see 'losslake formats'" in done.stderr
        assert not (tmp_path / "lake").exists()
    assert losslake("map", "--init", folder).returncode == 1


@pytest.mark.parametrize("url", ["mysql://u:secret@h/db", "https://example.org/x.tar", "postgresql://u:secret@[/db"])
def test_an_unreadable_url_is_one_line_without_its_password(losslake: Run, tmp_path: Path, url: str) -> None:
    done = losslake("ingest", url, "--lake", tmp_path / "lake")
    assert done.returncode == 1
    assert "secret" not in done.stdout + done.stderr


def test_formats_lists_what_each_format_reads_and_needs(losslake: Run) -> None:
    done = losslake("formats", "--format", "json")
    listed = json.loads(done.stdout)
    assert [row["format"] for row in listed] == sorted(formats())
    assert all(row["reads"] and row["needs"] for row in listed)
    assert "  reads  " in losslake("formats").stdout


def test_control_characters_of_a_log_do_not_reach_the_terminal(losslake: Run, tmp_path: Path, logs: Path) -> None:
    (logs / "b8/one/metrics.csv").write_bytes(b"step,val_wer,\x1b[31mred\n0,0.5,1\n")
    done = losslake("ingest", logs, "--lake", tmp_path / "lake", "--dry-run")
    assert "\x1b" not in done.stdout
    assert "red" in done.stdout
