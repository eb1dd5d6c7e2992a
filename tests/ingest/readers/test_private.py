from __future__ import annotations

import pytest

from losslake_ingest.readers.private import private_text
from losslake_ingest.readers.wandb_files.config import Config
from losslake_ingest.readers.wandb_files.offline import OfflineRun
from tests.ingest.formats.wandb_files import framed, history_record, run_record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("email", "someone"),
        ("notify", "write to jane.doe+x@mail.example.org please"),
        ("userName", "jane"),
        ("run.user", "jane"),
        ("host", "gpu7"),
        ("hostname", "gpu7"),
        ("slurm.nodelist", "gpu[1-4]"),
        ("init_method", "tcp://10.1.2.3:29500"),
        ("server", "gpu7.cluster"),
        ("entity", "team"),
        ("git.commit", "abc"),
        ("remote", "origin"),
        ("url", "https://github.com/jane/secret"),
        ("url", "git@example.org:jane/secret.git"),
        ("args", "--lr 1"),
        ("launcher", "python train.py"),
        ("extra", "a --lr=1"),
        ("data", "/data/jane/x"),
        ("data", "~/x"),
        ("data", "load from (/scratch/jane/x)"),
        ("data", "C:\\Users\\jane"),
        ("data", "D:\\x"),
        ("data", "file:///x"),
        ("url", "postgres://jane:pw@db/x"),
        ("api_key", "x"),
        ("wandbApiKey", "x"),
        ("hf_token", "x"),
        ("password", "x"),
        ("x", "0123456789abcdef0123456789abcdef01234567"),
        ("x", "hf_abcdefghijklmnopqrstuvwx"),
        ("env.HOME", "x"),
        ("environ.x", 1),
        ("_wandb.x", 1),
        ("callback", ["a", "jane@example.org"]),
    ],
)
def test_personal_and_machine_data_is_dropped_and_its_kind_noted(key: str, value: object) -> None:
    config = Config()
    config.set(key, value)
    assert config.fields == {}
    assert len(config.private) == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("lr", 1e-05),
        ("batch_size", 32),
        ("env", "CartPole-v1"),
        ("env.max_steps", 500),
        ("model_args.activation", "gelu"),
        ("optimizer", "adamw_torch_fused"),
        ("model", "facebook/wav2vec2-base"),
        ("dataset", "s3-free/name"),
        ("max_tokens", 100),
        ("num_tokens_per_batch", 4096),
        ("token_dropout", 0.1),
        ("pad_token", "<pad>"),
        ("tokenizer", "bpe"),
        ("user_embedding_dim", 64),
        ("num_hosts", 4),
        ("schedule", "warmup 500 / total 1000"),
        ("version", "1.2.3"),
        ("ratio", "1:2"),
        ("dtype", "torch.float16"),
        ("date", "2026-01-02T03:04:05"),
        ("note", "x @ y"),
        ("betas", [0.9, 0.999]),
    ],
)
def test_metaparameters_are_kept(key: str, value: object) -> None:
    config = Config()
    config.set(key, value)
    assert list(config.fields) == [key]
    assert config.private == set()


def test_names_in_private_records_are_removed_from_all_fields() -> None:
    config = {
        "where": "ran on gpunode7 at night",
        "hub": "janedoe/model",
        "gpunode7.x": 1,
        "lr": 1,
        "other": "gpunode71",
    }
    begun = run_record(config, run_id="x", host="gpunode7", entity="janedoe", display_name="janedoe-baseline")
    run = OfflineRun(framed([begun, history_record(0, {"a": 1})])).run_log("run.wandb", "0")
    assert run.parameters == {"lr": 1, "other": "gpunode71"}
    assert run.fields == {"lr": 1, "other": "gpunode71", "run_id": "x", "run": "x"}
    assert run.private == ["entity", "host name"]


@pytest.mark.parametrize(
    ("repeated", "kind"),
    [
        ("a", "secret"),
        ("@", None),
        ("a@", None),
        ("/a", "path"),
        (" /", None),
        ("1.", None),
        ("://", None),
        ("--", None),
    ],
)
def test_a_long_text_has_the_kind_of_a_short_one(repeated: str, kind: str | None) -> None:
    """A pattern that backtracks would take hours for the long one."""
    assert [private_text(repeated * times) for times in (100, 10**5)] == [kind, kind]
