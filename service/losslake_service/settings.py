"""What whoever runs the service may choose: by flag, by environment, by a TOML file, or not at all."""

from __future__ import annotations

import difflib
import ipaddress
import json
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from losslake.lake.location import Location, location_of
from losslake_schema.errors import LossLakeError

PREFIX = "LOSSLAKE_"
CONFIG = "LOSSLAKE_CONFIG"
Source = Literal["default", "file", "environment", "flag"]
Texts = Annotated[tuple[str, ...], NoDecode]
Seconds = Annotated[float, Field(ge=0.1, le=86_400)]


class Settings(BaseSettings):
    """Every setting of the service, with its default."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    lake: str = "lake"
    """The lake to serve: a folder, a lake.toml, or the two URLs of a database and a place for files."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for every IPv4 address, :: for every address."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    """Port to listen on; 0 for any that is free."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of processes that answer; about one per core."""
    public_url: str = ""
    """Where users reach the service, such as https://losslake.example, for links; empty: as each request says."""
    trusted_proxies: Texts = ()
    """Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed: addresses or networks, with commas."""
    cors_origins: Texts = ("*",)
    """Origins whose pages may read answers, with commas; * for all, empty for none."""

    cache: str = ""
    """Folder for what is kept here of a lake at two URLs; empty: as lake.toml says, else ~/.cache/losslake."""
    cache_mb: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Megabytes of files to keep there, about; 0: as lake.toml says, else 10,000."""
    data_delivery: Literal["proxy", "redirect", "nginx"] = "proxy"
    """Who sends data files: the service, the bucket (to which it redirects), or nginx in front (X-Accel-Redirect)."""
    data_url_seconds: Annotated[int, Field(ge=10, le=604_800)] = 600
    """Seconds for which a signed URL of a data file in the bucket holds, for redirect and nginx."""
    data_url_endpoint: str = ""
    """Where users reach the bucket's store, for redirect, such as https://s3.example; empty: where the service does."""

    log_format: Literal["auto", "json", "text", "off"] = "auto"
    """A line per request on standard error: json, text, or off; auto: text on a terminal, json elsewhere."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe messages that are logged; above info, requests are not."""

    rate_limit: Annotated[float, Field(ge=0, le=1_000_000)] = 0.0
    """Requests per second that a client may make of a worker process, in the long run; 0: as many as it likes."""
    rate_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 50
    """Requests that a client may make at once before rate_limit holds."""

    request_head_bytes: Annotated[int, Field(ge=1024, le=1_048_576)] = 32_768
    """Most bytes of a request's path, query and headers; more is answered with 431."""
    request_body_bytes: Annotated[int, Field(ge=1024, le=104_857_600)] = 2_000_000
    """Most bytes of a request's body; more is answered with 413."""
    request_seconds: Seconds = 20.0
    """Most seconds for a request's body to arrive."""
    keep_alive_seconds: Annotated[int, Field(ge=1, le=3600)] = 75
    """Seconds that an idle connection is kept; more than a proxy in front keeps it."""
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Most connections of a worker process; while there are more, requests are answered with 503."""
    backlog: Annotated[int, Field(ge=1, le=65_535)] = 2048
    """Connections that may wait to be accepted."""
    shutdown_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """Seconds that requests may still run after SIGTERM."""

    compression: bool = True
    """Whether answers are sent in gzip or zstd to clients that accept it."""
    compression_least_bytes: Annotated[int, Field(ge=0, le=1_048_576)] = 1024
    """Answers shorter than this are sent as they are."""
    answer_cache_mb: Annotated[int, Field(ge=0, le=1_048_576)] = 32
    """Megabytes of finished answers that each worker process keeps; 0: none."""
    releases_open: Annotated[int, Field(ge=1, le=1000)] = 4
    """Releases that each worker process keeps open, the last used ones."""
    seconds_between_looks: Seconds = 1.0
    """Seconds between looks for a new release."""

    sql_enabled: bool = True
    """Whether strangers may send SQL."""
    sql_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 10.0
    """Most seconds for a statement."""
    sql_memory_mb: Annotated[int, Field(ge=64, le=1_048_576)] = 1024
    """Most megabytes of memory for a statement."""
    sql_result_mb: Annotated[int, Field(ge=1, le=1_048_576)] = 64
    """Most megabytes of a statement's result; a longer one is cut, and says so."""
    sql_result_rows: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1_000_000
    """Most rows of a statement's result; a longer one is cut, and says so."""
    sql_workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Statements that run at the same time, for each worker process."""
    sql_waiting: Annotated[int, Field(ge=0, le=10_000)] = 16
    """Statements that may wait for their turn; more are refused."""

    @property
    def location(self) -> Location:
        """Where the lake is; raises LossLakeError."""
        return location_of(self.lake, self.cache, self.cache_mb)

    @field_validator("trusted_proxies", "cors_origins", mode="before")
    @classmethod
    def _separated(cls, value: object) -> object:
        """In a variable, texts are separated by commas."""
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for text in value:
            try:
                ipaddress.ip_network(text, strict=False)
            except ValueError:
                raise ValueError(f"'{text}' is neither an address nor a network such as 10.0.0.0/8") from None
        return value

    @field_validator("public_url", "data_url_endpoint")
    @classmethod
    def _without_slash(cls, value: str) -> str:
        if value and not value.startswith(("http://", "https://")):
            raise ValueError("give a URL that begins with http:// or https://, or nothing")
        return value.rstrip("/")


class BadSettings(LossLakeError):
    """A setting has a name or a value that can't be used."""


