"""Settings come from flags, environment, file and defaults, in that order; mistakes are told in one line."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from losslake_service.settings import BadSettings, Settings, as_toml, load_settings, toml_value, unknown_variables

DOCS = Path(__file__).parents[2] / "docs" / "operating.md"


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.delenv(f"LOSSLAKE_{name.upper()}", raising=False)
    monkeypatch.delenv("LOSSLAKE_CONFIG", raising=False)


def test_flags_beat_environment_beats_file_beats_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text("port = 1\nworkers = 2\nbacklog = 3\n")
    monkeypatch.setenv("LOSSLAKE_PORT", "4")
    monkeypatch.setenv("LOSSLAKE_WORKERS", "5")
    chosen = load_settings(Settings, file, {"port": 6, "host": None})
    settings, sources = chosen.settings, chosen.sources
    assert (settings.port, settings.workers, settings.backlog, settings.host) == (6, 5, 3, "127.0.0.1")
    assert [sources[name] for name in ("port", "workers", "backlog", "host")] == [
        "flag",
        "environment",
        "file",
        "default",
    ]
    assert chosen.source_of("backlog") == f"file {file}"


def test_the_environment_can_name_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text('cors_origins = ["https://a.example"]')
    monkeypatch.setenv("LOSSLAKE_CONFIG", str(file))
    assert load_settings(Settings).settings.cors_origins == ("https://a.example",)


def test_lists_have_commas_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_TRUSTED_PROXIES", "10.0.0.0/8, ::1,")
    assert load_settings(Settings).settings.trusted_proxies == ("10.0.0.0/8", "::1")


def test_empty_variable_means_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_PORT", "")
    assert load_settings(Settings).sources["port"] == "default"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", "there is no setting 'prot', did you mean port?: see 'losslake config'"),
        ("[serve]\nport = 1", "there is no setting 'serve'"),
        ("port = 70000", "port = 70000: input should be less than or equal to 65535"),
        ("rate_limit = -1", "rate_limit = -1: input should be greater than or equal to 0"),
        ("rate_limit = nan", "rate_limit = nan: input should be a finite number"),
        ('trusted_proxies = ["nginx"]', "'nginx' is neither an address nor a network such as 10.0.0.0/8"),
        ('public_url = "losslake.example"', "give a URL that begins with http:// or https:// and an ASCII host"),
        ('public_url = "https://bücher.example"', "give a URL that begins with http:// or https:// and an ASCII host"),
        (
            'public_url = "https://a@losslake.example"',
            "give a URL that begins with http:// or https:// and an ASCII host",
        ),
        ('allowed_hosts = ["http://a.example"]', "'http://a.example' is not a host such as losslake.example"),
        ('allowed_hosts = ["*"]', "'*' is not a host such as losslake.example"),
        ("port = ", "is not TOML"),
    ],
)
def test_a_mistake_in_the_file_is_one_line_that_names_it(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "losslake.toml"
    file.write_text(text)
    with pytest.raises(BadSettings) as caught:
        load_settings(Settings, file)
    assert str(caught.value).startswith(str(file))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_error_quotes_the_variable_or_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BadSettings, match=r"^--workers 0: input should be greater than or equal to 1$"):
        load_settings(Settings, flags={"workers": 0})
    monkeypatch.setenv("LOSSLAKE_LOG_FORMAT", "xml")
    with pytest.raises(
        BadSettings, match=r"^LOSSLAKE_LOG_FORMAT=xml: input should be 'auto', 'json', 'text' or 'off'$"
    ):
        load_settings(Settings)


def test_missing_settings_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=r"none\.toml: No such file or directory: give a settings file"):
        load_settings(Settings, tmp_path / "none.toml")


def test_variables_that_look_like_settings_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOSSLAKE_RATE_LIMITS", "1")
    monkeypatch.setenv("LOSSLAKE_DEBUG", "1")
    assert unknown_variables() == ["LOSSLAKE_RATE_LIMITS, did you mean LOSSLAKE_RATE_LIMIT?"]


def test_toml_template_gives_the_same_settings(tmp_path: Path) -> None:
    file = tmp_path / "losslake.toml"
    changed = load_settings(Settings, flags={"rate_limit": 2.5, "cors_origins": ("https://a.example",)}).settings
    file.write_text(as_toml(changed))
    again = load_settings(Settings, file)
    assert again.settings == changed
    assert {name for name, source in again.sources.items() if source == "file"} == {"rate_limit", "cors_origins"}


def test_settings_reach_another_process() -> None:
    settings = load_settings(Settings, flags={"port": 1}).settings
    assert pickle.loads(pickle.dumps(settings)) == settings


def test_every_setting_is_documented_with_its_default() -> None:
    section = DOCS.read_text().partition("## Settings\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `(.*?)` \| (.*) \|$", section, re.MULTILINE)
    defaults = Settings.model_construct()
    assert rows == [
        (name, toml_value(getattr(defaults, name)), field.description) for name, field in Settings.model_fields.items()
    ]
