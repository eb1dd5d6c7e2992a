from __future__ import annotations

import pytest

from tests.bundled import bundled_lake
from tests.repository.checkout import INSTALLED, ROOT
from tests.repository.extras import brought, run_with
from tests.service.running import served

BASE = ("losslake", "losslake_cli.main", "losslake.client.service", "losslake.library.lake", "losslake.library.service")
PACKAGES = {"lake": ("losslake", "losslake_schema"), "ingest": ("losslake_ingest",), "service": ("losslake_service",)}
# The commands that each extra brings.
COMMANDS = {
    "lake": ["releases", "ledger", "steps", "sql", "sql --url http://x", "export out", "download http://x out"],
    "ingest": [
        "ingest x", "fetch x", "formats", "map x", "bundle x --logs y", "maintain", "withdraw x --reason y", "check x",
    ],
    "service": ["serve", "config", "mcp"],
}  # fmt: skip
MAIN = """
import shlex
from losslake_cli.main import main
for line in {lines!r}:
    sys.argv = ["losslake", *shlex.split(line)]
    try:
        main()
    except SystemExit as left:
        assert left.code == 1, left.code
"""


def modules_of(package: str) -> list[str]:
    folder = ROOT / INSTALLED[package]
    paths = (path.relative_to(folder).with_suffix("").parts for path in sorted(folder.rglob("*.py")))
    names = [".".join((package, *parts)).removesuffix(".__init__") for parts in paths if "versions" not in parts]
    # Spark and the trainers of the recorder's callbacks have extras of their own.
    others = ("spark", "losslake.record.callbacks")
    return [name for name in names if not any(o in name for o in others) and not name.endswith("migrations.env")]


def test_a_client_is_imported_with_the_base_alone_and_what_it_can_do_is_listed() -> None:
    assert not {"duckdb", "numpy", "polars", "pyiceberg", "fastapi"} & brought()
    code = f"import {', '.join(BASE)}; losslake_cli.main.app(['--help'])"
    done = run_with((), code)
    assert (done.returncode, done.stderr) == (0, "")
    assert "steps" in done.stdout


def test_a_client_is_imported_where_windows_lacks_modules() -> None:
    code = (
        f"sys.modules.update(dict.fromkeys(['fcntl', 'grp', 'pwd', 'resource', 'termios']))\nimport {', '.join(BASE)}"
    )
    done = run_with((), code)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_command_without_its_extra_says_in_a_line_which_one_to_install() -> None:
    lines = {line: extra for extra, lines in COMMANDS.items() for line in lines}
    done = run_with((), MAIN.format(lines=list(lines)))
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f'losslake: losslake {line.split()[0]} needs losslake[{extra}]: pip install "losslake[{extra}]"'
        for line, extra in lines.items()
    ]


@pytest.mark.slow
@pytest.mark.parametrize("extra", PACKAGES)
def test_every_module_is_imported_with_its_extra_alone(extra: str) -> None:
    names = [name for package in PACKAGES[extra] for name in modules_of(package)]
    assert len(names) > 20
    done = run_with([extra], "import " + ", ".join(names))
    assert done.returncode == 0, done.stderr[-1000:]


QUERIES = """
import losslake
lake = losslake.open({url!r})
rows = lake.scaling("bundled/digits/mlp_64/nesterov_momentum").to_dicts()
print(len(rows), lake.sql("SELECT count(*) AS n FROM workloads").to_dicts()[0]["n"])
try:
    losslake.open()
except losslake.LossLakeError as error:
    print(error)
"""


@pytest.mark.slow
def test_the_base_alone_asks_a_service_and_says_what_a_lake_needs(tmp_path_factory: pytest.TempPathFactory) -> None:
    lake = bundled_lake(tmp_path_factory).folder
    with served(lake, lake=str(lake), sql_enabled=True, sql_workers=1) as running:
        done = run_with((), QUERIES.format(url=running.url))
    assert done.stderr == ""
    assert done.stdout == '11 11\nto open a lake needs losslake[lake]: pip install "losslake[lake]"\n'
