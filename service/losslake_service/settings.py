"""The settings of the service, from flags, the environment, a TOML file, or defaults."""

from __future__ import annotations

import difflib
import ipaddress
import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeVar
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, EnvSettingsSource, NoDecode, SettingsConfigDict

from losslake.lake.location import Location, location_of
from losslake.questions.release.errors import reason_of
from losslake_schema.errors import LossLakeError

PREFIX = "LOSSLAKE_"
CONFIG = "LOSSLAKE_CONFIG"
CONTRIBUTIONS_PREFIX = "LOSSLAKE_CONTRIBUTIONS_"  # of the settings of another server
Source = Literal["default", "file", "environment", "flag"]
_LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")
_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9._-]{0,251}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:(?:[0-9]{1,5}|\*))?", re.ASCII)


def _separated(value: object) -> object:
    """Split comma-separated values of environment variables."""
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


def _networks(values: tuple[str, ...]) -> tuple[str, ...]:
    for text in values:
        try:
            ipaddress.ip_network(text, strict=False)
        except ValueError:
            raise ValueError(f"'{text}' is neither an address nor a network such as 10.0.0.0/8") from None
    return values


def _host_names(values: tuple[str, ...]) -> tuple[str, ...]:
    for text in values:
        if not _HOST.fullmatch(text.lower()):
            raise ValueError(f"'{text}' is not a host such as losslake.example, 192.0.2.7:9000 or [2001:db8::1]:*")
    return tuple(text.lower() for text in values)


def _without_slash(value: str) -> str:
    """Return an http:// or https:// URL without its last slash, or nothing; raise ValueError for anything else."""
    if value and not (value.startswith(("http://", "https://")) and _HOST.fullmatch(urlsplit(value.lower()).netloc)):
        raise ValueError("give a URL that begins with http:// or https:// and an ASCII host, or leave it empty")
    return value.rstrip("/")


Texts = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_separated)]
Url = Annotated[str, AfterValidator(_without_slash)]
Networks = Annotated[Texts, AfterValidator(_networks)]
Seconds = Annotated[float, Field(ge=0.1, le=86_400)]


