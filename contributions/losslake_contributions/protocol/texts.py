"""Types of the documents: identifiers, names and texts of strangers, numbers within bounds."""

from __future__ import annotations

import math
import re
import unicodedata
import uuid
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints

from losslake_contributions.protocol import limits
from losslake_schema.contributors import checked_orcid, checked_role
from losslake_schema.names import name_problem

ANY_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[78][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")


# Of these, no reader sees anything, though they count as letters or marks; all others aren't printable.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\ufe00-\ufe0f\U000e0100-\U000e01ef]")


class Document(BaseModel):
    """A document of the protocol: no other fields, no conversion of types, only finite numbers."""

    model_config = ConfigDict(
        strict=True, extra="forbid", frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


def run_id(text: str) -> str:
    """Return the id of a run, a UUID of version 7 or 8 in lower case; raise ValueError for anything else."""
    if not _UUID.fullmatch(text):
        raise ValueError("the id of a run is a UUID of version 7 or 8 in lower case, as the recorder names its folder")
    return text


def _one_line(text: str) -> str:
    if not text.isprintable() or text != text.strip():
        raise ValueError("text has to be printable, of one line, without spaces at its ends")
    return text


def _lines(text: str) -> str:
    if not all(line.isprintable() for line in text.replace("\t", " ").split("\n")):
        raise ValueError("text has to be printable, in lines that end with \\n")
    return text


def _part_of_a_path(text: str) -> str:
    if "/" in text:
        raise ValueError("the name has a slash: only a collection may have one")
    return _plain(text)


def _collection(text: str) -> str:
    for part in text.split("/"):
        if not part:
            raise ValueError("the collection has an empty part: write it without slashes at its ends")
        _plain(part)
    return text


def _plain(text: str) -> str:
    """Return a part of a study's name, which looks like no other one. Raises ValueError."""
    problem = name_problem(text)
    if problem is not None:
        raise ValueError(f"the name {problem}")
    if not unicodedata.is_normalized("NFKC", text) or _INVISIBLE.search(text):
        raise ValueError("the name looks like another one: write it in form NFKC, without invisible letters")
    return text


def json_attributes(value: dict[str, Any]) -> dict[str, Any]:
    """Return attributes of a run that every reader of JSON takes. Raises ValueError."""
    pending: list[tuple[Any, int]] = [(value, 0)]
    while pending:
        each, depth = pending.pop()
        if isinstance(each, dict | list):
            if depth > limits.DEEPEST:
                raise ValueError(f"an attribute is nested deeper than {limits.DEEPEST} times")
            pending += [(item, depth + 1) for item in (each.values() if isinstance(each, dict) else each)]
        elif isinstance(each, float) and not math.isfinite(each):
            raise ValueError('a number is not finite: write "NaN", "Infinity" or "-Infinity"')
        elif isinstance(each, int) and not -(2**63) <= each < 2**63:
            raise ValueError("an integer has more than 64 bits: write it as a text")
    return value


def new_submission_id() -> str:
    """Return the id of a new submission: a random UUID, since it is part of links."""
    return str(uuid.uuid4())


Name = Annotated[str, StringConstraints(min_length=1, max_length=limits.LONGEST_NAME), AfterValidator(_one_line)]
PartName = Annotated[Name, AfterValidator(_part_of_a_path)]
CollectionName = Annotated[Name, AfterValidator(_collection)]
Text = Annotated[str, StringConstraints(max_length=limits.LONGEST_TEXT), AfterValidator(_one_line)]
Note = Annotated[str, StringConstraints(max_length=limits.LONGEST_NOTE), AfterValidator(_lines)]
RunId = Annotated[str, AfterValidator(run_id)]
Orcid = Annotated[str, AfterValidator(checked_orcid)]
Role = Annotated[str, AfterValidator(checked_role)]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Step = Annotated[int, Field(ge=0, le=limits.LARGEST_STEP)]
Ordinal = Annotated[int, Field(ge=1, le=limits.MOST_ATTEMPTS)]
Count = Annotated[int, Field(ge=0, le=limits.LARGEST_STEP)]
Seconds = Annotated[float, Field(ge=0, le=1e12)]
Lines = Annotated[str, StringConstraints(max_length=limits.LONGEST_TEXT), AfterValidator(_lines)]
Scalar = bool | Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | Lines


def reason_of(error: Any) -> str:
    """Return the first error of a document as one line: where in it, and what is wrong. error: of pydantic."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part) for part in first["loc"] if not isinstance(part, str) or part.isprintable())[:200]
    message = first["msg"].removeprefix("Value error, ")
    text = f"{where}: {message[:1].lower()}{message[1:]}" if where else message
    return " ".join(text.split())
