"""Reading every table of a source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator

from losslake_ingest.mapping.mapping import LogMapping
from losslake_ingest.report import Quarantined
from losslake_ingest.rules import Rule
from losslake_ingest.run_log import RunLog
from losslake_ingest.sources.member import Refused, Source, plain
from losslake_ingest.tables.runs import TableFile, runs_of
from losslake_ingest.tables.table import BadTable, Table

Parse = Callable[[str, bytes, str | None], Table | None]


def read_tables(
    source: Source, endings: tuple[str, ...], parse: Parse, mapping: LogMapping
) -> Iterator[RunLog | Quarantined]:
    """The runs of every file with such an ending, as they come; parse returns None for a file that is no table.

    Side files and lookup tables of the mapping are not logs.
    """
    sides = set(mapping.side_files)
    lookups = {plain(lookup.file) for lookup in mapping.lookups}
    seen: set[str] = set()

    def is_wanted(path: str) -> bool:
        name = path.rpartition("/")[2]
        return name.lower().endswith(endings) and name not in sides and path not in lookups

    for member in source.members(is_wanted):
        if isinstance(member, Refused):
            yield Quarantined(source.name, member.path, member.rule, member.message)
            continue
        file = TableFile(source.name, member.path, hashlib.sha256(member.data).hexdigest())
        if member.path in seen:
            yield file.quarantined(Rule.DUPLICATE_FILE, "the archive holds it twice: the first one counts")
            continue
        seen.add(member.path)
        try:
            table = parse(member.path, member.data, mapping.run_column or None)
        except BadTable as fault:
            yield file.quarantined(fault.rule, fault.message, fault.line)
            continue
        if table is not None:
            yield from runs_of(table, file, mapping.run_column or None)
