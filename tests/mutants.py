"""Change random lines of the installed packages, one at a time, and list the changes that no mirroring test notices.

mutmut and cosmic-ray draw no sample, and know no tests that mirror a module.
"""

import ast
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.util import cache_from_source
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import psutil
import pytest

PACKAGES = {"losslake": "."} | {
    f"losslake_{name}": name for name in ("schema", "ingest", "service", "contributions", "cli")
}
# Imported once, as each run of tests is a fork. Not Polars, whose threads don't survive one.
SHARED = "pyarrow.parquet duckdb pyiceberg.catalog.sql alembic.command scipy.stats fastapi.testclient hypothesis mcp"
AT_ONCE = 4  # files of tests in a run
LIMITS = {resource.RLIMIT_CPU: 120, resource.RLIMIT_DATA: 6 * 2**30}  # of a run that a mutant makes endless
WAITING = ["-ppytest_timeout", "--timeout=60", "--timeout-method=thread"]  # ends a run of which a thread hangs as well
SIGNS = [{ast.Eq: ast.NotEq, ast.Lt: ast.GtE, ast.Gt: ast.LtE, ast.Is: ast.IsNot, ast.In: ast.NotIn}]
SIGNS = [table | {new: old for old, new in table.items()} for table in (*SIGNS, {ast.Lt: ast.LtE, ast.Gt: ast.GtE})]
# What has no effect that a user sees, or only on words.
UNSEEN = ast.Import | ast.ImportFrom | ast.JoinedStr | ast.Assert
UNSEEN_FIELDS = {"annotation", "returns", "decorator_list", "exc", "cause"}
UNSEEN_TEXT = re.compile(rb"if TYPE_CHECKING|if __name__|__all__|(self\.)?_?log\.|(strict|stacklevel|daemon)=")


class Mutant(NamedTuple):
    """A replacement of some bytes of a file."""

    path: str
    line: int
    place: slice
    old: str
    new: str


def changed(node: ast.AST, owner: ast.AST, field: str) -> Iterator[str]:
    """Yield what to put in the place of a node: comparisons, boundaries, conditions, constants, dropped statements."""
    match node:
        case ast.Compare(left=left, ops=ops, comparators=rights):
            for number, op in enumerate(ops):
                for other in (table[type(op)]() for table in SIGNS if type(op) in table):
                    yield ast.unparse(ast.Compare(left, [*ops[:number], other, *ops[number + 1 :]], rights))
        case ast.BoolOp(op=op, values=values):
            yield f"({ast.unparse(ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values))})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"({ast.unparse(operand)})"
        case ast.Constant(value=bool() | int() | float() as value):
            yield repr(not value if isinstance(value, bool) else value + 1 if -10 < value < 10 else 2 * value)
        case ast.Expr(value=ast.Call() | ast.Await() | ast.Yield() | ast.YieldFrom()) | ast.AugAssign() | ast.Delete():
            yield "pass"
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.Break() | ast.Continue():
            yield "pass"
        case ast.Return() | ast.Raise() if not isinstance(owner, ast.FunctionDef | ast.AsyncFunctionDef):
            yield "pass"
    if field in ("test", "ifs", "guard") and not isinstance(node, ast.Compare | ast.UnaryOp | ast.Constant):
        yield f"(not ({ast.unparse(node)}))"


def mutants_of(path: str, source: bytes) -> Iterator[Mutant]:
    """Yield every mutant of a module."""
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))

    def visit(node: Any, owner: ast.AST, field: str) -> Iterator[Mutant]:
        if hasattr(node, "lineno"):
            end = begins[node.end_lineno - 1] + node.end_col_offset
            place = slice(begins[node.lineno - 1] + node.col_offset, end)
            if isinstance(node, UNSEEN) or UNSEEN_TEXT.match(source[place]):
                return
            for new in changed(node, owner, field):
                yield Mutant(path, node.lineno, place, source[place].decode(), new)
        for name, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST) and name not in UNSEEN_FIELDS:
                    yield from visit(child, node, name)

    return visit(tree := ast.parse(source), tree, "")


def drawn(root: Path, n: int, seed: int) -> list[Mutant]:
    """Return a mutant of each of n lines, which are drawn by their text: a change of other lines changes no draw."""
    lines: dict[str, list[Mutant]] = defaultdict(list)
    for path in (path for name, folder in PACKAGES.items() for path in (root / folder / name).rglob("*.py")):
        name, source, seen, keys = path.relative_to(root).as_posix(), path.read_bytes(), Counter[bytes](), [""]
        for text in map(bytes.strip, source.splitlines()):
            keys.append(sha256(repr((seed, name, text, seen[text])).encode()).hexdigest())
            seen[text] += 1
        for mutant in mutants_of(name, source):
            lines[keys[mutant.line]].append(mutant)
    return [lines[key][int(key, 16) % len(lines[key])] for key in sorted(lines)[:n]]


