"""The help is complete, and there at once."""

from __future__ import annotations

import inspect

import pytest
import typer.main

from losslake.__main__ import app

COMMANDS = typer.main.get_group(app).commands


def test_the_promised_commands_are_there() -> None:
    assert list(COMMANDS) == ["init", "ingest", "releases", "ledger", "steps", "sql", "serve", "verify", "export"]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_and_option_says_what_it_does(name: str) -> None:
    command = COMMANDS[name]
    assert inspect.cleandoc(command.help or "").endswith((".", ")"))
    for parameter in command.params:
        if parameter.name != "help":
            assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_takes_a_lake(name: str) -> None:
    assert any("--lake" in parameter.opts for parameter in COMMANDS[name].params)
