"""The help is complete and fast."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest
import typer.main

from losslake_cli.main import app

COMMANDS = typer.main.get_group(app).commands
# Those of groups as well, as `tokens create`.
EVERY = {
    f"{name} {inner}".strip(): command
    for name, outer in COMMANDS.items()
    for inner, command in {"": outer, **getattr(outer, "commands", {})}.items()
}
GROUPS = ("tokens", "review", "submissions")
WITHOUT_LAKE = (
    "formats", "map", "config", "download", "bundle", "analyze", "push", "live", "notify", *GROUPS,
    "submissions list", "submissions show", "submissions withdraw",
)  # fmt: skip


def parameters_of(name: str) -> list[Any]:
    """Return the parameters of a command, derived ones included."""
    command = EVERY[name]
    return list(command.get_params(command.make_context(name, [], resilient_parsing=True)))


def test_the_documented_commands_exist() -> None:
    assert list(COMMANDS) == [
        "init",
        "ingest",
        "fetch",
        "formats",
        "map",
        "releases",
        "ledger",
        "workloads",
        "steps",
        "results",
        "cite",
        "report",
        "sql",
        "serve",
        "mcp",
        "config",
        "verify",
        "export",
        "download",
        "reproduce",
        "maintain",
        "withdraw",
        "erase",
        "bundle",
        "check",
        "push",
        "live",
        "notify",
        "serve-contributions",
        "audit",
        "analyze",
        *GROUPS,
    ]


@pytest.mark.parametrize("name", EVERY)
def test_every_command_and_option_has_help(name: str) -> None:
    command = EVERY[name]
    assert inspect.cleandoc(command.help or "").endswith((".", ")"))
    for parameter in parameters_of(name):
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", [name for name in EVERY if name not in WITHOUT_LAKE])
def test_every_command_that_needs_a_lake_has_the_option(name: str) -> None:
    assert any("--lake" in parameter.opts for parameter in parameters_of(name))


@pytest.mark.parametrize("name", EVERY)
def test_the_short_help_of_every_command_is_not_cut(name: str) -> None:
    assert not EVERY[name].get_short_help_str(limit=60).endswith("...")


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys, losslake_cli.main\n"
        "print([name for name in ('duckdb', 'pyarrow', 'numpy', 'pyiceberg', 'sqlalchemy', 'fastapi', 'prompt_toolkit')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_prints_the_version() -> None:
    done = subprocess.run([sys.executable, "-m", "losslake", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("losslake 0.")
