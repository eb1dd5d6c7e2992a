"""A small lake with what people search for: MLPerf submissions, optimizers of one problem, references."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from losslake.lake.lake import Lake
from losslake.questions.release.view import ReleaseView
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, TrialOffer, study_files, unpacked

BERT, RESNET = "mlperf-training/wikipedia_2020/bert/lamb", "mlperf-training/imagenet/resnet/lars"


@dataclass(frozen=True)
class Stored:
    """A workload. sizes: batch size and number of trials. facts: of its trials."""

    workload: str
    sizes: Sequence[tuple[int, int]]
    metric: str = "val/accuracy"
    facts: Sequence[str] = ()

    def files(self) -> Files:
        """Return the files of its studies."""
        names = ("org", "accelerator", "round", "benchmark")
        facts = dict(zip(names, self.facts, strict=False))
        offer = TrialOffer(header=f"step,{self.metric}", metadata={"parameters": facts})
        files: Files = {}
        for size, n_trials in self.sizes:
            files |= study_files(dict.fromkeys(range(1, n_trials + 1), offer), size, self.workload)
        return files


STORED = (
    Stored(RESNET, [(4096, 2), (32768, 3)], facts=("NVIDIA", "NVIDIA H100", "4.0", "resnet")),
    Stored("mlperf-training/v0.5/imagenet/resnet/sgd", [(4096, 1)], facts=("NVIDIA", "NVIDIA V100", "0.5", "resnet")),
    Stored(BERT, [(4096, 1), (16384, 2)], facts=("Google", "Google TPU v4", "4.0", "bert")),
    Stored(
        "mlperf-training/kits19/unet3d/nag",
        [(56, 6)],
        "val/mean_dice",
        ("Quanta_Cloud_Technology", "NVIDIA A100", "3.0", "unet3d"),
    ),
    Stored(
        "mlperf-training/govreport/llama2_70b_lora/adamw", [(8, 3)], "val/cross_entropy_error",
        ("NVIDIA", "NVIDIA H100", "4.0", "llama2_70b_lora"),
    ),
    Stored("mlperf-training/criteo_1tb/dlrm/sgd", [(32768, 1)], "val/auc", ("NVIDIA", "NVIDIA A100", "2.0", "dlrm")),
    Stored(
        "mlperf-training/wmt16_en_de/gnmt/adam", [(1024, 2)], "val/bleu", ("Google", "Google TPU v3", "0.6", "gnmt")
    ),
    Stored(
        "mlperf-training/librispeech/rnnt/lamb", [(2048, 2)], "val/word_error_rate",
        ("Dell", "NVIDIA A100", "2.0", "rnnt"),
    ),
    Stored("mlperf-rcp/imagenet/resnet/unknown", [(4096, 9)], "val/converged"),
    Stored("bundled/digits/mlp_64/adam", [(64, 4)]),
    Stored("bundled/digits/mlp_64/adamw", [(64, 9)]),
    Stored("bundled/digits/mlp_64/sgd", [(64, 3)]),
    Stored("deepobs/mnist/vae/adam", [(64, 2)]),
    Stored("deepobs/mnist/vae/sgd", [(64, 9)]),
    Stored("modded-nanogpt/fineweb_10b/gpt2_track_1_short/muon", [(512, 2)], "val/cross_entropy_error"),
)  # fmt: skip


def view_to_search(folder: Path) -> ReleaseView:
    """Return the open release of the lake, made in a folder."""
    files: Files = {}
    for each in STORED:
        files |= each.files()
    lake = Lake.create(folder / "lake")
    assert not ingest(lake, [unpacked(folder / "logs", files)]).quarantined
    return ReleaseView.open(lake, lake.release())
