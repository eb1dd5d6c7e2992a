"""A rule about licences: those under which data may be published again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from losslake.record.layout import RUN
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_ingest.readers.recorded.folder import Spool
from losslake_schema.package_files import read_toml

_LEAST_LETTERS = 3


def licences() -> Mapping[str, str]:
    """Return the titles of licences of open data, by their identifiers in the list of SPDX."""
    titles: Mapping[str, str] = read_toml("losslake_contributions.review.data", "licences.toml")["licences"]
    return titles


def identifier(text: str) -> str | None:
    """Return the identifier of a licence that is written in any case; None if it isn't in the list."""
    return next((spdx for spdx in licences() if spdx.lower() == text.strip().lower()), None)


def nearest(text: str) -> str | None:
    """Return the identifier that a text means, as CC-BY-4.0 for "CC BY 4.0"; None if it means none or several.

    What is merely alike isn't proposed: CC-BY-NC-4.0 is another licence than CC-BY-4.0.
    """
    letters = _letters(text)
    if len(letters) < _LEAST_LETTERS:
        return None
    names = {spdx: (_letters(spdx), _letters(title)) for spdx, title in licences().items()}
    equal = [spdx for spdx, spellings in names.items() if letters in spellings]
    begun = [spdx for spdx, (spelling, _) in names.items() if spelling.startswith(letters)]
    return next((matches[0] for matches in (equal, begun) if len(matches) == 1), None)


def _letters(text: str) -> str:
    """Return letters and digits only, without what people leave out: the word licence, and .0 of a version."""
    return re.sub(r"licen[cs]e|\.0\b|[^a-z0-9]", "", text.lower())


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about licences."""
    if evidence.licence and identifier(evidence.licence) is None:
        yield finding("licence", "", "licence", _proposal(evidence.licence, "as --licence"))
    for name, spool in evidence.spools.items():
        stated = spool.licence or evidence.licence
        licence = identifier(stated)
        if not stated:
            yield finding("licence", name, "licence", f"none is stated: give --licence, one of {', '.join(licences())}")
        elif licence is None and spool.licence:
            yield finding("licence", name, "licence", _proposal(stated, _place(spool)))
        elif licence is not None and evidence.licence and licence != identifier(evidence.licence):
            message = f"the run says {stated}, and the submission {evidence.licence}: submit it by itself"
            yield finding("licence", name, "licence", message)


def _proposal(text: str, where: str) -> str:
    """Return what is wrong with a licence, and what to write instead. where: it is to be corrected."""
    proposed = nearest(text)
    what = f"write {proposed} {where}" if proposed else f"write {where} one of {', '.join(licences())}"
    return f"{text!r} isn't the SPDX identifier of a listed licence: {what}"


def _place(spool: Spool) -> str:
    """Return where the licence of a run is corrected."""
    return "as licence under [collection] of its mapping" if spool.origin_files else f"in its {RUN}"
