"""Statements on an open release in a worker: admission, execution and spooling of the result."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from losslake_service.bounded_cache import BoundedCache
from losslake_service.sandbox import errors
from losslake_service.sandbox.admission import Tables, tables_of
from losslake_service.sandbox.confinement import MEGABYTE
from losslake_service.sandbox.errors import SqlLimits, SqlProblem, too_large, too_slow
from losslake_service.sandbox.results import HEAD_BYTES, OUTPUTS, ways_to_all_rows, write_result
from losslake_service.sandbox.spool import SpooledResult, UnsupportedType, spool
from losslake_service.sandbox.stored_data import DataFileClient, LocalFiles

if TYPE_CHECKING:
    from losslake.lake.store.ranged_files import RangeReader, StoredFiles

Admission = Callable[[duckdb.DuckDBPyConnection, str, Tables], duckdb.Statement]
Parameters = list[Any] | dict[str, Any] | None

_SHARE_OF_DUCKDB = 0.6
_LONGEST_DETAIL = 1000
_MOST_ADMITTED = 64
_NO_MEMORY = re.compile(r"bad_alloc|allocat\w+ fail|failed to allocate|out of memory", re.IGNORECASE)
# DuckDB takes about 30 µs for each. Of a larger release it gets the folder: only Landlock allows its files one by one.
_MOST_ALLOWED_PATHS = 10_000
_WARM_UP = "SELECT ?, ?, ?, ?, ?, ?, ?, ?, 'b'::ENUM('b') AS b, timestamptz '2020-01-01' AS c, uuid() AS d"
_PREPARE = "PREPARE found AS "
_SETTINGS = (
    "SET GLOBAL allow_persistent_secrets = false",
    "SET GLOBAL allow_community_extensions = false",
    "SET GLOBAL TimeZone = 'UTC'",
    "SET GLOBAL enable_external_access = false",
    "SET GLOBAL lock_configuration = true",
)


# Prefix of the paths by which DuckDB reads the data files of a release in a bucket.
STORED_FILES = "losslake://warehouse/"


class WorkerDamaged(Exception):
    """A statement may have damaged the worker, which must be replaced; `problem` is the statement's error."""

    def __init__(self, problem: SqlProblem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class OpenRelease:
    """A release opened for statements, each on a separate connection."""

    def __init__(
        self, limits: SqlLimits, serving_file: Path, data_files: LocalFiles | DataFileClient, admit: Admission
    ) -> None:
        """Open and configure DuckDB. data_files: the release's Parquet files, or a source of ranges."""
        self._limits = limits
        self._admit = admit
        self._client = data_files if isinstance(data_files, DataFileClient) else None
        self._paths_to_hide = _hidden_paths(serving_file, data_files)
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
        if isinstance(data_files, DataFileClient):
            self._connection.register_filesystem(_file_system(data_files))
            setting, places = "allowed_directories", [STORED_FILES]
        else:
            setting, places = "allowed_paths", data_files.paths()
            if data_files.names is None or len(places) > _MOST_ALLOWED_PATHS:
                setting, places = "allowed_directories", [os.path.commonpath([min(places), max(places)])]
        self._connection.execute(f"SET GLOBAL {setting} = $places", {"places": places})
        self._connection.execute(f"SET GLOBAL max_execution_time = {int(limits.seconds * 1000)}")
        for setting in _SETTINGS:
            self._connection.execute(setting)
        self._tables = tables_of(self._connection)
        # What is admitted depends on the text alone, as the release never changes.
        self._admitted: BoundedCache[duckdb.Statement] = BoundedCache(_MOST_ADMITTED)

    def run(self, job: Mapping[str, Any], spooled: int, file: int) -> SpooledResult:
        """Run a statement and write the first rows of its result to an open file; raises SqlProblem and WorkerDamaged.

        job: statement, parameters, max_rows, format and facts, as `Worker.ask` sends them.
        spooled: an open file, for the result as it comes.
        """
        text, max_bytes = job["statement"], self._limits.result_mb * MEGABYTE
        # A separate connection: variables, temporary tables and random seeds end with it.
        cursor = self._connection.cursor()
        statement: duckdb.Statement | None = None
        try:
            statement = self._admitted.get(text, lambda: self._admit(cursor, text, self._tables))
            relation = cursor.sql(statement, params=_checked_parameters(statement, job["parameters"]))
            if relation is None:
                raise SqlProblem(errors.NOT_ALLOWED, "the statement has no result")
            reader = relation.to_arrow_reader(4096)
            result = spool(reader, spooled, min(job["max_rows"], self._limits.result_rows), max_bytes)
            output, ways = OUTPUTS[job["format"]], ways_to_all_rows(self._limits, job["max_rows"])
            return write_result(spooled, result, output, job["facts"], file, max_bytes + HEAD_BYTES, ways)
        except UnsupportedType as error:
            raise SqlProblem(errors.ERROR, str(error)) from None
        except duckdb.InterruptException:
            raise WorkerDamaged(too_slow(self._limits)) from None
        except (duckdb.OutOfMemoryException, MemoryError):
            raise WorkerDamaged(too_large(self._limits)) from None
        except (duckdb.InternalException, duckdb.FatalException, RecursionError):
            raise WorkerDamaged(
                SqlProblem(errors.ERROR, "DuckDB has an internal error in this statement: rewrite it")
            ) from None
        except (duckdb.Error, OSError, RuntimeError, ValueError, TypeError, OverflowError) as error:
            # Arrow reports DuckDB's errors within a result as OSError.
            if _NO_MEMORY.search(str(error)):
                raise WorkerDamaged(too_large(self._limits)) from None
            if statement is None and not isinstance(error, duckdb.Error):
                raise  # an error of admission
            has_failed = self._client is not None and self._client.has_failed
            if has_failed or isinstance(error, duckdb.IOException | OSError):
                raise WorkerDamaged(SqlProblem(errors.UNAVAILABLE, str(error)[:_LONGEST_DETAIL])) from None
            raise self._to_problem(error, cursor, text) from None
        finally:
            cursor.close()

    def _to_problem(self, error: Exception, cursor: duckdb.DuckDBPyConnection, text: str) -> SqlProblem:
        """Return DuckDB's error as one line, without paths of this machine."""
        message, position = _parse_error(str(error))
        if isinstance(error, duckdb.BinderException | duckdb.CatalogException):
            message, position = _reproduce(cursor, text) or (message, position)
        detail = " ".join(message.partition("Stack Trace")[0].split())
        for path in reversed(self._paths_to_hide):
            detail = detail.replace(path, "…")
        kind = errors.NOT_ALLOWED if isinstance(error, duckdb.PermissionException) else errors.ERROR
        if position is None:
            return SqlProblem(kind, detail[:_LONGEST_DETAIL])
        before = text.encode()[:position].decode(errors="ignore")
        line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
        return SqlProblem(kind, f"line {line}, column {column}: {detail[:_LONGEST_DETAIL]}", line, column)


def _hidden_paths(serving_file: Path, data_files: LocalFiles | DataFileClient) -> list[str]:
    """Return the paths of this machine that messages must not contain."""
    folders = {data_files.folder} if isinstance(data_files, LocalFiles) else set()
    return sorted({sys.prefix, str(serving_file.parent), *folders})


def _file_system(client: DataFileClient) -> StoredFiles:
    # Imported for lakes on other machines only, as it takes 0.1 s.
    from losslake.lake.store.ranged_files import RangeReader, StoredFiles

    def opened(path: str, size: int) -> RangeReader:
        return RangeReader(lambda start, stop: client.read(path, start, stop), size)

    return StoredFiles(client.size, opened)


def _parse_error(text: str) -> tuple[str, int | None]:
    """Return the message of DuckDB's JSON error, and its byte position in the statement."""
    try:
        error = json.loads(text[text.index("{") :])
        position = error.get("position")
        return str(error["exception_message"]), int(position) if position is not None else None
    except (ValueError, KeyError, AttributeError, TypeError):
        return text, None


def _reproduce(cursor: duckdb.DuckDBPyConnection, text: str) -> tuple[str, int | None] | None:
    """Reproduce the error with its position, which DuckDB omits for results in Arrow."""
    try:
        cursor.execute(_PREPARE + text)
    except duckdb.Error as error:
        message, position = _parse_error(str(error))
        return message, position - len(_PREPARE) if position is not None else None
    return None


def _checked_parameters(statement: duckdb.Statement, parameters: Parameters) -> Parameters:
    """Return the parameters if they match those of the statement; raise SqlProblem."""
    expected = {str(name) for name in statement.named_parameters}
    if isinstance(parameters, dict):
        names = set(parameters)
    else:
        names = {str(position) for position in range(1, len(parameters or []) + 1)}
    missing, unknown = sorted(expected - names), sorted(names - expected)
    if missing or unknown:
        faults = [f"{', '.join('$' + name for name in missing)} missing"] if missing else []
        faults += [f"{', '.join('$' + name for name in unknown)} not in the statement"] if unknown else []
        raise SqlProblem(errors.ERROR, f"the parameters don't match: {' and '.join(faults)}"[:_LONGEST_DETAIL])
    return parameters if expected else None


def warm_up_stored_files() -> None:
    """Load the code that reads files through Python."""
    from losslake.lake.store.ranged_files import SCHEME, RangeReader, StoredFiles

    text = b"a\n1\n"
    with duckdb.connect(config={"threads": 1, "async_threads": 1}) as connection:
        connection.register_filesystem(
            StoredFiles(lambda _: len(text), lambda _, size: RangeReader(lambda a, b: text[a:b], size))
        )
        connection.read_csv(f"{SCHEME}warehouse/x.csv").fetchall()


def warm_up() -> None:
    """Load all code that statements need, as the confined process can't read it."""
    values = [None, True, 1, 2**70, 1.5, "text", [1], {"a": 1}]
    with duckdb.connect(config={"threads": 1, "async_threads": 1}) as connection:
        reader = connection.sql(_WARM_UP, params=values).to_arrow_reader(1)
        with tempfile.TemporaryFile(buffering=0) as spooled, Path(os.devnull).open("wb", buffering=0) as nothing:
            result, ways = spool(reader, spooled.fileno(), 1, MEGABYTE), ways_to_all_rows(SqlLimits(), 1)
            for output in OUTPUTS.values():
                write_result(spooled.fileno(), result, output, {}, nothing.fileno(), MEGABYTE, ways)
