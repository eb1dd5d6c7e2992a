"""Rules about texts: nothing private is left in them, and no word of a study's name mixes letters that look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from losslake_contributions.client.prepared_run import prepared
from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import Finding, finding
from losslake_schema.tables import STUDY_KEYS

_LATIN = "LATIN"
_ALIKE = {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK", "LISU"}
_WORD = re.compile(r"[^\W\d_]+")


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about texts."""
    yield from _private_data(evidence)
    yield from _mixed_scripts(evidence)


def _private_data(evidence: Evidence) -> Iterator[Finding]:
    """Yield what would be removed from the runs as they were sent."""
    for run, spool in evidence.spools.items():
        for removal in prepared(spool).removals:
            message = f"{removal.kind}: send the run by 'losslake push', which removes it"
            yield finding("private_data", run, removal.where, message)


def _mixed_scripts(evidence: Evidence) -> Iterator[Finding]:
    """Yield words of names whose letters look like others."""
    for run, spool in evidence.spools.items():
        for name in STUDY_KEYS[:4]:
            for word in _WORD.findall(str(spool.facts.get(name, ""))):
                scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
                if _LATIN in scripts and (others := scripts & _ALIKE):
                    message = f"'{word}' has {' and '.join(sorted(others))} letters: is it the name that it looks like?"
                    yield finding("mixed_scripts", run, name, message)
