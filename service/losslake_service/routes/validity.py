"""How long an answer is good for: its entity tag, and what caches may do with it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import UTC, datetime

from losslake.questions.release_view import ReleaseView
from losslake_service.files.conditions import Version, not_modified

PINNED = "public, max-age=31536000, immutable"
REVALIDATED = "public, no-cache"
_NO_DATE = datetime.fromtimestamp(0, UTC)


def entity_tag(view: ReleaseView, version: str, path: str, query: bytes, output: str) -> str:
    """A strong entity tag, known before the answer is: an answer is a function of these alone.

    version: of the program that writes it. output: the name of the format.
    """
    parts = (view.digest, str(view.number), version, path, output)
    digest = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape") + b"\0" + query)
    return f'"{digest.hexdigest()[:32]}"'


def cache_control(is_pinned: bool) -> str:
    """An answer of a named release never changes; that of the newest one has to be asked for again."""
    return PINNED if is_pinned else REVALIDATED


def is_named(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the requester has the answer and says so by its tag, and not by a star, which is for any that exists."""
    return headers.get("if-none-match", "*").strip() != "*" and is_known(headers, etag)


def is_known(headers: Mapping[str, str], etag: str) -> bool:
    """Whether the requester has the answer of that entity tag already."""
    known = headers.get("if-none-match")
    return known is not None and not_modified({"if-none-match": known}, Version(etag, _NO_DATE))
