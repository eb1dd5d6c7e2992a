"""A rule about names: no word of a study's name mixes letters that look alike."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from losslake_contributions.review.checks.evidence import Evidence
from losslake_contributions.review.checks.rules import WARNING, Finding, Rule

MIXED = Rule(
    "mixed_scripts", WARNING, "no word of the study's name has Latin letters beside others that look like them"
)
RULES = (MIXED,)

_NAMES = ("collection", "dataset", "model", "optimizer")
_LATIN = "LATIN"
_ALIKE = {"ARMENIAN", "CHEROKEE", "COPTIC", "CYRILLIC", "GREEK", "LISU"}
_WORD = re.compile(r"[^\W\d_]+")


def check(evidence: Evidence) -> Iterator[Finding]:
    """Yield the findings about names."""
    for run, spool in evidence.spools.items():
        for name in _NAMES:
            for word in _WORD.findall(str(spool.facts.get(name, ""))):
                scripts = {unicodedata.name(letter, "").partition(" ")[0] for letter in word}
                if _LATIN in scripts and (others := scripts & _ALIKE):
                    message = f"'{word}' has {' and '.join(sorted(others))} letters: is it the name that it looks like?"
                    yield MIXED.finding(run, name, message)
