"""What each extra of pyproject.toml declares and brings, and a Python that has only that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import packages_distributions, requires

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.repository.checkout import ROOT, project

# Argument 1 is what can't be imported, as if it weren't installed; code follows.
_WITHOUT = """
import json, sys
class Missing:
    missing = frozenset(json.loads(sys.argv.pop(1)))
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
"""


@cache
def declared(*extras: str) -> tuple[Requirement, ...]:
    """What is asked for by the base and the extras, with the extras that these contain."""
    names = project()["project"]
    lines = [*names["dependencies"], *(line for extra in extras for line in names["optional-dependencies"][extra])]
    found = [Requirement(line) for line in lines]
    contained = [extra for each in found if each.name == names["name"] for extra in sorted(each.extras)]
    others = (each for each in found if each.name != names["name"])
    return (*others, *(declared(*contained) if contained else ()))


def distributions(requirements: Iterable[Requirement]) -> set[str]:
    """Canonical names."""
    return {canonicalize_name(each.name) for each in requirements}


@cache
def modules() -> dict[str, frozenset[str]]:
    """Installed distributions by the top-level name of what is imported."""
    return {name: frozenset(map(canonicalize_name, found)) for name, found in packages_distributions().items()}


def brought(*extras: str) -> set[str]:
    """Distributions that an installation with the extras has, as far as this machine's markers ask for them."""
    return _with_required(declared(*extras))


def required(name: str) -> set[str]:
    """A distribution, and those that it requires."""
    return _with_required([Requirement(name)])


def _with_required(requirements: Iterable[Requirement]) -> set[str]:
    found: set[tuple[str, str]] = set()
    left = [*requirements]
    while left:
        each = left.pop()
        for extra in ("", *each.extras):
            if (key := (canonicalize_name(each.name), extra)) not in found:
                found.add(key)
                wanted = map(Requirement, requires(each.name) or ())
                left += [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": extra})]
    return {name for name, _ in found}


def run_with(extras: Sequence[str], code: str) -> subprocess.CompletedProcess[str]:
    """Run code in a Python that can import only what the extras bring."""
    has = brought(*extras)
    missing = [name for name, found in modules().items() if has.isdisjoint(found) and not name.startswith("losslake")]
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT + code, json.dumps(missing)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
