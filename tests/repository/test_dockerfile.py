import ast
import re
import shlex
import sys

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


def test_the_image_runs_as_a_user_of_its_own_that_owns_the_lake_and_the_cache() -> None:
    final = [name for name, _ in stages()[-1]]
    user = last("USER")
    assert user not in {"root", "0"}
    creation = " ".join(arguments for name, arguments in stages()[-1] if name == "RUN")
    assert "useradd --system --uid 10001" in creation
    assert f"--owner={user} --group={user} /lake /cache /secrets" in creation
    assert last("VOLUME") == "/lake /cache"
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
    folders = {folder.partition("/")[0] for folder in INSTALLED.values()}
    wheel = project()["tool"]["hatch"]["build"]["targets"]["wheel"]
    documents = set(wheel["force-include"])
    assert (
        copied == {*folders, *documents, "LICENSE", "README.md", "pyproject.toml", "requirements.lock"} == let_through
    )
    assert set(wheel["packages"]) == set(INSTALLED.values())


def test_the_image_asks_for_its_health_with_pythons_own_library() -> None:
    program, flag, code = exec_form(last("HEALTHCHECK").partition("CMD ")[2])
    assert (program, flag) == ("python", "-c")
    assert "http://127.0.0.1:8000/readyz" in code
    modules = {alias.name for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Import) for alias in node.names}
    assert {name.partition(".")[0] for name in modules} <= sys.stdlib_module_names


def test_the_image_starts_losslake_where_other_containers_can_reach_it() -> None:
    assert exec_form(last("ENTRYPOINT")) == list(project()["project"]["scripts"])
    assert exec_form(last("CMD")) == ["serve", "--host", "0.0.0.0"]