def mirroring(root: Path, path: str) -> list[str]:
    """Return the files of tests for a module: its own, those that import it, then those of its folder and above it."""
    names = re.sub(r"^\w+/(?=losslake_)|(/__init__)?\.py$", "", path).split("/")
    folder = root / "tests" / names[0].removeprefix("losslake_") / "/".join(names[1:-1])
    folders = [folder, *folder.parents][: len(names) - 1]
    module, parent = r"\.".join(names), r"\.".join(names[:-1])
    imports = re.compile(rf"(from|import) {module}(?![.\w])|from {parent} import .*\b{names[-1]}\b")
    ranks = {}
    for test in (root / "tests").rglob("test_*.py"):
        if imports.search(text := test.read_text()):
            ranks[test] = -1 if test.parent in folders else 1
        elif test.parent in folders:
            ranks[test] = 2 * folders.index(test.parent) + (names[-1] not in text)
    ranked = sorted(ranks, key=lambda test: (test != folder / f"test_{names[-1]}.py", ranks[test], test))
    return [test.relative_to(root).as_posix() for test in ranked]


def failure(tree: Path, tests: list[str]) -> tuple[str, int, float]:
    """Run tests of a tree until one fails; return it, or "", how many began, and the processor time in seconds."""
    begun = tree.with_suffix(".begun")
    begun.write_text("")
    if not (child := os.fork()):
        os.chdir(tree)
        for stream in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        for limit, value in LIMITS.items():
            resource.setrlimit(limit, (value, value))
        sys.path[:1] = [str(tree / folder) for folder in PACKAGES.values()]
        os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[: len(PACKAGES)])  # for processes that tests start
        with begun.open("w", buffering=1) as file:
            notes = SimpleNamespace(pytest_runtest_setup=lambda item: print(item.nodeid, file=file))
            options = ["-x", "-q", "-n0", "-pno:cacheprovider", *WAITING]
            os._exit(pytest.main([*tests, *options], plugins=[notes]))
    _, status, usage = os.wait4(child, 0)
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("PYTHONPATH", "").startswith(str(tree)):
                process.kill()
    names = begun.read_text().splitlines()
    passed = os.waitstatus_to_exitcode(status) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
    return "" if passed else [tests[0], *names][-1], len(names), usage.ru_utime + usage.ru_stime


def fate(root: Path, folder: Path, limit: int, mutant: Mutant) -> tuple[str, int, float]:
    """Return the test that fails in a copy of the tree with a mutant, or "", how many began, and their seconds."""
    tree, failed, n_tests, seconds = copied(root, folder), "", 0, 0.0
    module = tree / mutant.path
    source, compiled = module.read_bytes(), Path(cache_from_source(str(module)))
    tests = mirroring(tree, mutant.path)
    try:
        module.write_bytes(source[: mutant.place.start] + mutant.new.encode() + source[mutant.place.stop :])
        compiled.unlink(missing_ok=True)  # it counts as current if it has the same size, and is of the same second
        for begin in (0, *range(1, len(tests), AT_ONCE)):
            failed, n, spent = failure(tree, tests[begin : begin + AT_ONCE if begin else 1])
            n_tests, seconds = n_tests + n, seconds + spent
            if failed or seconds > limit:
                break
        return failed, n_tests, seconds
    finally:
        module.write_bytes(source)
        compiled.unlink(missing_ok=True)


def copied(root: Path, folder: Path) -> Path:
    """Return the copy of the tree that this process changes: all files but those that git ignores."""
    copy = folder / str(os.getpid())
    if not copy.exists():
        copy.mkdir()
        command = 'git ls-files -z --cached --others --exclude-standard | tar -c --null -T - | tar -x -C "$0"'
        subprocess.run(["sh", "-c", command, copy], cwd=root, check=True)
    return copy


def main(root: Path, only: list[str], n: int, seed: int, jobs: int, limit: int) -> None:
    """Print the fate of each mutant, or of those of some lines, then the survivors.

    Args:
        only: lines to try, as path:line, instead of all that are drawn.
        limit: processor time in seconds, after which a mutant survives.
    """
    for name in SHARED.split() if root.samefile(Path(__file__).parents[1]) else []:
        import_module(name)
    sys.dont_write_bytecode = False
    mutants = [each for each in drawn(root, n, seed) if not only or f"{each.path}:{each.line}" in only]
    survivors, killers = list[str](), set[str]()
    context = multiprocessing.get_context("fork")
    with tempfile.TemporaryDirectory(prefix="losslake-mutants-") as name, ProcessPoolExecutor(jobs, context) as pool:
        folder = Path(name)
        fates = [pool.submit(fate, root, folder, limit, mutant) for mutant in mutants]
        for mutant, (killer, n_tests, seconds) in zip(mutants, (each.result() for each in fates), strict=True):
            text = f"{mutant.path}:{mutant.line}: {' -> '.join(' '.join(each.split())[:60] for each in mutant[-2:])}"
            says = f"killed by {killer}" if killer else "survived"
            print(f"{text}  {says} ({n_tests} tests, {seconds:.1f} s)", flush=True)
            (killers.add if killer else survivors.append)(killer or text)
        print(f"{len(survivors)} of {len(mutants)} survived", *survivors, sep="\n")
        copy, some = copied(root, folder), sorted(killers)
        for tests in (some[begin : begin + 20] for begin in range(0, len(some), 20)):
            wrong = [test for test in tests if failure(copy, [test])[0]] if failure(copy, tests)[0] else []
            print(*(f"fails without a mutant as well: {test}" for test in wrong), sep="\n", end="\n" if wrong else "")


if __name__ == "__main__":
    main(Path(sys.argv[5]).resolve(), sys.argv[6:], *map(int, sys.argv[1:5]))
