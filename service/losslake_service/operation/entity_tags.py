"""Entity tags of answers that are sent in several codings: the same one with a suffix for each."""

from __future__ import annotations

import re
from collections.abc import Sequence

from losslake_service.operation.content_codings import CODINGS, Coding

_TAG = re.compile(rb'(?:W/)?"[^"]*"')
_SUFFIXED = re.compile(rb'"([^"]*)-(?:%b)"' % b"|".join(coding.encode() for coding in CODINGS))


def with_suffix(tag: bytes, coding: Coding) -> bytes:
    """A strong tag for the coded answer; a weak one holds for all codings."""
    return b'%b-%b"' % (tag[:-1], coding.encode()) if tag.startswith(b'"') and len(tag) > 1 else tag


def without_suffix(tags: bytes) -> bytes:
    """A list of tags, as If-None-Match has it, with the tags that the application knows."""
    return _SUFFIXED.sub(rb'"\1"', tags)


def as_asked(tag: bytes, asked: Sequence[bytes], coding: Coding | None) -> bytes:
    """The tag for a 304: the one that the client has, of the coding that it prefers if it has several.

    Args:
        tag: the application's.
        asked: the values of If-None-Match, as they came.
    """
    theirs = [found for value in asked for found in _TAG.findall(value) if without_suffix(found) == tag]
    preferred = with_suffix(tag, coding) if coding is not None else tag
    return preferred if preferred in theirs or not theirs else theirs[0]
