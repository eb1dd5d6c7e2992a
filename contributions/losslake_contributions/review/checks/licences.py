"""A rule about licences: those under which data may be published again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import ERROR, Finding, Rule

LICENCE = Rule("licence", ERROR, "the licence is one of the list, and that of the run is that of the submission")
RULES = (LICENCE,)


@dataclass(frozen=True)
class Licence:
    """A licence of open data. spdx: its identifier in the list of SPDX. title: in words."""

    spdx: str
    title: str


@cache
def licences() -> dict[str, Licence]:
    """Return the licences of the list, by identifier."""
    text = resources.files("losslake_contributions.review.data").joinpath("licences.toml").read_text("utf-8")
    return {spdx: Licence(spdx, title) for spdx, title in tomllib.loads(text)["licences"].items()}


def licence_named(text: str) -> Licence | None:
    """Return the licence of an identifier, in any case; None if it isn't in the list."""
    return next((each for spdx, each in licences().items() if spdx.lower() == text.strip().lower()), None)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about licences."""
    listed = ", ".join(licences())
    if evidence.licence and licence_named(evidence.licence) is None:
        yield LICENCE.finding("", "licence", f"{evidence.licence!r} isn't in the list: give one of {listed}")
    for name, spool in evidence.spools.items():
        stated = spool.licence or evidence.licence
        licence = licence_named(stated)
        if not stated:
            yield LICENCE.finding(name, "licence", f"none is stated: give one of {listed}")
        elif licence is None and spool.licence:
            yield LICENCE.finding(name, "licence", f"{stated!r} isn't in the list: give one of {listed}")
        elif licence is not None and evidence.licence and licence != licence_named(evidence.licence):
            yield LICENCE.finding(
                name, "licence", f"the run says {stated}, and the submission {evidence.licence}: submit it by itself"
            )
