"""Secrets in runs that are sent for review, and texts that hide them; docs/threat-model.md lists the attacks."""

from __future__ import annotations

import time

import pytest

from tests.attacks.contributors import Target, refused
from tests.attacks.test_contributed_content import is_decided, reviewed, send
from tests.contributions.client.made_tokens import FORMATS, made

pytestmark = [pytest.mark.slow, pytest.mark.attack]


def test_private_words(target: Target) -> None:
    """get secrets of others published, as in a log with a token or an e-mail address"""
    run, _ = send(
        target.mallory, parameters={"key": "AKIAIOSFODNN7EXAMPLE", "mail": "ada@example.org"}, optimizer="private"
    )
    name, _ = reviewed(target, run)
    assert "private_data" in refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept"), 409)
    is_decided(target, name)


def test_private_tokens(target: Target) -> None:
    """get them published as tokens of services that nobody thought of"""
    tokens = {f"note{number}": made(pattern, number)[0] for number, pattern in enumerate(FORMATS.values())}
    run, _ = send(target.mallory, parameters=tokens, optimizer="tokens")
    name, review = reviewed(target, run)
    places = {each["where"] for each in review["report"]["findings"] if each["rule"] == "private_data"}
    missed = [place for place in tokens if not any(place in where.split(".") for where in places)]
    print(f"{len(tokens)} tokens, {len(missed)} missed")
    assert not missed, (missed, review["report"]["findings"][:3])
    refused(target.reviewer.send("POST", f"/v1/submissions/{name}/accept"), 409)
    is_decided(target, name)


def test_texts_that_take_long_to_clean(target: Target) -> None:
    """keep a review busy by texts that patterns of private data take long for"""
    texts = {
        f"note{number}": (part * 9999)[:9999] for number, part in enumerate(("../", "sk-a-", "abc8Q~", "-", "=-/"))
    }
    began = time.monotonic()
    run, _ = send(target.mallory, parameters=texts, optimizer="slow")
    name, _ = reviewed(target, run)
    print(f"the review of {len(texts)} texts of 10 kB took {time.monotonic() - began:.1f} s")
    assert time.monotonic() - began < 60
    is_decided(target, name)
