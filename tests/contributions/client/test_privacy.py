from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_contributions.client.privacy import DROPPED, Cleaner, Removal, cleaner_of
from losslake_contributions.client.secrets import LONGEST_TEXT, clean_text
from losslake_ingest.readers import private

HEX40 = "0123456789abcdef0123456789abcdef01234567"
PRIVATE_KEY = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
SECRETS = [
    "sk-" + "abcdEFGH0123456789abcdEF",
    "sk-ant-api03-" + "abcdEFGH0123456789_abcd",
    "hf_" + "abcdEFGHabcdEFGHabcdEFGHabcdEFGH",
    "ghp_" + "abcdEFGHabcdEFGHabcdEFGHabcdEFGH0123",
    "AKIA" + "ABCDEFGH23456789",
    "AIza" + "SyA0123456789abcdefABCDEF0123456789x",
    "xoxb-" + "123456789012-abcdefABCDEF",
    "eyJ" + "hbGciOiJIUzI1NiJ9.eyJ" + "zdWIiOiIxMjM0NTY3ODkwIn0.abcDEF123",
    "Bearer " + "abcdefghijklmnop0123456789",
    PRIVATE_KEY,
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("text", ["{}", "uses {} to log", '{{"key": "{}"}}', "a={},b=1"])
def test_secrets_are_replaced_wherever_they_stand(secret: str, text: str) -> None:
    clean, replaced = clean_text(text.format(secret))
    assert secret[8:20] not in clean
    assert {each.kind for each in replaced} == {private.SECRETS}


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("https://ann:hunter22@host.example/x", "https://[secret]@host.example/x"),
        ("mail ann.b+c@uni-x.example.org now", "mail [e-mail] now"),
        ("/home/ann/data/imagenet", "imagenet"),
        ("/home/ann", "[path]"),
        ("/home/ann/", "[path]"),
        ("/root", "[path]"),
        ("~/runs/1", "1"),
        ("~ann", "~ann"),
        ("file:///scratch/ann/x.ckpt", "x.ckpt"),
        ("C:\\Users\\Ann\\data\\cifar", "cifar"),
        ("C:\\Users\\Ann", "[path]"),
        ("\\\\server\\share\\x", "x"),
        ("data/home/ann/mnist.npz", "mnist.npz"),
        ("python train.py --data=/mnt/disk1/c4 --lr 0.1", "python train.py --data=c4 --lr 0.1"),
        ("node17.cluster", "[host name]"),
        ("gpu-3.cs.internal:29500", "[host name]:29500"),
        ("tcp://10.1.2.3:29500", "tcp://[IP address]:29500"),
        ("fe80::1ff:fe23:4567:890a", "[IP address]"),
        ("00:1a:2b:3c:4d:5e", "[host name]"),
        ("events.out.tfevents.1600000000.gpu17.1234.0", "events.out.tfevents.1600000000"),
        ("api_key=abcdefgh12345678 lr=0.1", "api_key=[secret] lr=0.1"),
    ],
)
def test_private_parts_are_replaced_and_the_rest_stays(text: str, clean: str) -> None:
    assert clean_text(text)[0] == clean


@pytest.mark.parametrize(
    "text",
    [
        *("google/vit-base-patch16-224", "openai/whisper", "1e-3", "3e-4/2", "cosine_with_warmup", "wmt14/de-en"),
        *("0.9/0.999", "val/loss", "HuggingFaceFW/fineweb-edu", "lr=1e-3, wd=0.1", "cuDNN 8.9.2.26", "127.0.0.1"),
        *("ResNet-50 v1.5", "tokens/s", "12:34:56", "2026-11-27T10:00:00", "s3://bucket/data.parquet", "a/b/c"),
        *("index x floor(50000 / 256)", "epoch_num x 1281167 / 32768", "https://arxiv.org/abs/1811.03600", "sk-learn"),
        *("en-de@news", "adam @ 0.1", "f(x) = 1/x", "and/or", "1.2.3", "tpu-v3-1024", "loss::total", "std::vector"),
        *("/", "~", "//", "hf_trainer", "AKIA", "local-batch", "data.local_batch", "x.internal_lr", "1/2/3"),
    ],
)
def test_names_and_numbers_of_training_survive(text: str) -> None:
    assert clean_text(text) == (text, [])


