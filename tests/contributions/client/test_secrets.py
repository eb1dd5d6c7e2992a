"""Tokens of many services are replaced wherever they stand, and nothing else is; their formats: token_formats.toml."""

from __future__ import annotations

import base64
import re
import time

import pytest

from losslake_contributions.client.secrets import LONGEST_TEXT, clean_text
from losslake_ingest.readers import private
from tests.contributions.client.made_tokens import FORMATS, made


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("around", ["{}", "sent to {} today", '{{"note": "{}"}}', "é\n{}\nlr=0.1", "a={},b=1", "({})"])
def test_tokens_are_replaced_in_any_text(kind: str, around: str) -> None:
    for seed in range(5):
        text, secret = made(FORMATS[kind], seed)
        clean, replaced = clean_text(around.format(text))
        parts = [secret[at : at + 12] for at in range(len(secret) - 11)]
        assert not any(part in clean for part in parts if not re.search(r"https?:|api_key|\.com|_oat_|_pat_", part))
        assert {each.kind for each in replaced} >= {private.SECRETS}


def test_a_token_in_base64_is_replaced() -> None:
    token, _ = made(FORMATS["Groq"], 1)
    hidden = base64.b64encode(f"the key is {token}".encode()).decode()
    assert clean_text(f"x {hidden} y")[0] == "x [secret] y"


def test_tokens_that_overlap_or_follow_each_other_are_replaced_whole() -> None:
    tokens = [made(pattern, 1)[0] for kind, pattern in FORMATS.items() if kind in ("Groq", "xAI", "Slack webhook")]
    for between in (" ", ",", "\n", "=", '"'):
        clean, _ = clean_text(between.join(tokens))
        assert not any(token[at : at + 12] in clean for token in tokens for at in range(12, len(token) - 12))


@pytest.mark.parametrize(
    "text",
    [
        *(
            "https://host.example/x?page=2&sort=val/loss",
            "https://arxiv.org/pdf/1811.03600?version=3",
            "key-value",
        ),
        *("fw_forward_pass_backward_ratio", "ak-means-clustering-of-gradients", "3Q~", "sig=3", "1234567:89"),
        *("webhooks/loss", "Mixture.of_exp.erts", "0123456789abcdef", "gsk_", "dapi", "xai-grok", "nvapi-", "hvs."),
        *("train/layers.0.attention.wq.weight.grad_norm", "a" * 200, "0" * 64, "d41d8cd98f00b204e9800998ecf8427e"),
        *("resnet50-0676ba61.pth", "c4/en/3.0.1", "sha256 of the data", "token_embedding_table", "secret_sharer"),
    ],
)
def test_words_of_training_that_look_like_tokens_stay(text: str) -> None:
    assert clean_text(text) == (text, [])


@pytest.mark.slow
def test_many_texts_are_cleaned_in_little_time() -> None:
    texts = [f"train/layer_{number}/attention/grad_norm" for number in range(10_000)]
    clean_text(texts[0])  # loads the rules
    began = time.process_time()
    for text in texts:
        clean_text(text)
    seconds = time.process_time() - began
    print(f"{len(texts)} names of metrics, {sum(map(len, texts)) / 1e6:.1f} MB: {seconds:.2f} s")
    assert seconds < 30


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        "sk-a-",
        "abc8Q~",
        "http://",
        "?sig=aaaaaaaa&",
        "api_key=",
        "eyJ",
        "1234567890:AA",
        "M",
        "-",
        "=-/",
        "../",
        "/=a",
        "~a/",
    ],
)
def test_texts_made_to_take_long_are_cleaned_in_little_time(part: str) -> None:
    """One text of 10 kB of "../" took minutes, and a document of a contributor may have 200."""
    text = (part * LONGEST_TEXT)[:LONGEST_TEXT]
    clean_text("loads the rules of Kingfisher")
    began = time.process_time()
    for _ in range(10):
        clean_text(text)
    seconds = time.process_time() - began
    print(f"ten times 10 kB of {part}: {seconds:.2f} s")
    assert seconds < 2
