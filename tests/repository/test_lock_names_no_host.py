import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.repository.checkout import ROOT, project, tracked_files
from tests.repository.extras import declared

LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-uv.lock")
CLIENT_LOCK = "tests/clients/httpfs.lock"
PIN = re.compile(r"(?P<name>[a-z0-9][a-z0-9._-]*)==(?P<version>\S+)(?: ; (?P<marker>[^\\]+))?")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")
# In pieces, so that this file doesn't name them either.
INDEX_HOSTS = tuple(".".join(pieces) for pieces in (("py" + "pi", "org"), ("python" + "hosted", "org")))
RESOLVED_ELSEWHERE = re.compile(r"://|@ |--(?:extra-)?index-url|--find-links|--trusted-host|(?<![\w#])/\w+/|^-[a-z] ")


@dataclass(frozen=True)
class Locked:
    """One requirement of a lock file: its pin and what follows on the continued lines."""

    pin: str
    hashes: list[str]

    @property
    def name(self) -> str:
        return canonicalize_name(self.pin.partition("==")[0])

    @property
    def version(self) -> Version:
        return Version(self.pin.partition("==")[2].partition(" ")[0])


def locked(text: str) -> Iterator[Locked]:
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for logical in "\n".join(lines).replace("\\\n", "\0").splitlines():
        if logical.strip():
            pin, *hashes = (part.strip() for part in logical.split("\0"))
            yield Locked(pin, hashes)


def faults(text: str) -> list[str]:
    """Lines of a lock that pin nothing exactly, lack a well-formed hash, or say where a package comes from."""
    unpinned = [entry.pin for entry in locked(text) if not PIN.fullmatch(entry.pin)]
    unhashed = [entry.pin for entry in locked(text) if not entry.hashes or not all(map(HASH.fullmatch, entry.hashes))]
    elsewhere = [line for line in text.splitlines() if RESOLVED_ELSEWHERE.search(line)]
    return unpinned + unhashed + elsewhere


def versions(lock: str) -> dict[str, Version]:
    return {entry.name: entry.version for entry in locked((ROOT / lock).read_text())}


def requirements_by_lock() -> dict[str, list[Requirement]]:
    """Requirements of pyproject.toml by the lock file that has to satisfy them."""
    groups = {name: [Requirement(line) for line in lines] for name, lines in project()["dependency-groups"].items()}
    build = [*map(Requirement, project()["build-system"]["requires"]), *groups["build"]]
    return {
        "requirements.lock": [*build, *declared("all")],
        "requirements-dev.lock": [*build, *declared("dev")],
        "requirements-uv.lock": groups["installer"],
    }


@pytest.mark.parametrize("lock", [*LOCKS, CLIENT_LOCK])
def test_every_requirement_is_pinned_and_hashed_and_names_no_index(lock: str) -> None:
    assert faults((ROOT / lock).read_text()) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_of_the_project_is_locked_at_a_version_that_it_accepts(lock: str) -> None:
    found = versions(lock)
    unsatisfied = [
        str(requirement)
        for requirement in requirements_by_lock()[lock]
        if (version := found.get(canonicalize_name(requirement.name))) is None or version not in requirement.specifier
    ]
    assert unsatisfied == []


def test_developers_run_the_versions_that_users_run() -> None:
    assert versions("requirements.lock").items() <= versions("requirements-dev.lock").items()


def test_wheels_of_every_platform_are_hashed() -> None:
    compiled = {"duckdb", "numpy", "pyarrow", "orjson", "uvloop"}
    entries = {entry.name: entry.hashes for entry in locked((ROOT / "requirements.lock").read_text())}
    # Three Pythons on Linux and macOS, both for two processors, are twelve wheels.
    assert {name: len(entries[name]) for name in compiled if len(entries[name]) < 12} == {}


def test_no_file_names_the_host_of_a_package_index() -> None:
    naming = [
        str(path.relative_to(ROOT))
        for path in tracked_files()
        if any(host.encode() in path.read_bytes() for host in INDEX_HOSTS)
    ]
    assert naming == []


@pytest.mark.parametrize(
    "line",
    [
        "duckdb==2.0.0",
        "duckdb>=2 \\\n    --hash=sha256:" + "0" * 64,
        "duckdb==2.0.0 \\\n    --hash=sha256:abc",
        "duckdb==2.0.0 \\\n    --hash=md5:" + "0" * 64,
        "--index-url " + "https://index.example/simple",
        "duckdb @ " + "file:///home/someone/duckdb.whl",
        "-f wheels",
        "# found in /home/someone/wheels",
    ],
)
def test_unpinned_line_is_reported(line: str) -> None:
    assert faults(line + "\n")
