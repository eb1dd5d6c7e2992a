import ast
import os
import re
import shlex
import subprocess
import sys
from typing import Any

import pytest
import yaml

from service.settings import Settings
from tests.repository.checkout import INSTALLED, ROOT, project

Instruction = tuple[str, str]


def stages() -> list[list[Instruction]]:
    """The Dockerfile's stages, each from its FROM on, as (instruction, arguments)."""
    lines = [line for line in (ROOT / "Dockerfile").read_text().splitlines() if not line.startswith("#")]
    found: list[list[Instruction]] = []
    for logical in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if logical.strip():
            word, _, arguments = logical.strip().partition(" ")
            if word == "FROM":
                found.append([])
            found[-1].append((word, arguments.strip()))
    return found


def last(word: str) -> str:
    """The arguments that the image ends up with; fails where its stage has no such instruction."""
    return [arguments for name, arguments in stages()[-1] if name == word][-1]


def exec_form(arguments: str) -> list[str]:
    parsed = ast.literal_eval(arguments)
    assert isinstance(parsed, list)
    return parsed


def services() -> dict[str, Any]:
    found = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]
    assert isinstance(found, dict)
    return found


def help_of(command: str) -> str:
    environment = {**os.environ, "COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    shown = subprocess.run(
        [sys.executable, "-m", "losslake", command, "--help"],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    return shown.stdout


def commands() -> list[list[str]]:
    """Every losslake command that a container is started with."""
    return [exec_form(last("CMD")), *(service["command"] for service in services().values())]


def test_the_image_runs_as_a_user_of_its_own_that_owns_the_lake() -> None:
    final = [name for name, _ in stages()[-1]]
    user = last("USER")
    assert user not in {"root", "0"}
    creation = " ".join(arguments for name, arguments in stages()[-1] if name == "RUN")
    assert "useradd --system --uid 10001" in creation
    assert f"--owner={user} --group={user} /lake" in creation
    assert last("VOLUME") == "/lake"
    # What comes before VOLUME is what a new volume starts with.
    assert final.index("RUN") < final.index("USER") < final.index("VOLUME")


def test_the_image_holds_locked_dependencies_and_no_build_tools_of_its_own() -> None:
    installs = [step for stage in stages() for name, step in stage if name == "RUN" and "pip install" in step]
    assert [step.partition("pip install ")[2] for step in installs] == [
        "--require-hashes -r requirements.lock",
        "--no-deps --no-build-isolation .",
    ]
    assert all(re.fullmatch(r"python:\d\.\d+-slim( AS build)?", stage[0][1]) for stage in stages())


def test_every_package_of_the_wheel_is_copied_into_the_build_and_let_through_by_dockerignore() -> None:
    copied = {
        source.rstrip("/")
        for name, arguments in stages()[0]
        if name == "COPY"
        for source in shlex.split(arguments)[:-1]
    }
    let_through = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    assert copied == {*INSTALLED, "LICENSE", "README.md", "pyproject.toml", "requirements.lock"} == let_through
    assert set(project()["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]) == set(INSTALLED)


def test_image_and_compose_ask_the_same_health_question_with_pythons_own_library() -> None:
    image = exec_form(last("HEALTHCHECK").partition("CMD ")[2])
    program, flag, code = image
    assert (program, flag) == ("python", "-c")
    assert "http://127.0.0.1:8000/readyz" in code
    modules = {alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names}
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names
    assert services()["losslake"]["healthcheck"]["test"] == ["CMD", *image]


def test_the_image_starts_losslake_where_other_containers_can_reach_it() -> None:
    assert exec_form(last("ENTRYPOINT")) == list(project()["project"]["scripts"])
    assert exec_form(last("CMD")) == ["serve", "--host", "0.0.0.0"]


@pytest.mark.parametrize("name", ["losslake", "ingest"])
def test_a_container_can_write_its_lake_and_nothing_else(name: str) -> None:
    service = services()[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["tmpfs"] == ["/tmp"]
    assert [volume for volume in service["volumes"] if not volume.endswith(":ro")] == ["lake:/lake"]


def test_compose_serves_to_this_machine_only_and_ingests_only_when_asked() -> None:
    assert services()["losslake"]["ports"] == ["127.0.0.1:8000:8000"]
    assert [name for name, service in services().items() if "profiles" not in service] == ["losslake"]
    assert "ports" not in services()["ingest"]


def test_compose_hands_on_settings_that_there_are_and_waits_for_a_graceful_end() -> None:
    service = services()["losslake"]
    fields = Settings.model_fields
    assert {name.removeprefix("LOSSLAKE_").lower() for name in service["environment"]} <= set(fields)
    assert int(service["stop_grace_period"].rstrip("s")) > fields["shutdown_seconds"].default


def test_compose_builds_the_version_of_the_project() -> None:
    assert {service["image"] for service in services().values()} == {f"losslake:{project()['project']['version']}"}


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_the_command_line_knows_every_command_and_flag_that_a_container_starts(command: list[str]) -> None:
    shown = help_of(command[0])
    assert [word for word in command if word.startswith("--") and word not in shown] == []
