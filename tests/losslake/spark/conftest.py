from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import lake, losslake

__all__ = ["lake", "losslake"]

CONF = Path(__file__).parent / "conf"


@pytest.fixture(scope="session", autouse=True)
def spark_settings() -> None:
    """Settings for Spark's life in tests; whoever has no Spark is told so, in a sentence."""
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("PySpark is missing: pip install 'losslake[spark]'")
    if not (shutil.which("java") or os.environ.get("JAVA_HOME")):
        pytest.skip("Java is missing: apt-get install openjdk-17-jre-headless")
    os.environ["SPARK_CONF_DIR"] = str(CONF)
