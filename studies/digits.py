"""The data: scikit-learn's bundled scans of handwritten digits, split once and for all."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

INPUT_WIDTH = 64
CLASS_COUNT = 10
SPLIT_SEED = 20190807
SPLIT_ROWS = {"train": 1197, "val": 300, "test": 300}


@dataclass(frozen=True)
class Split:
    """Examples of one split: `inputs` (rows, 64) float32, `labels` (rows,) integers 0 to 9."""

    inputs: NDArray[np.float32]
    labels: NDArray[np.intp]


def load_splits() -> dict[str, Split]:
    """Train, val and test examples, stratified by class with `SPLIT_SEED`; the same rows for every study.

    Pixels (0 to 16 in the scans) are divided by 16 and not centred, as MNIST usually is: the common mean of all images
    makes the problem ill-conditioned, so that large batches need momentum and a few hundred steps instead of a dozen.
    """
    # Imported here: scikit-learn takes a second, and those who want the constants need none of it.
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    scans = load_digits()
    inputs, labels = (scans.data / 16).astype(np.float32), scans.target.astype(np.intp)
    rest, test = train_test_split(
        np.arange(len(labels)), test_size=SPLIT_ROWS["test"], stratify=labels, random_state=SPLIT_SEED
    )
    train, val = train_test_split(rest, test_size=SPLIT_ROWS["val"], stratify=labels[rest], random_state=SPLIT_SEED)
    return {name: Split(inputs[rows], labels[rows]) for name, rows in (("train", train), ("val", val), ("test", test))}