class ServerSettings(BaseSettings):
    """The settings of every server of LossLake, with their defaults."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_ignore_empty=True,
        frozen=True,
        extra="forbid",
        use_attribute_docstrings=True,
        allow_inf_nan=False,
    )

    lake: str = "lake"
    """The lake to serve: a folder, a lake.toml, or two URLs, of the database and of the files."""
    host: str = "127.0.0.1"
    """Address to listen on; 0.0.0.0 for all IPv4 addresses, :: for all addresses."""
    port: Annotated[int, Field(ge=0, le=65_535)] = 8000
    """Port to listen on; 0 for any free port."""
    allow_root: bool = False
    """Run as root also where other machines can connect; on loopback, root gets a warning only."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of worker processes; about one per core."""
    public_url: Url = ""
    """Public URL of the service for links, such as https://losslake.example; empty: from each request."""
    notice: Annotated[str, Field(max_length=300)] = ""
    """A sentence above every page, such as "This is a test: its data may be deleted."; empty: none."""
    allowed_hosts: Annotated[Texts, AfterValidator(_host_names)] = ()
    """Hosts that requests may name besides public_url's: losslake.example, 192.0.2.7:9000, localhost:* for any port."""
    trusted_proxies: Networks = ()
    """Proxies whose X-Forwarded-For and X-Forwarded-Proto are trusted: addresses or networks, comma-separated."""
    cors_origins: Texts = ("auto",)
    """Origins whose pages may read responses (CORS); * for all, empty for none; auto: none on loopback."""

    cache: str = ""
    """Cache folder for a lake at two URLs; empty: as in lake.toml, else ~/.cache/losslake."""
    cache_mb: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    """Approximate size of this cache in megabytes; 0: as in lake.toml, else 10,000."""

    log_format: Literal["auto", "json", "text", "off"] = "auto"
    """Format of the log on standard error: json, text, or off; auto: text on a terminal, else json."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """Lowest level that is logged; requests are logged at info and debug only."""

    rate_limit: Annotated[float, Field(ge=0, le=1_000_000)] = 50.0
    """Sustained requests per second per client beyond loopback, for each worker process; 0: unlimited."""
    rate_burst: Annotated[int, Field(ge=1, le=1_000_000)] = 500
    """Requests that a client may make in a burst before rate_limit applies."""
    rate_megabytes: Annotated[float, Field(ge=0, le=1_000_000)] = 6000.0
    """Megabytes per minute that a client beyond loopback may get from each worker process; 0: unlimited."""

    request_head_bytes: Annotated[int, Field(ge=1024, le=1_048_576)] = 32_768
    """Maximum bytes of a request's path, query and headers; more gives 431."""
    request_body_bytes: Annotated[int, Field(ge=1024, le=104_857_600)] = 2_000_000
    """Maximum bytes of a request's body; more gives 413."""
    request_seconds: Seconds = 20.0
    """Maximum seconds to receive a request's body."""
    min_read_kb: Annotated[float, Field(ge=0, le=1_000_000)] = 10.0
    """Minimum kilobytes per second at which a client reads a response, else its connection is closed; 0: none."""
    keep_alive_seconds: Annotated[int, Field(ge=1, le=3600)] = 75
    """Seconds that an idle connection stays open; must exceed that of a proxy in front."""
    connections: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    """Maximum connections per worker process; while there are more, requests get 503."""
    backlog: Annotated[int, Field(ge=1, le=65_535)] = 2048
    """Maximum connections waiting to be accepted."""
    shutdown_seconds: Annotated[int, Field(ge=1, le=3600)] = 30
    """Seconds that requests may continue after SIGTERM."""

    compression: bool = True
    """Compress responses with gzip or zstd for clients that accept it."""
    compression_least_bytes: Annotated[int, Field(ge=0, le=1_048_576)] = 1024
    """Responses shorter than this are not compressed."""

    @property
    def location(self) -> Location:
        """The location of the lake; raise LossLakeError if it is invalid."""
        return location_of(self.lake, self.cache, self.cache_mb)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The hosts that requests may name, as in allowed_hosts; raise LossLakeError if there is none."""
        public = urlsplit(self.public_url.lower())
        named = [public.netloc, _bracketed(public.hostname)] if public.hostname else []
        named += self.allowed_hosts
        if is_loopback(self.host):
            named += (f"{name}:*" for name in (*_LOOPBACK_NAMES, _bracketed(self.host)))
        if not named:
            raise LossLakeError(
                f"other machines can reach the service at {self.host}: set public_url to its public URL, or "
                "allowed_hosts (LOSSLAKE_ALLOWED_HOSTS) to the names or addresses that clients use"
            )
        return tuple(named)

    @property
    def is_private(self) -> bool:
        """Return True if requests may name hosts of loopback only; raise LossLakeError if there is no host."""
        return all(is_loopback(urlsplit(f"//{host}").hostname or "") for host in self.hosts)

    @property
    def origins(self) -> tuple[str, ...]:
        """The origins whose pages may read responses; `*` for all."""
        if self.cors_origins != ("auto",):
            return self.cors_origins
        return () if self.is_private else ("*",)


class Settings(ServerSettings):
    """Every setting of the service, with its default."""

    data_delivery: Literal["proxy", "redirect", "nginx"] = "proxy"
    """Sender of data files: the service (proxy), the bucket (redirect), or nginx in front (X-Accel-Redirect)."""
    data_url_seconds: Annotated[int, Field(ge=10, le=604_800)] = 600
    """Seconds that a signed URL of a data file in the bucket is valid, for redirect and nginx."""
    data_url_endpoint: Url = ""
    """Public endpoint of the object store for redirect, such as https://s3.example; empty: as the service uses."""

    answer_cache_mb: Annotated[int, Field(ge=0, le=1_048_576)] = 32
    """Size of the response cache of each worker process, in megabytes; 0: no cache."""
    releases_open: Annotated[int, Field(ge=1, le=1000)] = 4
    """Maximum releases that each worker process keeps open, the most recently used ones."""
    seconds_between_looks: Seconds = 1.0
    """Seconds between checks for a new release."""

    expensive_seconds: Annotated[float, Field(ge=0, le=3600)] = 0.5
    """Questions that take more seconds of a processor, as estimated, are answered by processes of their own."""
    question_places: Annotated[int, Field(ge=1, le=64)] = 2
    """Expensive questions that are answered concurrently for each worker process, each by a process of its own."""
    question_waiting: Annotated[int, Field(ge=0, le=10_000)] = 16
    """Expensive questions that may wait; more are refused."""
    question_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 60.0
    """Maximum seconds per expensive question."""
    question_client_seconds: Annotated[float, Field(ge=0, le=3840)] = 60.0
    """Seconds per minute that expensive questions of one client may take, for each worker process; 0: unlimited."""

    sql_enabled: bool = True
    """Allow clients to send SQL."""
    sql_seconds: Annotated[float, Field(ge=0.1, le=3600)] = 10.0
    """Maximum seconds per statement."""
    sql_memory_mb: Annotated[int, Field(ge=64, le=1_048_576)] = 1024
    """Maximum megabytes per statement, not counting memory kept from earlier ones (at most half as much again)."""
    sql_result_mb: Annotated[int, Field(ge=1, le=1_048_576)] = 64
    """Maximum megabytes of a statement's result; a larger one is truncated and marked."""
    sql_result_rows: Annotated[int, Field(ge=1, le=1_000_000_000)] = 1_000_000
    """Maximum rows of a statement's result; a longer one is truncated and marked."""
    sql_workers: Annotated[int, Field(ge=1, le=64)] = 2
    """Statements that run concurrently in each worker process."""
    sql_waiting: Annotated[int, Field(ge=0, le=10_000)] = 16
    """Statements that may wait in the queue; more are refused."""
    sql_client_seconds: Annotated[float, Field(ge=0, le=3840)] = 30.0
    """Seconds per minute that statements of one client may run, for each worker process; 0: unlimited."""


