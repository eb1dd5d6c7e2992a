"""PyIceberg's evaluation of manifests, slowed where it mixes the manifests of two threads.

Its evaluator stores the partitions of a manifest in itself and then reads them again. Another thread that evaluates a
manifest in between replaces them, and a manifest whose files are to be removed is skipped.
"""

from __future__ import annotations

import time

import pytest
from pyiceberg.expressions import visitors
from pyiceberg.manifest import ManifestFile

SECONDS_BETWEEN = 0.002


def evaluate_manifests_slowly(changes: pytest.MonkeyPatch) -> list[ManifestFile]:
    """Let every evaluation pause between storing and reading; return the list of evaluated manifests, which grows."""
    evaluated: list[ManifestFile] = []

    def evaluate(evaluator: visitors._ManifestEvalVisitor, manifest: ManifestFile) -> bool:
        evaluated.append(manifest)
        if not manifest.partitions:
            return visitors.ROWS_MIGHT_MATCH
        evaluator.partition_fields = manifest.partitions
        time.sleep(SECONDS_BETWEEN)
        return visitors.visit(evaluator.partition_filter, evaluator)

    changes.setattr(visitors._ManifestEvalVisitor, "eval", evaluate)
    return evaluated
