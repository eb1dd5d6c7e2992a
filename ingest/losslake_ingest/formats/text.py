"""Logs of free text, such as a training loop prints: lines matched by the expressions of the mapping's `[text]`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace

from losslake_ingest.contracts.report import Quarantined
from losslake_ingest.contracts.rules import Rule
from losslake_ingest.contracts.run_log import RunLog
from losslake_ingest.formats.format import BundledFormat, Glimpse, read_files
from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.readers.tables.table import TableFile
from losslake_ingest.readers.text_logs.lines import falls, read_text
from losslake_ingest.readers.text_logs.proposal import how_to_read_apart, is_text, proposed_line
from losslake_ingest.readers.text_logs.ranks import check_ranks
from losslake_ingest.sources.member import Member, Source

_NAME = re.compile(r"(?:.*\.)?(?:log|txt|out|err|stdout|stderr|[^.]*log[^.]*)(?:\.[0-9]{1,14})?|[^.]+", re.IGNORECASE)


class Text(BundledFormat):
    """The format of text logs: one run per file."""

    name = "text"

    def detect(self, file: Glimpse) -> float:
        """Recognize a text file by its name; what its lines are, only the mapping knows."""
        return 0.25 if _is_wanted(file.path) and is_text(file.start) else 0.0

    def read(self, source: Source, mapping: LogMapping) -> Iterator[RunLog | Quarantined]:
        """Yield one run per file, or per line that starts one; a file in which no line matches is quarantined."""
        axes = frozenset(axis.column for axis in mapping.axis)

        def runs(member: Member) -> Iterator[RunLog | Quarantined]:
            check_ranks(member.data, mapping.text)
            text_runs = read_text(member.data, mapping.text, axes, mapping.time.elapsed_s)
            file = TableFile(source.name, member.path, hashlib.sha256(member.data).hexdigest())
            for number, each in enumerate(text_runs, 1):
                run = f"{member.path}#{number}" if mapping.text.starts else member.path
                why = each.refusal
                if why is not None:
                    yield replace(file.quarantined(why.rule, why.message, why.line), path=run, missing=why.missing)
                    continue
                apart = how_to_read_apart(member.data) if not mapping.text.starts and falls(each, axes) else ""
                yield RunLog(run, {file.path: file.sha256}, each.rows, each.fields, remarks=each.remarks, apart=apart)
            if not text_runs:
                message = f"no line matches an expression of [text] lines: {proposed_line(member.data)}"
                yield file.quarantined(Rule.NO_MEASUREMENTS, message)

        return read_files(source, _is_wanted, runs, once=True)


def _is_wanted(path: str) -> bool:
    return _NAME.fullmatch(path.rpartition("/")[2]) is not None


FORMAT = Text()
