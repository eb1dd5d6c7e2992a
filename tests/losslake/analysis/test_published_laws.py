"""Published laws of batch sizes and learning rates give the numbers of their authors, and say what they are about."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake.analysis.batch_laws import ZHANG_TOKENS, converted, published_laws
from losslake.analysis.critical_batch_size import OPTIMAL_BATCH_SIZE, OVERHEAD
from tests.critical_batch_sizes import NOMINAL, PRINTED

LAWS = published_laws()


@pytest.mark.parametrize(
    ("parameters", "batch_size"),
    [(85e6, 746.287), (1.2e9, 2578.188), (2e9, 3274.927)],
)
def test_the_law_of_zhang_predicts_what_its_notebook_prints(parameters: float, batch_size: float) -> None:
    value = LAWS["zhang2024-parameters"].value({"parameters": parameters})
    # Its constants are rounded, which the exponent turns into 4 in the sixth digit.
    assert value == pytest.approx(batch_size * ZHANG_TOKENS, rel=4e-6)


@pytest.mark.parametrize("size", NOMINAL)
def test_the_laws_of_zhang_in_parameters_and_tokens_agree_with_their_points(size: str) -> None:
    # Of 22.91 D^0.47 third parties quote no unit of D that fits, except millions of tokens.
    value = LAWS["zhang2024-tokens"].value({"tokens": 20 * NOMINAL[size] * 1e6})
    assert value == pytest.approx(PRINTED[size][3] * ZHANG_TOKENS, rel=0.05)


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        # METHODS 7.5: 2.1e8 tokens at a loss of 3.
        ("kaplan2020", {"loss": 3.0}, 1.12e6),
        ("deepseek2024-batch-size", {"compute": 1e20}, 0.2920 * 1e20**0.3271),
        ("deepseek2024-learning-rate", {"compute": 1e20}, 0.3118 * 1e20**-0.1250),
        ("steplaw2025-batch-size", {"tokens": 1e11}, 0.58 * 1e11**0.571),
        ("steplaw2025-learning-rate", {"parameters": 1e9, "tokens": 1e11}, 1.79 * 1e9**-0.713 * 1e11**0.307),
        ("merrill2025", {}, 4096.0 * 4096),
    ],
)
def test_law_has_the_value_of_its_formula(name: str, values: dict[str, float], expected: float) -> None:
    assert LAWS[name].value(values) == pytest.approx(expected, rel=5e-3 if name == "kaplan2020" else 1e-12)


def test_law_without_a_verified_coefficient_has_no_value() -> None:
    for name in ("bergsma2025-critical", "bergsma2025-optimal"):
        assert LAWS[name].value({"tokens": 1e10}) is None
        assert LAWS[name].formula.startswith("unknown factor tokens^0.")


def test_law_without_a_value_that_it_needs_has_none() -> None:
    assert LAWS["steplaw2025-learning-rate"].value({"parameters": 1e9}) is None


@pytest.mark.parametrize("loss", [1e-100, 1e80])
def test_law_beyond_the_numbers_of_a_float_has_no_value(loss: float) -> None:
    assert LAWS["kaplan2020"].value({"loss": loss}) is None


def test_range_is_that_of_the_publication_or_unknown() -> None:
    law = LAWS["steplaw2025-batch-size"]
    assert law.is_inside({"parameters": 5e8, "tokens": 1e10}) is True
    assert law.is_inside({"parameters": 5e8, "tokens": 1e12}) is False
    assert law.is_inside({"tokens": 1e10}) is None
    assert LAWS["deepseek2024-batch-size"].is_inside({"compute": 1e19}) is None


def test_formula_is_that_of_the_data() -> None:
    assert LAWS["zhang2024-parameters"].formula == "93.1968 (parameters/1e+06)^0.468278 x 512 tokens"
    assert LAWS["steplaw2025-learning-rate"].formula == "1.79 parameters^-0.713 tokens^0.307"


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_values_without_a_power_law_are_refused(value: float) -> None:
    with pytest.raises(ValueError, match="give a finite number above 0"):
        LAWS["zhang2024-parameters"].value({"parameters": value})


@given(st.floats(1e-3, 1e12))
def test_definitions_convert_there_and_back(critical: float) -> None:
    to_zhang = converted(critical, "mccandlish2018", "zhang2024")
    assert to_zhang is not None
    assert to_zhang == pytest.approx(OVERHEAD * critical + (1 + OVERHEAD) * OPTIMAL_BATCH_SIZE * ZHANG_TOKENS)
    back = converted(to_zhang, "zhang2024", "mccandlish2018")
    assert back == pytest.approx(critical, abs=1e-9 * to_zhang, rel=1e-6)


def test_what_does_not_follow_is_not_converted() -> None:
    for definition in ("optimal", "merrill2025"):
        assert converted(1e6, definition, "mccandlish2018") is None
    assert converted(1e6, "mccandlish2018", "optimal") is None
    # No B_c gives so small a B*.
    assert converted(307.2 * ZHANG_TOKENS, "zhang2024", "mccandlish2018") is None
    assert converted(1e6, "optimal", "optimal") == 1e6
