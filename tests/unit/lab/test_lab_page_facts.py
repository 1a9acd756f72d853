"""What is read of one page for the metrics."""

from __future__ import annotations

from linkscore_lab.datasets.survey import read_page

LONG = "A text block of at least twenty-five characters."


def test_canonical_names_the_content_whatever_the_text() -> None:
    a = read_page("http://s.test/t?p=9", b'<link rel="canonical" href="/t?x=1&amp;a=2"><p>one</p>')
    b = read_page("http://s.test/t", b'<link rel="Alternate canonical" href="/t?a=2&amp;x=1"><p>two</p>')
    assert a.content == b.content


def test_without_canonical_identical_long_text_is_one_content() -> None:
    html = f"<p>{LONG}</p>".encode()
    assert read_page("http://s.test/1", html).content == read_page("http://s.test/2", html).content


def test_long_texts_are_those_outside_links_and_scripts_wherever_they_stand() -> None:
    """What comes after the end of the page counts; what comes after a link within a text is a text."""
    long = "a text of more than twenty-five characters"
    body = (
        f"<html><body><p>{long} 1 <a href='/x'><b>{long} 2</b></a> {long} 3</p><script>{long} 4</script>"
        f"<ul><li>{long[:24]}</ul></body></html><p>{long} 5</p><script>{long} 6</script>"
    )
    found = read_page("http://s.test/t", body.encode()).blocks
    wanted = [read_page("http://s.test/", f"<p>{long} {n}</p>".encode()).blocks[0] for n in (1, 3, 5)]
    assert list(found) == wanted


def test_the_first_base_and_the_first_canonical_link_with_an_address_count() -> None:
    head = (
        "<base target=x><base href='http://s.test/b/'><base href='http://s.test/c/'>"
        "<link rel=canonical><link rel='Canonical' href=/no>"
        "<link rel=canonical href=one><link rel=canonical href=two>"
    )
    assert read_page("http://s.test/t", f"{head}<p>x</p>".encode()).content == "canonical http://s.test/b/one"