def test_fields_that_announce_private_data_are_left_out_and_the_tokens_of_a_tokenizer_are_not() -> None:
    cleaner = Cleaner()
    fields = {
        "wandb_api_key": HEX40, "key": HEX40, "hostname": "gpu17", "user": "ann", "password": "x", "lr": 0.1,
        "pad_token": "<pad>", "use_auth_token": "True", "tokens": 5, "host": None, "seed_key": "sgd",
    }  # fmt: skip
    clean = cleaner.fields(fields, "parameters")
    assert clean.keys() == {"lr", "pad_token", "use_auth_token", "tokens", "host", "seed_key"}
    assert Removal("parameters.hostname", private.HOST, DROPPED) in cleaner.removals


def test_announced_names_are_removed_from_other_texts_but_never_a_word_of_the_workload() -> None:
    facts = {
        "collection": "mine", "dataset": "mnist", "model": "cnn", "optimizer": "adam",
        "parameters": {"user": "adam", "hostname": "gpu17", "tag": "run of adam on gpu17", "rule": "adam"},
    }  # fmt: skip
    clean = cleaner_of(facts).facts(facts)
    assert clean["parameters"] == {"tag": "run of adam on [host name]", "rule": "adam"}


def test_names_of_metrics_are_cleaned_and_values_stay_exact() -> None:
    data = b'{"step":1,"val/loss":0.30000000000000004,"/home/ann/x/acc":"NaN"}\n'
    assert cleaner_of({"parameters": {}}).segment(data) == b'{"step":1,"val/loss":0.30000000000000004,"acc":"NaN"}\n'


def test_segments_without_private_names_keep_their_bytes_even_if_cut_short() -> None:
    data = b'{"step":1, "val/loss":1.50}\n{"step":2,"val'
    assert cleaner_of({}).segment(data) == data


def test_lines_nested_without_end_are_left_as_they_are() -> None:
    deep = b'{"step":1,"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}\n"
    assert cleaner_of({}).segment(deep) == deep


def test_no_removal_shows_what_was_removed() -> None:
    facts = {
        "parameters": {"note": " ".join(SECRETS), "/home/ann/deep/secret-file": "x"},
        "goals": [{"source": "a@b.org"}],
    }
    cleaner = cleaner_of(facts)
    clean = cleaner.facts(facts)
    shown = json.dumps([str(each) for each in cleaner.removals]) + json.dumps(clean)
    assert not any(secret[8:20] in shown for secret in SECRETS)
    assert "ann" not in shown
    assert "a@b.org" not in shown


def test_long_texts_are_replaced_as_a_whole() -> None:
    clean, replaced = clean_text("x" * (LONGEST_TEXT + 1))
    assert clean == f"[long text of {LONGEST_TEXT + 1:,} characters]"
    assert len(replaced) == 1


@given(st.text(max_size=300))
def test_cleaning_again_changes_nothing(text: str) -> None:
    clean, _ = clean_text(text)
    again, _ = clean_text(clean)
    assert clean_text(again)[0] == again


@given(st.sampled_from("/.-_@:\\ aA0~%=+"), st.integers(1, 200))
def test_texts_of_one_repeated_character_have_nothing_to_clean(character: str, count: int) -> None:
    text = character * count * 50
    assert clean_text(text) == (text, [])


@given(st.text(alphabet="abc/._-@ ~:\\0", max_size=60))
def test_a_secret_is_found_in_any_surroundings(text: str) -> None:
    secret = "hf_" + "abcdEFGHabcdEFGHabcdEFGHabcdEFGH"
    assert secret not in clean_text(f"{text} {secret} {text}")[0]


DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("file", "sent"),
    [
        *(("run-8682tbjk.wandb", None), ("token_loss.csv", None), ("api_key_runs.jsonl", None)),
        *(("secret_sauce.log", None), ("trainer_state.json", None), ("mlflow.db", None)),
        ("events.out.tfevents.1700000000.gpu17.1234.0", "events.out.tfevents.1700000000"),
        ("ann@example.org.csv", "[e-mail]"),
        ("runs_of_annabel.csv", "runs_of_[user name].csv"),
    ],
)
def test_digests_of_files_stay_whatever_the_files_are_called(file: str, sent: str | None) -> None:
    facts = {"origin": {"format": "wandb", "files": {file: DIGEST}}}
    cleaner = cleaner_of(facts, {"annabel": private.USER})
    assert cleaner.facts(facts)["origin"]["files"] == {sent or file: DIGEST}
    assert bool(cleaner.removals) == (sent is not None)


