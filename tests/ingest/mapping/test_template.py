from __future__ import annotations

import pytest

from losslake_ingest.contracts.rules import Refusal, Rule
from losslake_ingest.contracts.run_log import Scalar
from losslake_ingest.mapping.template import Template, UnknownField


def test_a_constant_keeps_its_type() -> None:
    assert Template(64).fill({}) == 64
    assert Template("sgd").fill({}) == "sgd"


def test_a_single_field_keeps_the_fields_type() -> None:
    assert Template("{batch_size}").fill({"batch_size": 64}) == 64


def test_fields_are_filled_into_text() -> None:
    assert Template("mlperf-v{round}/{division}").fill({"round": 0.7, "division": "open"}) == "mlperf-v0.7/open"


def test_first_known_alternative_is_used() -> None:
    template = Template("{samples|train_samples}")
    assert template.fill({"train_samples": 2, "samples": 1}) == 1
    assert template.fill({"train_samples": 2}) == 2
    assert template.names == ["samples", "train_samples"]


def test_unknown_field_is_named_in_the_error() -> None:
    with pytest.raises(UnknownField) as error:
        Template("{a}-{b|c}").fill({"a": 1})
    assert error.value.alternatives == ["b", "c"]


def test_field_values_are_not_expanded_again() -> None:
    assert Template("{a}").fill({"a": "{b}", "b": "secret"}) == "{b}"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a * b}", 24),
        ("{a * b * 8}", 192),
        ("{a / b}", 8 / 3),
        ("{a / 2 * b}", 12),
        ("{text * 0.5}", 32),
        ("{absent|a * b}", 24),
        ("{absent * b|a}", 8),
        ("n{a * b}", "n24"),
        ("{loss / x}", 7),
    ],
)
def test_a_product_or_quotient_is_exact_and_from_left_to_right(text: str, value: Scalar) -> None:
    assert Template(text).fill({"a": 8, "b": 3, "text": "64", "loss / x": 7}) == value


@pytest.mark.parametrize("factor", ["many", True, float("nan"), 0])
def test_a_product_that_cannot_be_calculated_is_refused(factor: Scalar) -> None:
    with pytest.raises(Refusal) as refusal:
        Template("{a / b}").fill({"a": 8, "b": factor})
    assert refusal.value.rule == Rule.BAD_FACT


def test_the_unknown_factor_of_a_product_is_named() -> None:
    with pytest.raises(UnknownField, match=r"^b or 64$"):
        Template("{a * b|64}").fill({"a": 8})
