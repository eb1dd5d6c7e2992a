"""The engine for Spark sends the packages to the executors before its first job; no session is needed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from unittest.mock import Mock

from losslake.lake.location import location_of
from losslake_ingest.pipeline.spark_engine import SparkEngine

# Executors import the modules of the work that they get from the archive.
AS_EXECUTORS_DO = """
import sys
sys.path.insert(0, sys.argv[1])
from losslake_ingest.formats.format import formats
from losslake_ingest.pipeline import mapping_draft, spark_engine
assert formats()
assert spark_engine.__file__.startswith(sys.argv[1])
"""


def test_the_packages_are_sent_to_the_executors_of_a_context_once(tmp_path: Path) -> None:
    context = Mock()
    context._jvm.java.lang.Runtime.getRuntime.return_value.maxMemory.return_value = 2**30
    for _ in range(2):
        SparkEngine(Mock(sparkContext=context), location_of(tmp_path))
    ((path,),) = (call.args for call in context.addPyFile.call_args_list)
    with zipfile.ZipFile(path) as code:
        names = code.namelist()
    assert {f"{each}/__init__.py" for each in ("losslake", "losslake_schema", "losslake_ingest")} <= set(names)
    assert "losslake_schema/views/trials.sql" in names
    assert not any("__pycache__" in name for name in names)
    subprocess.run([sys.executable, "-c", AS_EXECUTORS_DO, path], cwd=tmp_path, check=True)
