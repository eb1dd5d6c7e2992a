from __future__ import annotations

import pytest

from losslake_ingest.mapping.template import PathPattern


@pytest.mark.parametrize(
    ("pattern", "path", "fields"),
    [
        ("{optimizer}/b{batch_size:int}/*", "runs/sgd/b64/log.csv", {"optimizer": "sgd", "batch_size": 64}),
        ("{optimizer}/b{batch_size:int}/*", "sgd/b64/log.csv", {"optimizer": "sgd", "batch_size": 64}),
        ("lr{lr:float}/**", "x/lr1e-3/a/b.csv", {"lr": 0.001}),
        (
            "{org}/results/{system}/result_{n:int}.txt",
            "v0.7/A/results/s.1/result_12.txt",
            {"org": "A", "system": "s.1", "n": 12},
        ),
        ("{a}_{b}.csv", "one_two_three.csv", {"a": "one", "b": "two_three"}),
        ("s{seed:int}/x.csv", "xs1/x.csv", None),
        ("s{seed:int}/x.csv", "s1/y.csv", None),
        ("s{seed:int}/x.csv", "s1/x.csv/more", None),
        ("lr{lr:float}/*", "lr--/a", None),
    ],
)
def test_a_pattern_fits_whole_names_at_the_end_of_a_path(
    pattern: str, path: str, fields: dict[str, object] | None
) -> None:
    assert PathPattern.parse(pattern).match(path) == fields


@pytest.mark.parametrize(
    "pattern", ["{a", "a}", "{a b}/x", "{a:number}/x", "{a}/{a}", "{}", "a**/b", "{a}{b}{c}{d}", "**/**/**/**"]
)
def test_a_malformed_pattern_is_a_clear_error(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern '"):
        PathPattern.parse(pattern)


def test_path_with_many_slashes_is_matched_quickly() -> None:
    pattern = PathPattern.parse("{d}/**/{a}/**/{b}/**/{c}/x.csv")
    assert pattern.match("y" + "/a" * 2000 + "/x.csv") is not None
    assert PathPattern.parse("z/**/{a}/**/{b}/**/{c}/x.csv").match("y" + "/a" * 2000 + "/x.csv") is None


def test_long_name_is_matched_quickly() -> None:
    assert PathPattern.parse("{a}_{b}_{c}.csv").match("_" * 255) is None
    assert PathPattern.parse("{a}.csv").match("x" * 100_000 + ".csv") is None