@lru_cache(maxsize=4096)
def is_loopback(host: str) -> bool:
    """Return True for an address that only this machine reaches, or localhost."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


class BadSettings(LossLakeError):
    """A setting has an unknown name or an invalid value."""


Kind = TypeVar("Kind", bound=ServerSettings)


@dataclass(frozen=True)
class LoadedSettings(Generic[Kind]):
    """The settings with their sources."""

    settings: Kind
    sources: Mapping[str, Source]
    # The TOML file, if one was read.
    file: Path | None

    def source_of(self, name: str) -> str:
        """Return the source of a setting as text: default, file losslake.toml, environment or flag."""
        source = self.sources[name]
        return f"file {self.file}" if source == "file" else source


def load_settings(
    kind: type[Kind], file: str | Path | None = None, flags: Mapping[str, Any] | None = None
) -> LoadedSettings[Kind]:
    """Return the settings; flags override the environment, it overrides the file. Raise BadSettings.

    Args:
        kind: the settings of which server; variables of the environment begin with its prefix.
        file: a TOML file; default: that of the environment, such as $LOSSLAKE_CONFIG, else none.
        flags: values by setting; None if the flag is absent.
    """
    prefix = str(kind.model_config["env_prefix"])
    path = Path(named) if (named := file or os.environ.get(f"{prefix}CONFIG")) else None
    from_file = _read(path, kind) if path is not None else {}
    from_environment = EnvSettingsSource(kind)()
    from_flags = {name: value for name, value in (flags or {}).items() if value is not None}
    sources: dict[str, Source] = dict.fromkeys(kind.model_fields, "default")
    sources |= dict.fromkeys(from_file, "file")
    sources |= dict.fromkeys(from_environment, "environment")
    sources |= dict.fromkeys(from_flags, "flag")
    values = {**from_file, **from_environment, **from_flags}
    try:
        return LoadedSettings(kind.model_validate(values), sources, path)
    except ValidationError as error:
        raise BadSettings(_describe_error(error, sources, path, prefix)) from None


def unknown_variables() -> list[str]:
    """Return environment variables that look like settings but are unknown, with suggestions."""
    variables = {PREFIX + name.upper() for name in Settings.model_fields} | {CONFIG, f"{PREFIX}DEBUG", f"{PREFIX}TOKEN"}
    names = (name for name in sorted(os.environ) if name.upper().startswith(PREFIX))
    others = (name for name in names if not name.upper().startswith(CONTRIBUTIONS_PREFIX))
    return [f"{name}{_did_you_mean(name, variables)}" for name in others if name.upper() not in variables]


def as_toml(settings: Settings) -> str:
    """Return a TOML file of every setting with its description; defaults are commented out."""
    lines = ["# Settings for `losslake serve --config FILE`. Lines that begin with # are defaults.", ""]
    defaults = Settings.model_construct()
    for name, field in Settings.model_fields.items():
        value = getattr(settings, name)
        mark = "# " if value == getattr(defaults, name) else ""
        lines += [f"# {field.description}", f"{mark}{name} = {toml_value(value)}", ""]
    return "\n".join(lines)


def toml_value(value: object) -> str:
    """Return a value as TOML, which writes strings, numbers, booleans and lists as JSON does."""
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def _bracketed(host: str) -> str:
    """Return a host as in a URL: an IPv6 address has brackets."""
    return f"[{host}]" if ":" in host else host.lower()


def _read(path: Path, kind: type[ServerSettings]) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise BadSettings(
            f"{path}: {error.strerror}: give a settings file with --config or {kind.model_config['env_prefix']}CONFIG"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadSettings(f"{path} is not TOML: {error}") from None
    for name in values:
        if name not in kind.model_fields:
            hint = _did_you_mean(name, kind.model_fields)
            raise BadSettings(f"{path}: there is no setting '{name}'{hint}: see 'losslake config'")
    return values


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), 1)
    return f", did you mean {near[0]}?" if near else ""


def _describe_error(error: ValidationError, sources: Mapping[str, Source], path: Path | None, prefix: str) -> str:
    """Return the first validation error as one line: source, setting, value and reason."""
    fault = error.errors()[0]
    name = str(fault["loc"][0])
    source = sources.get(name, "default")
    setting = {
        "file": f"{path}: {name} = {fault['input']!r}",
        "environment": f"{prefix}{name.upper()}={fault['input']}",
        "flag": f"--{name.replace('_', '-')} {fault['input']}",
        "default": name,
    }[source]
    return f"{setting}: {reason_of(fault)}"
