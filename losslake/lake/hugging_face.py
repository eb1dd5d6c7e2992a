"""Files for the Hugging Face Hub beside a folder of Parquet files: a dataset card, and tables that its viewer can show.

The card's YAML is that of https://huggingface.co/docs/hub/datasets-cards, with a configuration per table
(https://huggingface.co/docs/hub/datasets-manual-configuration).
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import yaml

from losslake.lake.checksums import sha256_of
from losslake.lake.citations import Collection, cite_collection
from losslake.lake.store.store import DataFile
from losslake_schema.errors import LossLakeError
from losslake_schema.package_files import read_text
from losslake_schema.release import Release
from losslake_schema.tables import ALL_TABLES, PARTITIONED, STUDY_KEYS

ROWS_IN_FILE, ROWS_IN_GROUP = 10_000_000, 250_000
_PART = r"[A-Za-z0-9](?:[\w.-]*[\w])?"
_REPOSITORY = re.compile(rf"{_PART}/{_PART}", re.ASCII)
# Those of https://huggingface.co/docs/hub/repositories-licenses that are likely for data; others are "other".
_LICENCES = {
    "apache-2.0", "mit", "bsd-2-clause", "bsd-3-clause", "cc0-1.0", "cc-by-3.0", "cc-by-4.0", "cc-by-sa-3.0",
    "cc-by-sa-4.0", "cc-by-nc-4.0", "cc-by-nc-sa-4.0", "cc-by-nd-4.0", "cc-by-nc-nd-4.0", "odc-by", "odbl", "pddl",
}  # fmt: skip
_SIZES = ("1K", "10K", "100K", "1M", "10M", "100M", "1B", "10B", "100B", "1T")


def check_repository(name: str) -> None:
    """Raise LossLakeError unless it can be the name of a repository on the Hub."""
    is_name = _REPOSITORY.fullmatch(name) and not re.search(r"--|\.\.|\.git$", name)
    if not is_name or any(len(part) > 96 for part in name.split("/")):
        raise LossLakeError(f"'{name}' can't be a repository of Hugging Face: give OWNER/NAME, such as ann/curves")


def upload_command(repository: str, folder: Path) -> str:
    """Return the command of huggingface_hub that publishes the folder."""
    return f"hf upload {repository} {shlex.quote(str(folder))} . --repo-type dataset"


def dataset_card(
    repository: str, release: Release, files: Iterable[DataFile], collections: Sequence[Collection], readme: str
) -> str:
    """Return README.md with the YAML of a card. readme: how to read the files."""
    stored = {file.table for file in files}
    named = sorted({row["licence"].lower() for row in collections})
    licences = [name if name in _LICENCES else "other" for name in named] or ["other"]
    about = {
        "pretty_name": f"LossLake, release {release.number}",
        "license": licences[0] if len(set(licences)) == 1 else sorted(set(licences)),
        "size_categories": [_size(release.n_measurements)],
        "tags": ["training-curves", "batch-size", "optimization", "hyperparameters"],
        "configs": [
            {"config_name": table, "data_files": [{"split": "train", "path": data_files(table)}]}
            | ({"default": True} if table == "measurements" else {})
            for table in ALL_TABLES
            if table in stored
        ],
    }
    if "other" in licences:
        about["license_name"] = "by-collection"
        about["license_link"] = f"https://huggingface.co/datasets/{repository}/tree/main/LICENSES"
    front = yaml.safe_dump(about, sort_keys=False, allow_unicode=True, width=120)
    entries = "\n\n".join(cite_collection(release, row).bibtex for row in collections)
    body = (
        read_text("losslake_schema.data", "hugging_face.md")
        .replace("$repository", repository)
        .replace("$bibtex", entries)
    )
    return f"---\n{front}---\n\n{readme.rstrip()}\n\n{body}"


def data_files(table: str) -> str:
    """Return the pattern of a table's files."""
    return f"{table}/*.parquet" if table in PARTITIONED else f"{table}.parquet"


def merge_files(folder: Path, table: str) -> list[DataFile]:
    """Write the rows of a table into few files, in place of those of each study below the folder; return these.

    Readers over HTTP fetch the footer of every file, and the Hub limits requests.
    """
    schema, merged = ALL_TABLES[table], folder / f".{table}"
    parts = ds.dataset(sorted(map(str, (folder / table).rglob("*.parquet"))), schema, format="parquet")
    repeated = [*STUDY_KEYS, "metric"]
    options = {"compression": "zstd", "use_dictionary": repeated, "write_statistics": repeated, "store_schema": False}
    ds.write_dataset(
        parts,
        merged,
        basename_template="part-{i}.parquet",
        format="parquet",
        file_options=ds.ParquetFileFormat().make_write_options(**options),
        use_threads=False,
        max_rows_per_file=ROWS_IN_FILE,
        min_rows_per_group=ROWS_IN_GROUP,
        max_rows_per_group=ROWS_IN_GROUP,
    )
    shutil.rmtree(folder / table)
    merged.rename(folder / table)
    paths = sorted((folder / table).iterdir())
    return [
        DataFile(table, f"{table}/{path.name}", path.stat().st_size, sha256_of(path), pq.read_metadata(path).num_rows)
        for path in paths
    ]


def write_maps_as_lists(path: Path) -> bool:
    """Write maps of a Parquet file as lists of key and value, without which the viewer shows nothing of the table.

    Return True if there are any (https://github.com/huggingface/datasets/issues/5612).
    """
    table = pq.read_table(path)
    fields = [_listed(field) for field in table.schema]
    if fields == list(table.schema):
        return False
    # Written without Arrow's schema, which would make maps of them again.
    pq.write_table(table.cast(pa.schema(fields)), path, compression="zstd", store_schema=False)
    return True


def _listed(field: pa.Field) -> pa.Field:
    if not pa.types.is_map(field.type):
        return field
    return field.with_type(pa.list_(pa.struct([("key", field.type.key_type), ("value", field.type.item_type)])))


def _size(n_rows: int) -> str:
    place = next((at for at, _ in enumerate(_SIZES) if n_rows < 1000 * 10**at), len(_SIZES))
    if place == 0:
        return "n<1K"
    return f"{_SIZES[place - 1]}<n<{_SIZES[place]}" if place < len(_SIZES) else "n>1T"
