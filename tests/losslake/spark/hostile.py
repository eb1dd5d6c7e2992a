"""A small lake of everything that two engines could take differently."""

from __future__ import annotations

from pathlib import Path

from losslake.lake.lake import Lake
from losslake_ingest.run import ingest
from tests.ingest.offers import Files, TrialOffer, study_files, unpacked

MINIMIZED, MAXIMIZED, UNKNOWN = "val/classification_error", "val/average_precision", "val/unregistered"
HEADER = f"step,{MINIMIZED},{MAXIMIZED},{UNKNOWN}"
KNOWN = "shallue2018/mnist/simple_cnn_base/nesterov_momentum"
ODD = "odd, 100%=50%+'q'/été 日本/{a,b}[c]*?#;:/007"
GOALS = f"""
[[goal]]
metric = "{MINIMIZED}"
target = 0.3
source = "a test"

[[goal]]
metric = "{MAXIMIZED}"
target = 0.3
source = "a test"
"""
TIMED = """
[collection]
name = "timed"
[run]
dataset = "d"
model = "m"
optimizer = "1e3"
batch_size = 2
[time]
elapsed_s = "seconds"
"""


def trial(*rows: tuple[int, str], status: str = "COMPLETE") -> TrialOffer:
    """A trial whose value is the same in every metric, but for the last: there it is no decimal of few digits."""
    lines = [f"{step},{value},{value},{value if value.isalpha() else '0.12345678901234567'}" for step, value in rows]
    return TrialOffer(header=HEADER, rows=lines, status=status)


def hostile_lake(folder: Path) -> Lake:
    """A lake in a folder named like a pattern, of two releases; files of the first are not in the second."""
    lake = Lake.create(folder / "a lake [x]{y}*")
    ingest(lake, [unpacked(folder / "before", _studies("0.6"))])
    ingest(lake, [unpacked(folder / "after", _studies("0.2")), unpacked(folder / "timed", _timed())])
    return lake


def _studies(last: str) -> Files:
    trials = {
        1: trial((100, "0.4"), (200, "0.3"), (300, last)),
        2: trial((100, "0.4"), (200, "0.3"), (300, last)),
        3: trial((50, "nan"), (100, "inf"), (150, "-inf"), (200, "0.25")),
        4: trial((10, "0.01"), status="INFEASIBLE"),
        5: trial((20, "0.02"), (30, "1e-320"), (40, "-0.0"), status="INCOMPLETE"),
        6: trial(status="INFEASIBLE"),
        7: trial((0, "0.9"), (2**53, "0.1")),
        8: trial((30, "0.9"), status="INCOMPLETE"),  # after the whole schedule: it missed its goals
    }
    unreached = {1: trial((1, "0.30000000000000004"), (2, "0.3")), 2: trial((1, "nan"))}
    return (
        study_files(trials, 64, KNOWN)
        | study_files({1: trial((2**62, "0.1"))}, 2**40, KNOWN)
        | study_files(unreached, 8, KNOWN)
        | study_files(trials, 64, ODD)
        | study_files(unreached, 9, ODD)
        | {"losslake.toml": GOALS.encode()}
    )


def _timed() -> Files:
    rows = ["step,val/classification_error,seconds", "1,0.5,0.25", "2,0.25,nan", "3,0.125,1.5"]
    return {"losslake.toml": TIMED.encode(), "run.csv": "\n".join([*rows, ""]).encode()}
