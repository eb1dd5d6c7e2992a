"""Texts of an answer that differ in a batch size alone are one on a page, with how many there are; REST has all."""

from __future__ import annotations

from losslake_service.web.caveats import by_reason, caveats


def test_texts_that_differ_in_a_batch_size_alone_are_one_with_their_number_and_range() -> None:
    sizes = [512, 8, 67456]
    texts = [f"batch size {size}: only c/d/m/lars has trials there" for size in sizes]
    budgets = [f"at batch size {size} the budget is all trials" for size in sizes]
    other = "batch size 64: only c/d/m/sgd has trials there"
    assert by_reason([texts[0], other, *budgets, *texts[1:], other]) == [
        "3 batch sizes from 8 to 67,456: only c/d/m/lars has trials there",
        other,
        "at 3 batch sizes from 8 to 67,456 the budget is all trials",
    ]


def test_lists_of_batch_sizes_and_texts_without_any_stay() -> None:
    texts = ["no trial at batch size 8, 16 or 32", "no trial at batch size 9 and 16 or 32", "c/d/m/o: 3 trials", "a"]
    assert by_reason(texts) == texts


def test_an_answer_without_caveats_has_none() -> None:
    assert caveats({"left_out": ["b"], "warnings": ["a", "b"]}) == ["b", "a"]
    assert caveats({"rows": []}) == []
