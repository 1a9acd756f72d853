"""Templates are called by names that a person can tell apart, each once."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from linkscore.v1 import inspection_service_pb2 as pb
from linkscore_console.views.template_names import names_of


def template(name: str, path: str, body: str = "") -> pb.Template:
    return pb.Template(
        name=name, example_url=f"http://a.org{path}", tag_paths=[f"html/body{body}/div.x/p/text()"]
    )


def called(*templates: pb.Template) -> list[str]:
    return list(names_of(templates).values())


def test_addresses_with_words_are_names_as_they_are() -> None:
    assert called(template("c0", "/thread/17"), template("c1", "/board/2"), template("c2", "/")) == [
        "/thread/#",
        "/board/#",
        "/",
    ]


def test_addresses_of_numbers_and_titles_give_way_to_the_kind_of_page() -> None:
    """Thirteen of sixteen templates of a blog were called `/#/#/…/`."""
    blog = ".blog-theme.wp-custom"
    names = called(
        template("c0", "/2010/05/a-first-post-of-mine/", f"{blog}.single.single-post"),
        template("c1", "/2010/05/", f"{blog}.archive.date"),
        template("c2", "/2011/", f"{blog}.archive.date.paged"),
        template("c3", "/author/ann/", f"{blog}.archive.author"),
    )
    assert names == ["single", "date", "paged", "/author/ann/"]


def test_words_that_all_kinds_share_are_left_out() -> None:
    kinds = ["question", "questions", "user-answers", "hot"]
    templates = [
        template(f"c{n}", f"/{n}/", f".qa-js-off.qa-template-{kind}") for n, kind in enumerate(kinds)
    ]
    assert called(*templates) == ["question", "questions", "user answers", "hot"]


def test_two_of_one_kind_have_a_title_too() -> None:
    names = called(
        template("c0", "/17/how-to-sail", ".t-question"),
        template("c1", "/18/how-to-row-a-boat", ".t-question"),
        template("c2", "/x/", ".t-other"),
        template("c3", "/y/", ".t-further"),
    )
    assert names == ["question “how to sail”", "question “how to row a boat”", "/x/", "/y/"]


def test_without_any_word_the_name_of_the_template_tells_them_apart() -> None:
    assert called(template("c0", "/1/2"), template("c1", "/3/4")) == ["/#/# (c0)", "/#/# (c1)"]


@given(st.lists(st.tuples(st.text("/a1-#.%[", max_size=12), st.text(".ab-[]", max_size=6)), max_size=8))
def test_no_two_are_called_alike(given_: list[tuple[str, str]]) -> None:
    templates = [template(f"c{n}", path, body) for n, (path, body) in enumerate(given_)]
    names = called(*templates)
    assert len(set(names)) == len(templates)
    assert all(names)
