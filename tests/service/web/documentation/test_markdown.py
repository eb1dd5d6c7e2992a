"""Conversion of Markdown to HTML: links, anchors, and no HTML of the source."""

from __future__ import annotations

import pytest

from losslake_service.web.documentation.markdown import Rendered, github_anchor, rendered
from losslake_service.web.documentation.site_documents import Document
from tests.service.web.reading import Page


def document(text: str, release: int | None = None) -> Rendered:
    return rendered(Document("made-up", "docs/made-up.md", f"# Made up\n\n{text}"), release)


def test_first_heading_becomes_the_title_and_leaves_the_body() -> None:
    page = document("Some *plain* words.\n")
    assert (page.title, page.description) == ("Made up", "Some plain words.")
    assert page.body == "<p>Some <em>plain</em> words.</p>\n"


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Full scale (`python -m bench.full`)", "full-scale-python--m-benchfull"),
        ("Spark · Java", "spark--java"),
        ("Where it ends, and why", "where-it-ends-and-why"),
    ],
)
def test_heading_anchors_match_those_of_github(heading: str, anchor: str) -> None:
    page = document(f"## {heading}")
    assert [each.anchor for each in page.contents] == [anchor]
    assert github_anchor(heading.replace("`", "")) == anchor
    assert Page(page.body).ids == [anchor]


def test_repeated_and_reserved_headings_get_unique_anchors() -> None:
    page = document("## One\n\n## One\n\n## Search\n")
    assert [each.anchor for each in page.contents] == ["one", "one-1", "search-1"]


@pytest.mark.parametrize(
    "evil",
    ["<script>alert(1)</script>", "[x](javascript:alert(1))", "a <img src=x onerror=alert(1)>", "```\n</code><b>\n```"],
)
def test_html_and_script_links_are_escaped(evil: str) -> None:
    page = Page(document(evil).body)
    assert (page.scripts, page.links, page.loads) == ([], [], [])
    assert "<b>" not in page.text


def test_links_between_documents_keep_the_release() -> None:
    text = "[a](rest.md) [b](scale.md#x) [c](../ARCHITECTURE.md) [d](README.md) [e](https://arxiv.org) [f](#g)"
    assert Page(document(text, 3).body).links == [
        "/docs/rest?release=3",
        "/docs/scale?release=3#x",
        "/docs/architecture?release=3",
        "/docs?release=3",
        "https://arxiv.org",
        "#g",
    ]


@pytest.mark.parametrize("link", ["../pyproject.toml", "../../etc/passwd", "/etc/passwd", "explorer"])
def test_link_to_an_unserved_file_becomes_text(link: str) -> None:
    assert document(f"See [the `file`]({link}).").body == "<p>See the <code>file</code>.</p>\n"


def test_pictures_have_url_width_and_height() -> None:
    html = document("![A page](explorer/workload.png) ![A chart](scaling.svg)").body
    assert 'src="/docs/pictures/explorer/workload.png"' in html
    assert 'width="1400" height="900"' in html
    assert 'src="/docs/pictures/scaling.svg"' in html


def test_missing_picture_is_an_error_naming_the_document() -> None:
    with pytest.raises(KeyError, match=r"docs/made-up\.md shows nothing\.png"):
        document("![Nothing](nothing.png)")


def test_tables_and_code_are_scrollable_by_keyboard() -> None:
    html = document("## Sizes\n\n| a |\n| --- |\n| 1 |\n\n| b |\n| --- |\n| 2 |\n\n```sh\nls <x>\n```\n").body
    assert 'tabindex="0" role="region" aria-label="Table 1: Sizes"' in html
    assert 'aria-label="Table 2: Sizes"' in html
    assert '<th scope="col">a</th>' in html
    assert '<pre tabindex="0"><code>ls &lt;x&gt;\n</code></pre>' in html


def test_number_columns_are_aligned_without_inline_styles() -> None:
    html = document("| a | b |\n| --- | ---: |\n| 1 | 2 |\n").body
    assert '<th scope="col" class="number">b</th>' in html
    assert '<td class="number">2</td>' in html
    assert "style" not in html
