"""One statement on an open release: admitted, run, and its result spooled; what goes wrong is a SqlProblem."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from losslake.lake.store.bucket_store import RangeReader
from losslake_service.sandbox import errors
from losslake_service.sandbox.admission import Tables, tables_of
from losslake_service.sandbox.confinement import MEGABYTE
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, too_large, too_slow
from losslake_service.sandbox.spool import NotTabular, Spooled, spool
from losslake_service.sandbox.stored_data import AsksForFiles

if TYPE_CHECKING:
    from losslake.lake.store.bucket_store import StoredFiles

Admission = Callable[[duckdb.DuckDBPyConnection, str, Tables], duckdb.Statement]
Parameters = list[Any] | dict[str, Any] | None

_SHARE_OF_DUCKDB = 0.6
_ROWS_PER_BATCH = 4096
_LONGEST_DETAIL = 1000
_WARM_UP = "SELECT ?, ?, ?, ?, ?, ?, ?, ?, 'b'::ENUM('b') AS b, timestamptz '2020-01-01' AS c, uuid() AS d"
_PREPARE = "PREPARE found AS "
_SETTINGS = (
    "SET GLOBAL allow_persistent_secrets = false",
    "SET GLOBAL allow_community_extensions = false",
    "SET GLOBAL TimeZone = 'UTC'",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL lock_configuration = true",
)


STORED_FILES = "losslake://warehouse/"
"""Below which DuckDB names the data files of a release in a bucket."""


class Suspect(Exception):
    """The worker may have been harmed by a statement; `problem` is the answer to it."""

    def __init__(self, problem: SqlProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class OpenRelease:
    """A release that statements are run on, each on a connection of its own."""

    def __init__(
        self, limits: SqlLimits, serving_file: Path, data_files: Path | AsksForFiles, admit: Admission
    ) -> None:
        """data_files: the folder that holds the release's Parquet files, or who gives ranges of them."""
        self._limits = limits
        self._admit = admit
        self._asks = data_files if isinstance(data_files, AsksForFiles) else None
        self._hidden = _places(serving_file, data_files)
        self._connection = duckdb.connect(
            str(serving_file),
            read_only=True,
            config={
                "threads": limits.threads,
                "async_threads": 1,
                "memory_limit": f"{int(limits.memory_mb * _SHARE_OF_DUCKDB)}MB",
                "temp_directory": "",
                "secret_directory": "",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
                "python_enable_replacements": False,
                "errors_as_json": True,
            },
        )
        if isinstance(data_files, AsksForFiles):
            self._connection.register_filesystem(_file_system(data_files))
        readable = STORED_FILES if isinstance(data_files, AsksForFiles) else str(data_files)
        quoted = readable.replace("'", "''")
        self._connection.execute(f"SET GLOBAL allowed_directories = ['{quoted}']")
        self._connection.execute(f"SET GLOBAL max_execution_time = {int(limits.seconds * 1000)}")
        for setting in _SETTINGS:
            self._connection.execute(setting)
        self._tables = tables_of(self._connection)

    def run(self, text: str, parameters: Parameters, file: int, most_rows: int) -> Spooled:
        """Run a statement and write the first rows of its result to an open file; raises SqlProblem and Suspect."""
        # A connection of its own: variables, temporary tables and the seed of random numbers end with it.
        cursor = self._connection.cursor()
        try:
            statement = self._admit(cursor, text, self._tables)
            relation = cursor.sql(statement, params=_bound(statement, parameters))
            if relation is None:
                raise SqlProblem(errors.NOT_ALLOWED, "the statement has no result")
            reader = relation.to_arrow_reader(_ROWS_PER_BATCH)
            return spool(reader, file, min(most_rows, self._limits.result_rows), self._limits.result_mb * MEGABYTE)
        except NotTabular as error:
            raise SqlProblem(errors.ERROR, str(error)) from None
        except duckdb.InterruptException:
            raise Suspect(too_slow(self._limits)) from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise Suspect(too_large(self._limits)) from None
        except (duckdb.InternalException, duckdb.FatalException, RecursionError):
            raise Suspect(SqlProblem(errors.ERROR, "DuckDB failed on this statement: put it in another way")) from None
        except (duckdb.IOException, OSError) as error:
            raise Suspect(SqlProblem(errors.UNAVAILABLE, str(error)[:_LONGEST_DETAIL])) from None
        except (duckdb.Error, RuntimeError, ValueError, TypeError, OverflowError) as error:
            if self._asks is not None and self._asks.has_failed:
                raise Suspect(SqlProblem(errors.UNAVAILABLE, str(error)[:_LONGEST_DETAIL])) from None
            raise self._explained(error, cursor, text) from None
        finally:
            cursor.close()

    def _explained(self, error: Exception, cursor: duckdb.DuckDBPyConnection, text: str) -> SqlProblem:
        """DuckDB's error as one line, without what it knows of this machine."""
        message, position = _parts(str(error))
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            message, position = _located(cursor, text) or (message, position)
        if re.search(r"bad_alloc|allocat\w+ fail|out of memory", message, re.IGNORECASE):
            raise Suspect(too_large(self._limits))
        detail = " ".join(message.partition("Stack Trace")[0].split())
        for path in reversed(self._hidden):
            detail = detail.replace(path, "…")
        kind = errors.NOT_ALLOWED if isinstance(error, duckdb.PermissionException) else errors.ERROR
        if position is None:
            return SqlProblem(kind, detail[:_LONGEST_DETAIL])
        before = text.encode()[:position].decode(errors="ignore")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return SqlProblem(kind, f"line {line}, column {column}: {detail[:_LONGEST_DETAIL]}", line, column)