@dataclass(frozen=True)
class Chosen:
    """Settings, and where each came from."""

    settings: Settings
    sources: Mapping[str, Source]
    file: Path | None
    """The file that was read."""

    def named(self, name: str) -> str:
        """Where a setting came from, in words: default, file losslake.toml, environment, flag."""
        source = self.sources[name]
        return f"file {self.file}" if source == "file" else source


def load_settings(file: str | Path | None = None, flags: Mapping[str, Any] | None = None) -> Chosen:
    """The settings: flags before environment before file before defaults; raises BadSettings.

    Args:
        file: a TOML file; default $LOSSLAKE_CONFIG, else none.
        flags: by name of the setting; None where none was given.
    """
    path = Path(named) if (named := file or os.environ.get(CONFIG)) else None
    from_file = _read(path) if path is not None else {}
    from_environment = EnvSettingsSource(Settings)()
    from_flags = {name: value for name, value in (flags or {}).items() if value is not None}
    sources: dict[str, Source] = dict.fromkeys(Settings.model_fields, "default")
    sources |= dict.fromkeys(from_file, "file")
    sources |= dict.fromkeys(from_environment, "environment")
    sources |= dict.fromkeys(from_flags, "flag")
    values = {**from_file, **from_environment, **from_flags}
    try:
        return Chosen(Settings.model_validate(values), sources, path)
    except ValidationError as error:
        raise BadSettings(_explained(error, sources, path)) from None


def unknown_variables() -> list[str]:
    """Variables of the environment that look like settings and are none, each with what it may have meant."""
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG, f"{PREFIX}DEBUG"}
    mine = (name for name in sorted(os.environ) if name.upper().startswith(PREFIX))
    return [f"{name}{_did_you_mean(name, known)}" for name in mine if name.upper() not in known]


def as_toml(settings: Settings) -> str:
    """A file to start from: every setting with its description, and those that are as by default commented out."""
    lines = ["# Settings of `losslake serve --config FILE`. A line that begins with # is the default.", ""]
    defaults = Settings.model_construct()
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        mark = "# " if value == getattr(defaults, name) else ""
        lines += [f"# {field.description}", f"{mark}{name} = {toml_value(value)}", ""]
    return "\n".join(lines)


def toml_value(value: object) -> str:
    """A setting's value as TOML writes it; JSON writes texts, numbers, booleans and lists the same way."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadSettings(f"{path}: {error.strerror}: name a file of settings with --config or {CONFIG}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} is not TOML: {error}") from None
    for name in found:
        if name not in Settings.model_fields:
            meant = _did_you_mean(name, Settings.model_fields)
            raise BadSettings(f"{path}: there is no setting '{name}'{meant}: see 'losslake config'")
    return found


def _did_you_mean(name: str, known: Mapping[str, object] | set[str]) -> str:
    near = difflib.get_close_matches(name, list(known), 1)
    return f", did you mean {near[0]}?" if near else ""


def _explained(error: ValidationError, sources: Mapping[str, Source], path: Path | None) -> str:
    """The first fault in one line: which setting, given where, and what is wrong with it."""
    fault = error.errors()[0]
    name = str(fault["loc"][0])
    source = sources.get(name, "default")
    shown = {
        "file": f"{path}: {name} = {fault['input']!r}",
        "environment": f"{PREFIX}{name.upper()}={fault['input']}",
        "flag": f"--{name.replace('_', '-')} {fault['input']}",
        "default": name,
    }[source]
    why = str(fault["ctx"]["error"]) if fault["type"] == "value_error" else str(fault["msg"])
    return f"{shown}: {why[:1].lower()}{why[1:]}"
