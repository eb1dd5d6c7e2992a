"""Contributors are checked: ORCID iDs by their check digit, roles by the list, names by their characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from losslake_schema.contributors import (
    MOST_CONTRIBUTORS,
    Contributor,
    Person,
    checked_contributors,
    orcid_check_digit,
    persons,
    roles,
)

# Those of https://support.orcid.org/hc/en-us/articles/360006897674 and of public records.
KNOWN = ("0000-0002-1825-0097", "0000-0001-5109-3700", "0000-0002-1694-233X", "0000-0002-9079-593X")


@pytest.mark.parametrize("orcid", KNOWN)
def test_known_ids_are_valid_as_text_and_as_url(orcid: str) -> None:
    assert Contributor("Ann", orcid).orcid == Contributor("Ann", f"https://orcid.org/{orcid}").orcid == orcid


@given(st.sampled_from(KNOWN), st.integers(0, 15), st.integers(1, 9))
def test_a_wrong_digit_is_noticed(orcid: str, place: int, by: int) -> None:
    at = [position for position, letter in enumerate(orcid) if letter != "-"][place]
    old = 10 if orcid[at] == "X" else int(orcid[at])
    wrong = f"{orcid[:at]}{(old + by) % 10}{orcid[at + 1 :]}"
    if wrong != orcid:
        with pytest.raises(ValueError, match=r"mistyped|isn't like"):
            Contributor("Ann", wrong)


@given(st.text("0123456789", min_size=15, max_size=15))
def test_the_check_digit_is_that_of_iso_7064(digits: str) -> None:
    last = orcid_check_digit(digits)
    value = 10 if last == "X" else int(last)
    weights = [pow(2, 15 - position, 11) for position in range(15)]
    assert (sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=True)) + value) % 11 == 1


@pytest.mark.parametrize(
    ("name", "orcid", "role", "contribution"),
    [
        ("", None, "software", None),
        ("123", None, "software", None),
        ("a" * 201, None, "software", None),
        ("a\nb", None, "software", None),
        ("a\u202eb", None, "software", None),
        ("Ann", "0000-0002-1825-009", "software", None),
        ("Ann", "\u0660000-0002-1825-0097", "software", None),
        ("Ann", None, "king", None),
        ("Ann", None, "software", "../up"),
        ("Ann", None, "software", "<b>"),
        ("Ann", None, "software", "a" * 65),
    ],
)
def test_anything_else_is_refused_in_one_line(
    name: str, orcid: str | None, role: str, contribution: str | None
) -> None:
    with pytest.raises(ValueError, match=r".") as error:
        Contributor(name, orcid, role, contribution)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_names_are_normalized() -> None:
    assert Contributor(" Zoe\u0308 ").name == "Zo\u00eb"


def test_every_role_says_what_it_is() -> None:
    assert "data collection" in roles()
    for role in roles().values():
        assert role.description.endswith(".")
        assert role.credit.startswith("https://credit.niso.org/contributor-roles/")


def test_persons_are_told_apart_by_orcid_and_else_by_name() -> None:
    rows = [
        ("Ann Lee", KNOWN[0], "software"),
        ("A. Lee", KNOWN[0], "validation"),
        ("Ann Lee", "", "resources"),
        ("Bob", "", "software"),
        ("Bob", "", "data collection"),
    ]
    assert persons(rows) == [
        Person("A. Lee", KNOWN[0], ("software", "validation")),
        Person("Ann Lee", "", ("resources",)),
        Person("Bob", "", ("data collection", "software")),
    ]


def test_contributors_are_listed_once_and_bounded() -> None:
    assert checked_contributors([Contributor("B"), Contributor("A"), Contributor("B")]) == (
        Contributor("A"),
        Contributor("B"),
    )
    with pytest.raises(ValueError, match=f"at most {MOST_CONTRIBUTORS}"):
        checked_contributors(Contributor(f"A{number}") for number in range(MOST_CONTRIBUTORS + 1))
