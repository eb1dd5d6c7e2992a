"""The engine for Spark sends the packages to the executors before its first job; no session is needed."""

from __future__ import annotations

import zipfile
from pathlib import Path
from unittest.mock import Mock

import pytest

from losslake.lake.location import location_of


@pytest.mark.slow  # it imports pyspark
def test_the_packages_are_sent_to_the_executors_of_a_context_once(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    from losslake_ingest.pipeline.spark_engine import SparkEngine

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
