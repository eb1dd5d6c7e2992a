"""`losslake map --init` on logs of a format: the draft loads, and names what the log has."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from losslake_ingest.contracts.rules import UnknownFormat
from losslake_ingest.mapping.mapping import load_mapping, parse_mapping
from losslake_ingest.pipeline.mapping_draft import draft_mapping, guess_patterns
from losslake_ingest.pipeline.reading import Request
from losslake_ingest.plan import plan_ingest
from tests.ingest.made_up.documents import SACRED, TRACKIO
from tests.ingest.made_up.logs import METRICS, MadeUp, runs
from tests.ingest.made_up.texts import DVCLIVE, JSON_ARRAYS, JSON_ENTRIES, LONG
from tests.ingest.offers import unpacked


@pytest.mark.parametrize(
    "made", [JSON_ARRAYS, JSON_ENTRIES, LONG, DVCLIVE, SACRED, TRACKIO], ids=lambda made: str(made.name)
)
def test_a_draft_loads_and_names_the_metrics_and_the_step(tmp_path: Path, made: MadeUp) -> None:
    path = draft_mapping(unpacked(tmp_path, made.write(runs(made, 3, 2))))
    text = path.read_text()
    assert load_mapping(path).where == str(path)
    assert [name for name in METRICS if f'# {name} = ""' not in text] == []
    of_logger = made in (DVCLIVE, SACRED, TRACKIO)
    assert f"is its column step{'. It counts calls unless' if of_logger else ', which counts steps'}" in text


def test_a_draft_asks_for_the_facts_of_its_collection(tmp_path: Path) -> None:
    text = draft_mapping(unpacked(tmp_path, {"run.csv": b"step,val/loss\n1,2\n2,1\n"})).read_text()
    section = text.partition("[collection]\n")[2].partition("\n\n")[0]
    filled = "\n".join(line.removeprefix("# ") for line in section.splitlines())
    assert list(tomllib.loads(filled)) == ["name", "title", "licence", "citation", "source_url"]
    assert parse_mapping(f"[collection]\n{filled}\n".encode(), "m").collection.licence is not None


def test_guesses_by_odd_names_are_valid_once_the_comment_is_removed(tmp_path: Path) -> None:
    log = b"step,val/loss\n1,2\n2,1\n"
    fields = b'{"x\\"y.arch": "cnn", "a|b.batch_size": 8, "{o}.optimizer": "sgd"}'
    files = {f"runs/{{a}}/b{size}/m.csv": log for size in (8, 16)} | {"config.json": fields}
    lines = draft_mapping(unpacked(tmp_path, files)).read_text().splitlines()
    places = {
        name: next(line[2:] for line in lines if line.startswith(f"# {name} = ")) for name in ("patterns", "model")
    }
    assert tomllib.loads(places["model"])["model"] == '{x"y.arch}'
    mapping = parse_mapping(f"[path]\n{places['patterns']}\n[run]\n{places['model']}\n".encode(), "m")
    assert mapping.path.patterns[0].match("runs/{a}/b8/m.csv") == {"batch_size": 8}
    assert not any("{a|b." in line or "{{o}" in line for line in lines if "guess" in line)


def test_a_draft_says_that_the_batch_size_is_in_the_paths(tmp_path: Path) -> None:
    files = {f"bs{size}_seed0.csv": b"step,val/loss\n1,2\n2,1\n" for size in (8, 16)}
    text = draft_mapping(unpacked(tmp_path, files)).read_text()
    assert '# patterns = ["bs{batch_size:int}_seed0.csv"]   # guessed\n' in text
    assert "# batch_size comes from the path" in text
    assert "# batch_size = " not in text


HF_STATE = (
    b'{"log_history": [{"epoch": 1.0, "eval_loss": 0.5, "step": 10}, {"epoch": 2.0, "eval_loss": 0.4, "step": 20}],'
    b' "train_batch_size": 8, "max_steps": 20, "num_train_epochs": 2, "global_step": 20, "epoch": 2.0}'
)
NANOGPT = b"step 0: train loss 10.9, val loss 10.8\nstep 100: train loss 4.9, val loss 4.8\n"
PRINTED = b"batch_size = 12\ngradient_accumulation_steps = 40\n"
CURVE = b"step,val/loss\n1,2\n2,1\n"
FACTS = 'collection.name = "c"\nrun.dataset = "d"\nrun.model = "m"\nrun.optimizer = "o"\n'


@pytest.mark.parametrize(
    ("files", "product", "comment", "size"),
    [
        (
            {"trainer_state.json": HF_STATE},
            "per_device_train_batch_size * devices * accumulation",
            "guessed, of one process: complete the product",
            None,
        ),
        (
            {"a.csv": CURVE, "config.json": b'{"batch_size": 12, "gradient_accumulation_steps": 40, "n_layer": 12}'},
            "batch_size * gradient_accumulation_steps",
            "guessed: batch_size may be that of one process",
            480,
        ),
        (
            {"metrics.csv": CURVE, "hparams.yaml": b"trainer: {devices: 2, num_nodes: 4}\nbs: 32\n"},
            "bs * trainer.devices * trainer.num_nodes",
            "guessed: bs may be that of one process",
            256,
        ),
        (
            {"a.csv": CURVE, "config.json": b'{"micro_batch_size": 4, "world_size": 1, "update_freq": 1}'},
            "micro_batch_size * update_freq * world_size",
            "guessed, of one process",
            4,
        ),
        (
            {"a.csv": CURVE, "config.json": b'{"batch_size": 32, "gpus": 1}'},
            "batch_size",
            "guessed by its name, for example 32; if it is of one process, times devices and accumulation",
            32,
        ),
        (
            {"a.csv": CURVE, "config.json": b'{"batch_size": 32, "gpus": 2, "x": {"global_batch_size": 64}}'},
            "x.global_batch_size",
            "guessed by its name, for example 64",
            64,
        ),
        (
            {"a.csv": CURVE, "config.json": b'{"batch_size": 12, "tokens_per_iter": 491520}'},
            "tokens_per_iter",
            'guessed by its name, for example 491520; with batch_unit = "tokens"',
            491520,
        ),
    ],
)
def test_a_draft_never_offers_the_batch_size_of_one_process_alone(
    tmp_path: Path, files: dict[str, bytes], product: str, comment: str, size: int | None
) -> None:
    mapping = draft_mapping(unpacked(tmp_path, files))
    line = f'batch_size = "{{{product}}}"   # {comment}\n'
    assert f"# {line}" in mapping.read_text()
    mapping.write_text(f"{FACTS}run.{line}")
    plan = plan_ingest(None, [mapping.parent], Request())
    assert [study.batch_size for study in plan.studies] == ([] if size is None else [size])


@pytest.mark.parametrize(
    ("files", "line"),
    [
        (
            {"a.log": PRINTED + b"tokens per iteration will be: 491,520\n" + NANOGPT},
            "# batch_size comes from the format: {tokens_per_iteration}, for example 491520",
        ),
        ({"a.log": PRINTED + NANOGPT}, '# batch_size = "…"   # needed, a number of tokens'),
        (
            {"eval_bs8/a.csv": CURVE, "config.json": b'{"eval_batch_size": 8}'},
            '# batch_size = "…"   # needed, a number of examples',
        ),
    ],
)
def test_a_draft_prefers_what_the_format_states_and_else_says_the_unit(
    tmp_path: Path, files: dict[str, bytes], line: str
) -> None:
    assert f"\n{line}\n" in draft_mapping(unpacked(tmp_path, files)).read_text()


def test_a_batch_size_in_the_paths_beside_several_devices_is_a_factor(tmp_path: Path) -> None:
    files = {f"bs{size}/a.csv": CURVE for size in (8, 16)} | {"config.json": b'{"devices": 4}'}
    text = draft_mapping(unpacked(tmp_path, files)).read_text()
    assert '# batch_size = "{batch_size * devices}"   # guessed: batch_size may be that of one process\n' in text


def test_unknown_factors_of_a_draft_are_asked_for_by_name(tmp_path: Path) -> None:
    folder = unpacked(tmp_path, {"trainer_state.json": HF_STATE})
    line = next(each for each in draft_mapping(folder).read_text().splitlines() if each.startswith("# batch_size"))
    mapping = folder / "losslake.toml"
    text = f"{FACTS}run.{line.removeprefix('# ')}\n"
    for word in ("devices", "accumulation"):
        mapping.write_text(text)
        plan = plan_ingest(None, [folder], Request())
        assert [(item.rule, item.path) for item in plan.quarantined] == [("missing_fact", ".")]
        ((missing, _),) = plan.missing.items()
        assert f"batch_size needs {{{word}}}, which is unknown" in missing.what
        assert missing.add == f'{word} = "…"   # under [fields]'
        text += f"fields.{missing.add.replace('…', '4')}\n"
    mapping.write_text(text)
    assert [study.batch_size for study in plan_ingest(None, [folder], Request()).studies] == [128]


def test_a_batch_size_of_one_process_in_a_path_is_not_guessed_as_the_batch_size() -> None:
    assert guess_patterns(["micro_batch8/a.csv", "micro_batch16/a.csv"]) == ["micro_batch{micro_batch:int}/a.csv"]
    assert guess_patterns(["device-bs8-x/a.csv", "device-bs16-x/a.csv"]) == []


def test_guesses_of_a_draft_say_that_they_are(tmp_path: Path) -> None:
    files = {f"b{size}/a.csv": b"iter,eval_loss,acc\n1,2,3\n2,1,3\n" for size in (8, 16)}
    lines = draft_mapping(unpacked(tmp_path, files)).read_text().splitlines()
    for start in ("# patterns = ", "# eval_loss = ", "# acc = "):
        assert [line for line in lines if line.startswith(start) and "guessed" in line], lines


def test_without_a_draft_a_pickle_is_told_how_to_convert_it(tmp_path: Path) -> None:
    with pytest.raises(UnknownFormat, match=r"history\.pkl is a pickle .*CSV"):
        draft_mapping(unpacked(tmp_path, {"history.pkl": b"\x80\x04N."}))
