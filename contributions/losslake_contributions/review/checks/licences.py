"""A rule about licences: those under which data may be published again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_schema.package_files import read_toml


def licences() -> Mapping[str, str]:
    """Return the titles of licences of open data, by their identifiers in the list of SPDX."""
    titles: Mapping[str, str] = read_toml("losslake_contributions.review.data", "licences.toml")["licences"]
    return titles


def identifier(text: str) -> str | None:
    """Return the identifier of a licence that is written in any case; None if it isn't in the list."""
    return next((spdx for spdx in licences() if spdx.lower() == text.strip().lower()), None)


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about licences."""
    listed = ", ".join(licences())
    if evidence.licence and identifier(evidence.licence) is None:
        yield finding("licence", "", "licence", f"{evidence.licence!r} isn't in the list: give one of {listed}")
    for name, spool in evidence.spools.items():
        stated = spool.licence or evidence.licence
        licence = identifier(stated)
        if not stated:
            yield finding("licence", name, "licence", f"none is stated: give one of {listed}")
        elif licence is None and spool.licence:
            yield finding("licence", name, "licence", f"{stated!r} isn't in the list: give one of {listed}")
        elif licence is not None and evidence.licence and licence != identifier(evidence.licence):
            message = f"the run says {stated}, and the submission {evidence.licence}: submit it by itself"
            yield finding("licence", name, "licence", message)
