"""The sentences of a page are read whole, without those of menus, code and charts."""

from __future__ import annotations

from tests.conformance.sentences import sentences_of


def test_sentences_of_a_page_are_those_of_its_text() -> None:
    page = """
    <header><p>Not a part of the main text.</p></header>
    <main><nav><ul><li>Neither are links in a menu here.</li></ul></nav>
    <p>Steps to <strong>val/loss &lt; 0.3</strong>
    by batch size. <a href="/">Beyond</a> 64 larger ones save none.</p><p>Too few words</p>
    <figure><p>A chart has texts of its own.</p></figure><ul><li>Batch size 8 took 57% more.<br></li></ul></main>
    """
    assert sentences_of(page) == [
        "Steps to val/loss < 0.3 by batch size.",
        "Beyond 64 larger ones save none.",
        "Batch size 8 took 57% more.",
    ]