def test_files_and_metrics_whose_names_become_equal_are_numbered() -> None:
    files = {f"events.out.tfevents.{second}.gpu{second}.1.0": DIGEST for second in (17, 17, 18)} | {
        "events.out.tfevents.17.gpu18.1.0": DIGEST
    }
    cleaner = Cleaner()
    assert [*cleaner.facts({"origin": {"files": files}})["origin"]["files"]] == [
        "events.out.tfevents.17", "events.out.tfevents.18", "events.out.tfevents.17 (2)",
    ]  # fmt: skip
    lines = b'{"step":1,"/home/ann/x/acc":1,"/home/bob/y/acc":2,"acc":3}\n{"step":2,"acc":4}\n'
    assert cleaner.segment(lines) == b'{"step":1,"acc":1,"acc (2)":2,"acc (3)":3}\n{"step":2,"acc (3)":4}\n'


def test_texts_within_lists_of_a_segment_and_in_its_end_are_cleaned() -> None:
    cleaner = Cleaner()
    assert (
        cleaner.segment(b'{"step":1,"a":["/home/ann/x"],"b":"Infinity"}\n') == b'{"step":1,"a":["x"],"b":"Infinity"}\n'
    )
    end = {"status": "COMPLETE", "segments": {"0001/000001.jsonl": {}}, "gaps": [{"reason": "no space in /home/ann/x"}]}
    assert cleaner.end(end) == {**end, "gaps": [{"reason": "no space in x"}]}


@pytest.mark.parametrize("word", ["name", "host", "secret", "path", "address", "text"])
def test_a_machine_called_like_a_word_of_a_mark_changes_no_mark(word: str) -> None:
    facts = {"parameters": {"hostname": word, "note": f"{word} ann@example.org"}}
    assert cleaner_of(facts).facts(facts)["parameters"] == {"note": f"{word} [e-mail]"}


_TEXTS = st.text(alphabet="ak0/._-@ ~:=[]()\\\n", max_size=40) | st.sampled_from(
    [
        *SECRETS, HEX40, DIGEST, "/home/ann/secret", "/home/ann/", "token", "wandb", "hostname", "user", "gpu17", "key",
        "api_key=abcdefgh12345678", "a@b.org", "/mnt/x/hostname", "/tmp/" + HEX40, "[secret]",
        "events.out.tfevents.17.gpu17.1", "fe80::1ff:fe23:4567:890a", "(10.1.2.3)", "/x/ann (2)", "NaN", "10.0.0.1:80",
    ]
)  # fmt: skip
_LONG = st.integers(LONGEST_TEXT - 4, LONGEST_TEXT + 1).map(lambda length: "x" * length)
_TEXT = _TEXTS | _LONG | st.builds("{}{}".format, _TEXTS, _TEXTS) | st.builds("{} {}".format, _TEXTS, _TEXTS)
_VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats() | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=6,
)
_FACTS = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("collection", "dataset", "model", "optimizer", "notes"), _TEXT),
        **dict.fromkeys(("parameters", "attributes"), st.dictionaries(_TEXT, _VALUE, max_size=5) | _VALUE),
        "goals": st.lists(st.dictionaries(_TEXT, _VALUE, max_size=3), max_size=2),
        "directions": st.dictionaries(_TEXT, st.sampled_from(["minimize", "maximize"]), max_size=3),
        "origin": st.fixed_dictionaries(
            {"format": _TEXT, "files": st.dictionaries(_TEXT, st.just(DIGEST) | _VALUE, max_size=4)}
        ),
    },
)


@given(
    _FACTS,
    st.lists(st.dictionaries(_TEXT, _VALUE, max_size=4), max_size=3),
    st.dictionaries(_TEXT, st.just("user name")),
)
def test_nothing_is_found_in_what_a_cleaner_wrote(
    facts: Mapping[str, Any], rows: list[dict[str, Any]], words: Mapping[str, str]
) -> None:
    """The service looks with a cleaner that knows the run as it was sent, and no names of people and machines."""
    client = cleaner_of(facts, words)
    sent = json.loads(json.dumps(client.facts(facts)))
    segment = client.segment("".join(json.dumps(row) + "\n" for row in rows).encode())
    service = cleaner_of(sent)
    assert service.facts(sent) == sent
    assert service.segment(segment) == segment
    assert [*service.removals] == []
    assert json.dumps(client.facts(sent)) == json.dumps(sent)
