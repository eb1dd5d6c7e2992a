"""What to know before relying on the answer: warnings of the answers, and what they left out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from losslake.output.answer import Answer
from losslake_schema.names import Workload


def caveats(workload: Workload, answers: Iterable[Answer]) -> tuple[str, ...]:
    """In words, each once, without the workload's name, which the page says already."""
    found = [text for answer in answers for name in ("left_out", "warnings") for text in answer.facts[name]]
    return tuple(dict.fromkeys(as_sentences(workload, found)))


def as_sentences(workload: Workload, texts: Sequence[str]) -> list[str]:
    """Phrases of an answer as sentences of a page about their workload."""
    return [_sentence(text.removeprefix(f"{workload}: ").removeprefix(f"{workload}, ")) for text in texts]


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
