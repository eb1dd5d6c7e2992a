"""Small Parquet files are read by the thread that needs them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

PROGRAM = """
import sys
from pathlib import Path
import psutil
import pyarrow.parquet as pq
from losslake.lake.data_files import read_table

path = Path(sys.argv[1])
schema = pq.read_schema(path)
before = psutil.Process().num_threads()
assert read_table(path, schema).num_rows == 1
print(psutil.Process().num_threads() - before)
"""


def test_reading_a_small_table_starts_no_threads(tmp_path: Path) -> None:
    table = pa.table({f"c{number}": ["x"] for number in range(12)})
    pq.write_table(table, tmp_path / "a.parquet")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path / "a.parquet")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
