"""The provenance and the downloads of a study and of a trial."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from losslake.lake.public_paths import url_path
from losslake.questions.release.view import ReleaseView
from losslake.questions.release.workload_facts import WorkloadFacts
from losslake.questions.trials.examples import schedules_of
from losslake.questions.trials.resources import resources_of
from losslake_schema.batch_schedule import stored_schedule
from losslake_schema.contributors import Person, persons
from losslake_schema.names import CHANGES, Study
from losslake_service.web.code_lines import snippets
from losslake_service.web.page import PageRequest
from losslake_service.web.templates import in_unit, query_pairs, with_query

# A row, by column.
Facts = dict[str, Any]
# What is known of models, and its label.
_MODEL_FACTS = {
    "n_parameters": "Parameters of the model",
    "n_parameters_non_embedding": "Parameters without embeddings",
    "n_active_parameters": "Parameters that a token passes",
    "tokens_per_example": "Tokens in an example",
    "flops_per_token": "FLOPs of training on a token",
}


def size_in_words(view: ReleaseView, facts: WorkloadFacts, study: Study, unit: str | None = None) -> str:
    """Return the batch size of a study, with what it counts unless that is examples, or that it changes, and how."""
    if study.batch_size == CHANGES:
        return f"that changes ({view.schedule_name(facts)})"
    return in_unit(study.batch_size, unit)


def schedules_in_words(view: ReleaseView, facts: WorkloadFacts, study: Study) -> list[str]:
    """Return how the batch sizes of a study change: 8 up to step 20, 16 up to step 40, then 32; none of one size."""
    if study.batch_size != CHANGES:
        return []
    schedules = [stored_schedule(text) for text in dict.fromkeys(schedules_of(view, facts)) if text is not None]
    sentences = []
    for each in schedules:
        pieces = [f"{size:,} up to step {end:,}" for size, end in zip(each.sizes, each.starts[1:], strict=False)]
        sentences.append(f"{', '.join(pieces)}, then {each.sizes[-1]:,}")
    return sentences


def study_facts(view: ReleaseView, study_id: int) -> Facts:
    """Return the row of a study, with title, licence, citation and source_url of its collection, and texts.

    unit: of the batch size. training: the planned length of a trial. stopping: early stopping of poor trials. link: the
    URL of the collection, if it has one.
    """
    facts = _facts(view, "facts_of_study", study_id=study_id)
    steps, is_stopped, source = facts["train_steps"], facts["early_stopping"], facts["source_url"] or ""
    training = (
        f"{steps:,} steps" if steps else "length not stated" if steps is None else "for a fixed time, not for steps"
    )
    stopping = "may have been stopped early" if is_stopped else "never stopped early"
    return facts | {
        "unit": facts["batch_unit"] or "unit not stated",
        "training": training,
        "stopping": "not stated whether stopped early" if is_stopped is None else stopping,
        "link": web_address(source),
    }


def trial_facts(view: ReleaseView, study_id: int, trial_id: int) -> Facts:
    """Return the row of a trial, with three facts made from its attributes.

    link: the URL of its log, if its attribute source_url has one. copies: its other logs. also_in: the rounds of these.
    """
    facts = _facts(view, "facts_of_trial", study_id=study_id, trial_id=trial_id)
    url = json.loads((facts["attributes"] or {}).get("source_url", "null"))
    copies = json.loads(facts["also_submitted"] or "[]")
    rounds = (str(copy["attributes"]["round"]) for copy in copies if copy["attributes"].get("round") is not None)
    made = {"copies": copies, "also_in": list(dict.fromkeys(rounds))}
    return facts | made | {"link": web_address(url if isinstance(url, str) else "")}


def model_facts(view: ReleaseView, facts: WorkloadFacts, trials: slice) -> list[tuple[str, str]]:
    """Return labels and values of the size and the tokens of the model of these trials, those that are known."""
    table = resources_of(view, facts).slice(trials.start, trials.stop - trials.start)
    found = []
    for name, label in _MODEL_FACTS.items():
        ends = pc.min_max(table[name]).as_py()
        if ends["min"] is not None:
            found.append((label, " to ".join(dict.fromkeys(f"{end:,.12g}" for end in ends.values()))))
    return found


def contributors(view: ReleaseView, study_id: int, trial_id: int | None = None) -> Sequence[Person]:
    """Return who contributed to a study, or to a trial of it, by name."""
    if trial_id is None:
        return persons(view.rows("contributors_of_study", {"study_id": study_id}))
    return persons(view.rows("contributors_of_trial", {"study_id": study_id, "trial_id": trial_id}))


def data_files(view: ReleaseView, facts: WorkloadFacts, study: int) -> Sequence[str]:
    """Return the paths of the Parquet files with the measurements of a study."""
    folder = Study(facts.workload, facts.batch_sizes[study]).folder()
    n_files = len(view.measurement_files(facts, study))
    places = [f"measurements/{folder}/part-{number}.parquet" for number in range(n_files)]
    return [f"/data/{view.number}/{url_path(place)}" for place in places]


def data_downloads(
    request: PageRequest, name: str, title: str, path: str, query: Mapping[str, object], sql: str = ""
) -> dict[str, object]:
    """Return the downloads of a REST answer. name: unique on the page. sql: a statement with the same rows."""
    pinned = query_pairs([*query.items(), ("release", request.view.number)])
    return {
        "name": name,
        "title": title,
        "links": [(text, with_query(f"{path}.{text.lower()}", pinned)) for text in ("CSV", "JSON", "Parquet")],
        "lines": snippets(request.address, path, pinned),
        "sql": sql,
    }


def web_address(text: str) -> str | None:
    """Return a text if it is the address of a page of the web, else None."""
    return text if text.startswith(("https://", "http://")) else None


def _facts(view: ReleaseView, query: str, **ids: int) -> Facts:
    result = view.query(query, ids)
    (row,) = result.fetchall()
    return {column: value for (column, *_), value in zip(result.description, row, strict=True)}
