"""A LossLake service: its releases, their files, and the URLs of the files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import quote

import httpx
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError, model_validator

from losslake.client.client import Client, RemoteError, parse_url, redact
from losslake_schema.names import Study, Workload, name_problem
from losslake_schema.tables import OPTIONAL_TABLES, PARTITIONED, TABLES

_MOST_PAGES = 10_000
_LARGEST_FILE = 1 << 44

Count = Annotated[int, Field(ge=0, lt=2**63)]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
TableName = Literal[
    "collections", "studies", "trials", "measurements", "records", "metrics", "goals", "contributors", "copies",
]  # fmt: skip
Parsed = TypeVar("Parsed", bound=BaseModel)


class ListedRelease(BaseModel):
    """A release as listed by a service."""

    model_config = ConfigDict(frozen=True, strict=True)

    release: Annotated[int, Field(ge=1, lt=2**31)]
    created_at: Annotated[AwareDatetime, Field(strict=False)]
    notes: Annotated[str, Field(max_length=100_000)]
    content_digest: Sha256
    n_studies: Count
    n_trials: Count
    n_evaluations: Count
    n_measurements: Count


class ListedFile(BaseModel):
    """A data file as listed by a service. Its path is validated, so that it can't point outside of its folder."""

    model_config = ConfigDict(frozen=True, strict=True)

    table: TableName
    path: Annotated[str, Field(max_length=4000)]
    bytes: Annotated[int, Field(ge=0, le=_LARGEST_FILE)]
    sha256: Sha256
    rows: Count
    collection: str | None = None
    dataset: str | None = None
    model: str | None = None
    optimizer: str | None = None
    batch_size: Count | None = None

    @property
    def study(self) -> Study | None:
        """The study whose partition the file is in; None for a small table."""
        if self.table not in PARTITIONED:
            return None
        names = (self.collection or "", self.dataset or "", self.model or "", self.optimizer or "")
        return Study(Workload(*names), self.batch_size or 0)

    @model_validator(mode="after")
    def _is_in_its_place(self) -> ListedFile:
        study = self.study
        if study is None:
            if self.path != f"{self.table}.parquet":
                raise ValueError(f"{self.table} is listed as {self.path!r}")
            return self
        w = study.workload
        for name in (*w.collection.split("/"), w.dataset, w.model, w.optimizer):
            fault = name_problem(name)
            if fault:
                raise ValueError(f"the name {name!r} {fault}")
        folder, _, name = self.path.rpartition("/")
        if folder != f"{self.table}/{study.folder()}" or name_problem(name) or not name.endswith(".parquet"):
            raise ValueError(f"{self.path!r} is not in the folder of its study")
        return self


class Service:
    """A LossLake service by its base URL, for example https://host or https://host/losslake."""

    def __init__(self, client: Client, url: str) -> None:
        base = parse_url(url)
        if base.query:
            raise RemoteError(f"{redact(base)} must have no query: give the service's base URL")
        self._client = client
        self._base = base.copy_with(path=base.path.rstrip("/").removesuffix("/v1") + "/")
        self.name = redact(self._base).rstrip("/")

    def url(self, path: str, **query: str) -> httpx.URL:
        """Return the URL of a path below the base, with its parts percent-encoded."""
        target = self._base.join(quote(path, safe="/="))
        return target.copy_merge_params(query) if query else target

    def releases(self) -> Iterator[ListedRelease]:
        """Yield every release, newest first."""
        return self._rows("v1/releases", ListedRelease)

    def release(self, number: int | None = None) -> ListedRelease:
        """Return a release, by default the newest; raise RemoteError if it doesn't exist."""
        for release in self.releases():
            if number in (None, release.release):
                return release
        problem = "has no release yet" if number is None else f"has no release {number}"
        raise RemoteError(f"{self.name} {problem}: GET {self.name}/v1/releases lists them")

    def files(self, number: int) -> Sequence[ListedFile]:
        """Return the data files of a release; raise RemoteError unless every small table is listed once."""
        files = list(self._rows(f"v1/releases/{number}/files", ListedFile))
        for table in TABLES.keys() - set(PARTITIONED):
            if sum(file.table == table for file in files) != 1:
                raise RemoteError(f"{self.name} must list {table}.parquet once: its list of files is invalid")
        if any(sum(file.table == table for file in files) > 1 for table in OPTIONAL_TABLES):
            raise RemoteError(f"{self.name} lists a table twice: its list of files is invalid")
        if len({file.path for file in files}) < len(files):
            raise RemoteError(f"{self.name} lists a file twice: its list of files is invalid")
        return files

    def data_url(self, number: int, file: ListedFile) -> httpx.URL:
        """Return the URL of the bytes of a file."""
        return self.url(f"data/{number}/{file.path}")

    def _rows(self, path: str, kind: type[Parsed]) -> Iterator[Parsed]:
        """Yield the rows of a list, page by page, without files of no table, such as README.md."""
        page: httpx.URL | None = self.url(path, format="json")
        for _ in range(_MOST_PAGES):
            if page is None:
                return
            if (page.scheme, page.netloc) != (self._base.scheme, self._base.netloc):
                raise RemoteError(f"{self.name} links to a next page on another host: refused")
            document, page = self._client.json(page)
            rows = document.get("rows") if isinstance(document, dict) else None
            if not isinstance(rows, list):
                raise RemoteError(f"{self.name}/{path} has no rows: is it the base URL of a LossLake service?")
            for row in rows:
                if not (isinstance(row, dict) and row.get("table", "") is None):
                    yield self._checked(path, kind, row)
        raise RemoteError(f"{self.name}/{path} has more than {_MOST_PAGES:,} pages: refused")

    def _checked(self, path: str, kind: type[Parsed], row: Any) -> Parsed:
        try:
            return kind.model_validate(row)
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, fault["loc"])) or "a row"
            raise RemoteError(f"{self.name}/{path} returns an invalid row: {where}: {fault['msg']}") from None
