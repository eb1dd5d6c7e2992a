from __future__ import annotations

import pytest

from losslake_ingest.mapping.template import Template, UnknownField


def test_a_constant_keeps_its_type() -> None:
    assert Template(64).fill({}) == 64
    assert Template("sgd").fill({}) == "sgd"


def test_a_single_field_keeps_the_fields_type() -> None:
    assert Template("{batch_size}").fill({"batch_size": 64}) == 64


def test_fields_are_filled_into_text() -> None:
    assert Template("mlperf-v{round}/{division}").fill({"round": 0.7, "division": "open"}) == "mlperf-v0.7/open"


def test_of_alternatives_the_first_known_field_is_taken() -> None:
    template = Template("{samples|train_samples}")
    assert template.fill({"train_samples": 2, "samples": 1}) == 1
    assert template.fill({"train_samples": 2}) == 2
    assert template.names == ["samples", "train_samples"]


def test_a_field_that_nothing_says_is_named() -> None:
    with pytest.raises(UnknownField) as error:
        Template("{a}-{b|c}").fill({"a": 1})
    assert error.value.alternatives == ["b", "c"]


def test_what_a_field_says_is_not_filled_in_again() -> None:
    assert Template("{a}").fill({"a": "{b}", "b": "secret"}) == "{b}"
