"""Pages to features, with expectations worked out by hand."""

from __future__ import annotations

import pytest

from linkscore_scoring.errors import InvalidPage
from linkscore_scoring.features.bags import plain_bag
from linkscore_scoring.features.html import extract

URL = "http://example.org/dir/page.html"


def page(markup: str, **more: str):
    return extract(markup.encode(), url=URL, **more)


def test_leaves_are_texts_images_and_anchors_with_href() -> None:
    found = page("<body><p>one</p><p>two <b>three</b></p><img src=x><a name=n>four</a><a href=y>five</a>")
    assert plain_bag(found.paths) == {
        "html/body/p/text()": 2,
        "html/body/p/b/text()": 1,
        "html/body/img": 1,
        "html/body/a": 1,
        "html/body/a/text()": 2,
    }


def test_hidden_subtrees_and_comments_have_no_paths_and_no_links() -> None:
    found = page(
        "<head><title>t</title></head><body><script>if (a<b) x</script><style>p{}</style><noscript><a href=x>y</a>"
        "</noscript><template><p>z</p></template><!-- <p>c</p> --><?php echo ?><p>shown</p>"
    )
    assert plain_bag(found.paths) == {"html/body/p/text()": 1}
    assert len(found.links) == 0


def test_class_tokens_are_distinct_and_sorted_on_every_element() -> None:
    paths = page('<body class="z a z"><p class=" b\ta ">x</p>').paths
    assert list(zip(paths.tags, paths.classes, strict=True)) == [
        ("html", ""), ("body", "a z"), ("p", "a b"), ("text()", "")
    ]  # fmt: skip


def test_parents_come_before_children() -> None:
    parents = page("<ul><li><a href=x>y</a><li><p>z</p></ul>").paths.parents
    assert all(parent < node for node, parent in enumerate(parents))


def test_links_carry_url_key_anchor_apath_and_rel() -> None:
    links = page('<body><div class=nav><a class="btn nav" rel="NoFollow ugc" href="/x?b=2&amp;a=1#f"> A\n <b>B</b></a>').links
    assert links.urls == ["http://example.org/x?b=2&a=1"]
    assert links.keys == ["http://example.org/x?a=1&b=2"]
    assert links.anchors == ["A B"]
    assert [links.apath_table[i] for i in links.apaths] == ["html/body/div/a[btn nav]"]
    assert links.rels == ["nofollow ugc"]


def test_long_texts_outside_anchors_are_blocks() -> None:
    text = "Twenty-five characters & more"
    found = page(f"<p>  {text.replace('&', '&amp;')} </p><p>short</p><a href=x>{'long anchor ' * 4}</a><p>{text}</p>")
    assert found.block_chars == [29, 29]
    assert found.block_hashes[0] == found.block_hashes[1]
    assert found.text_chars == 29 + 5 + 29
    assert found.anchor_chars == 47


def test_a_page_that_is_no_html_has_no_features_and_says_so() -> None:
    found = extract(b"%PDF-1.7 ...", url=URL, content_type="text/html")
    assert found.notes == ["not_html"]
    assert found.paths.parents == []


def test_a_relative_page_url_is_refused_with_its_field() -> None:
    with pytest.raises(InvalidPage, match="url: must be an absolute http or https URL, got '/x'"):
        extract(b"", url="/x")
