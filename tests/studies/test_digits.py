import numpy as np

from studies.digits import SPLIT_ROWS, load_splits


def test_every_scan_is_in_exactly_one_split() -> None:
    from sklearn.datasets import load_digits

    splits = load_splits()
    assert {name: len(split.labels) for name, split in splits.items()} == SPLIT_ROWS
    rows = np.concatenate([np.column_stack([split.inputs, split.labels]) for split in splits.values()])
    scans = np.column_stack([load_digits().data / 16, load_digits().target])
    assert sorted(map(tuple, rows.tolist())) == sorted(map(tuple, scans.tolist()))


def test_every_split_has_each_digit_in_the_same_proportion() -> None:
    from sklearn.datasets import load_digits

    shares = np.bincount(load_digits().target) / len(load_digits().target)
    for split in load_splits().values():
        assert np.abs(np.bincount(split.labels) - shares * len(split.labels)).max() <= 1


def test_the_split_is_the_same_every_time() -> None:
    first, second = load_splits(), load_splits()
    assert all((first[name].inputs == second[name].inputs).all() for name in SPLIT_ROWS)
