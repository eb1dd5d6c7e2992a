"""Contributors of trials: who they are, what they did, and which names, ORCID iDs and roles are valid."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from losslake_schema.names import LONGEST_NAME
from losslake_schema.package_files import read_toml

MOST_CONTRIBUTORS = 100  # of one trial
DATA_COLLECTION = "data collection"  # the default role
ORCID_URL = "https://orcid.org/"
_ORCID = re.compile(r"(\d{4})-(\d{4})-(\d{4})-(\d{3}[\dX])", re.ASCII)
_CONTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Role:
    """The role of a contributor. credit: the URL of the role in the CRediT taxonomy."""

    name: str
    description: str
    credit: str


@functools.cache
def roles() -> dict[str, Role]:
    """Return the roles by name, from `data/roles.toml`."""
    return {
        name: Role(name, **facts) for name, facts in read_toml("losslake_schema.data", "roles.toml")["roles"].items()
    }


@dataclass(frozen=True)
class Contributor:
    """Someone who contributed to trials, in one role. Raises ValueError with one line for anything invalid.

    name: of a person or organisation. orcid: as 0000-0002-1825-0097 or its URL; None if unknown. contribution: the
    identifier of the submission that the trials came with, if any.
    """

    name: str
    orcid: str | None = None
    role: str = DATA_COLLECTION
    contribution: str | None = None

    def __post_init__(self) -> None:
        """Normalize and check the fields."""
        name = unicodedata.normalize("NFC", self.name.strip())
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "orcid", self.orcid.strip().removeprefix(ORCID_URL) or None if self.orcid else None)
        object.__setattr__(self, "contribution", self.contribution or None)
        problem = _name_problem(name) or _orcid_problem(self.orcid) or _role_problem(self.role)
        if not problem and self.contribution is not None and not _CONTRIBUTION.fullmatch(self.contribution):
            problem = f"the contribution {_shown(self.contribution)} isn't an identifier of letters and digits"
        if problem:
            raise ValueError(problem)

    @property
    def order(self) -> tuple[str, str, str, str]:
        """The sort key: by name."""
        return self.name, self.orcid or "", self.role, self.contribution or ""


@dataclass(frozen=True)
class Person:
    """A contributor with all of their roles. orcid_url: None if they state no ORCID iD."""

    name: str
    orcid: str
    roles: tuple[str, ...]

    @property
    def orcid_url(self) -> str:
        """The address of their ORCID record; empty if they state none."""
        return f"{ORCID_URL}{self.orcid}" if self.orcid else ""


def persons(contributors: Iterable[tuple[str, str, str]]) -> list[Person]:
    """Return each contributor once, by name. contributors: name, ORCID iD (empty if unknown) and role.

    Contributors are identified by their ORCID iD, or by name without one. Of several names of one iD the first counts.
    """
    names: dict[str, tuple[str, str]] = {}
    known_roles: dict[str, set[str]] = {}
    for name, orcid, role in sorted(contributors):
        key = orcid or f"name:{name}"
        names.setdefault(key, (name, orcid))
        known_roles.setdefault(key, set()).add(role)
    return [Person(*names[key], tuple(sorted(known_roles[key]))) for key in names]


def checked_contributors(contributors: Iterable[Contributor]) -> tuple[Contributor, ...]:
    """Return the contributors in order, each once. Raises ValueError for more than MOST_CONTRIBUTORS."""
    unique: Sequence[Contributor] = sorted(set(contributors), key=lambda each: each.order)
    if len(unique) > MOST_CONTRIBUTORS:
        raise ValueError(f"there are {len(unique):,} contributors, and a trial has at most {MOST_CONTRIBUTORS}")
    return tuple(unique)


def checked_orcid(text: str) -> str:
    """Return an ORCID iD, given as such or as its URL; raise ValueError for anything else."""
    orcid = text.strip().removeprefix(ORCID_URL)
    if problem := _orcid_problem(orcid):
        raise ValueError(problem)
    return orcid


def checked_role(text: str) -> str:
    """Return a registered role; raise ValueError for anything else."""
    if problem := _role_problem(text):
        raise ValueError(problem)
    return text


def orcid_check_digit(digits: str) -> str:
    """Return the last character of an ORCID iD, from the 15 digits before it (ISO 7064 MOD 11-2).

    Source: https://support.orcid.org/hc/en-us/articles/360006897674
    """
    total = 0
    for digit in digits:
        total = (total + int(digit)) * 2
    remainder = (12 - total % 11) % 11
    return "X" if remainder == 10 else str(remainder)


def _name_problem(name: str) -> str | None:
    if not any(letter.isalpha() for letter in name):
        return f"the contributor's name {_shown(name)} has no letter: give the name of a person or an organisation"
    if len(name) > LONGEST_NAME:
        return f"the contributor's name {_shown(name)} is longer than {LONGEST_NAME} characters"
    return None if name.isprintable() else f"the contributor's name {_shown(name)} has characters that can't be printed"


def _orcid_problem(orcid: str | None) -> str | None:
    if orcid is None:
        return None
    match = _ORCID.fullmatch(orcid)
    if match is None:
        return f"the ORCID iD {_shown(orcid)} isn't like 0000-0002-1825-0097"
    digits = "".join(match.groups())
    if orcid_check_digit(digits[:-1]) != digits[-1]:
        return f"the ORCID iD {orcid} is mistyped: its last character doesn't fit the others"
    return None


def _role_problem(role: str) -> str | None:
    return None if role in roles() else f"there is no role {_shown(role)}: give one of {', '.join(roles())}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= 60 else f"{text[:60]}…")
