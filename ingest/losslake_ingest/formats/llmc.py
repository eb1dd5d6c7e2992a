"""Logs of llm.c: lines `s:STEP key:value …`, train and validation losses on separate lines.

Source: karpathy/llm.c, llmc/logger.h. A resumed run appends, so steps can repeat: the last line is used.
"""

from __future__ import annotations

import hashlib
import re
from array import array
from collections.abc import Iterator

import numpy as np

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import Damage, LoggedRows, RunLog, check_size
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.sources.member import Member, Source
from losslake_schema.names import real_number

STEP = "s"
MOST_KEYS = 100
_ENDINGS = (".log", ".txt")
_LINE = re.compile(rb"^s:([0-9]{1,18})((?: [A-Za-z_][\w/.-]{0,40}:\S{1,320}){1,20})[ \t]*\r?$", re.MULTILINE)
_STEP_LINE = re.compile(rb"^s:", re.MULTILINE)
_PAIR = re.compile(rb"([A-Za-z_][\w/.-]{0,40}):(\S+)")
_FIRST = re.compile(rb"(?:[^\n]{0,400}\n){0,3}s:[0-9]+ (tel|trl|eval):")


class LlmC(BundledFormat):
    """The format of llm.c: one run per file."""

    name = "llmc"

    def detect(self, file: Glimpse) -> float:
        """Recognize a log by the step line among its first four lines."""
        return 0.9 if file.name.endswith(_ENDINGS) and _FIRST.match(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file with such lines."""

        def runs(member: Member) -> Iterator[RunLog | Quarantined]:
            if _LINE.search(member.data):
                yield _run(member, source.name)

        return read_files(source, lambda path: path.endswith(_ENDINGS), runs)


def _run(member: Member, source: str) -> RunLog | Quarantined:
    """Return the run of a log. Raises Refusal."""
    sha256 = hashlib.sha256(member.data).hexdigest()
    whole = member.data[: member.data.rfind(b"\n") + 1]
    steps: dict[bytes, array[float]] = {}
    values: dict[bytes, array[float]] = {}
    n_lines = n_bad = n_values = 0
    for line in _LINE.finditer(whole):
        n_lines += 1
        step = float(line[1])
        for key, text in _PAIR.findall(line[2]):
            value = real_number(text)
            if value is None:
                n_bad += 1
                continue
            if key not in steps:
                if len(steps) == MOST_KEYS:
                    message = f"its lines have more than {MOST_KEYS} different keys: this isn't a log of llm.c"
                    return Quarantined(source, member.path, Rule.UNREADABLE_LOG, message, sha256=sha256)
                steps[key], values[key] = array("d"), array("d")
            steps[key].append(step)
            values[key].append(value)
            n_values += 1
        check_size(max(n_lines, n_values // 4), 4)
    n_damaged = len(_STEP_LINE.findall(whole)) - n_lines
    remarks = {
        "line that isn't 's:STEP key:value': skipped": whole.count(b"\n") - n_lines - n_damaged,
        Damage("line with a step that can't be read: skipped"): n_damaged,
        Damage("the last line is cut short: left out"): len(whole) < len(member.data),
        Damage("value that isn't a number: left out"): n_bad,
    }
    rows = [LoggedRows({STEP: np.frombuffer(steps[key]), key.decode(): np.frombuffer(values[key])}) for key in steps]
    return RunLog(member.path, {member.path: sha256}, rows, remarks={what: n for what, n in remarks.items() if n})


FORMAT = LlmC()
