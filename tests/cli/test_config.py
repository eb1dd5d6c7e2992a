"""`losslake config` shows the settings of the service and prints a file with their defaults."""

from __future__ import annotations

from pathlib import Path

import pytest

from losslake_service.settings import Settings
from tests.cli.conftest import Run


def test_every_setting_is_shown_with_value_source_and_description(
    losslake: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text("workers = 3")
    monkeypatch.setenv("LOSSLAKE_RATE_LIMIT", "2")
    done = losslake("config", "--config", file)
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines()[2:]}
    assert set(rows) == set(Settings.model_fields)
    assert f" file {file} " in rows["workers"]
    assert "environment" in rows["rate_limit"]
    assert "default" in rows["port"]
    assert all((field.description or "?") in rows[name] for name, field in Settings.model_fields.items())


def test_the_printed_toml_is_valid(losslake: Run, tmp_path: Path) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text(losslake("config", "--format", "toml").stdout)
    assert "\n# workers = 1\n" in file.read_text()
    assert losslake("config", "--config", file).returncode == 0


@pytest.mark.parametrize("command", ["config", "serve"])
def test_an_invalid_setting_is_reported_in_one_line(losslake: Run, tmp_path: Path, command: str) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text("wokers = 3")
    done = losslake(command, "--config", file)
    assert done.returncode == 1
    assert (
        done.stderr == f"losslake: {file}: there is no setting 'wokers', did you mean workers?: see 'losslake config'\n"
    )


def test_an_unknown_variable_is_reported(losslake: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_WOKERS", "3")
    assert "no setting is called LOSSLAKE_WOKERS, did you mean LOSSLAKE_WORKERS?" in losslake("config").stderr
