"""The mappings that LossLake brings along for published logs, by name."""

from __future__ import annotations

from pathlib import Path

from losslake_ingest.mapping.load import MAPPING_NAME

_FOLDER = Path(__file__).parent


def shipped_mappings() -> dict[str, Path]:
    """The file of each mapping, by name."""
    return {file.parent.name: file for file in sorted(_FOLDER.glob(f"*/{MAPPING_NAME}"))}


def mapping_file(asked: Path) -> Path:
    """The file that is meant: the path itself, or else a mapping of that name that LossLake brings along."""
    return asked if asked.exists() else shipped_mappings().get(str(asked), asked)