def _places(serving_file: Path, data_files: Path | AsksForFiles) -> list[str]:
    """What no message shows: where things lie on this machine."""
    folders = {data_files, data_files.parent} if isinstance(data_files, Path) else set()
    return sorted({sys.prefix, *map(str, {serving_file.parent, *folders})})


def _file_system(asks: AsksForFiles) -> StoredFiles:
    # Imported for lakes in buckets only: every worker would take a tenth of a second longer to start.
    from losslake.lake.store.bucket_store import StoredFiles

    def opened(path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: asks.read(path, start, stop), size)

    return StoredFiles(asks.size, opened)


def _parts(text: str) -> tuple[str, int | None]:
    """The message of DuckDB's error in JSON, and the byte of the statement that it points to."""
    try:
        told = json.loads(text[text.index("{") :])
        position = told.get("position")
        return str(told["exception_message"]), int(position) if position is not None else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return text, None


def _located(cursor: duckdb.DuckDBPyConnection, text: str) -> tuple[str, int | None] | None:
    """The same error again, with its place: DuckDB leaves it out when a result is to be read as Arrow."""
    try:
        cursor.execute(_PREPARE + text)
    except duckdb.Error as error:
        message, position = _parts(str(error))
        return message, position - len(_PREPARE) if position is not None else None
    return None


def _bound(statement: duckdb.Statement, parameters: Parameters) -> Parameters:
    """The parameters, when they are those that the statement has."""
    wanted = {str(name) for name in statement.named_parameters}
    if isinstance(parameters, dict):
        given = set(parameters)
    else:
        given = {str(position) for position in range(1, len(parameters or []) + 1)}
    missing, excess = sorted(wanted - given), sorted(given - wanted)
    if missing or excess:
        told = [f"{', '.join('$' + name for name in missing)} missing"] if missing else []
        told += [f"{', '.join('$' + name for name in excess)} not in the statement"] if excess else []
        raise SqlProblem(errors.ERROR, f"the parameters don't fit: {' and '.join(told)}"[:_LONGEST_DETAIL])
    return parameters if wanted else None


def warm_up_stored_files() -> None:
    """Load what reading files through Python needs besides."""
    from losslake.lake.store.bucket_store import SCHEME, StoredFiles

    text = b"a\n1\n"
    with duckdb.connect(config={"threads": 1, "async_threads": 1}) as connection:
        connection.register_filesystem(
            StoredFiles(lambda _: len(text), lambda _, size: RangeReader(lambda a, b: text[a:b], size))
        )
        connection.read_csv(f"{SCHEME}warehouse/x.csv").fetchall()


def warm_up() -> None:
    """Load all that a statement needs: once confined, the process can read no code."""
    values = [None, True, 1, 2**70, 1.5, "text", [1], {"a": 1}]
    with duckdb.connect(config={"threads": 1, "async_threads": 1}) as connection:
        reader = connection.sql(_WARM_UP, params=values).to_arrow_reader(1)
        unread = os.open(os.devnull, os.O_WRONLY)
        spool(reader, unread, 1, MEGABYTE)
        os.close(unread)
