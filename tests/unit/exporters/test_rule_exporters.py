"""The same URLs are followed whatever crawler reads the rules."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from linkscore_scoring.errors import NoRules
from linkscore_scoring.exporters import FORMATS, SiteRules, TagPathRule, xpath_of
from linkscore_scoring.types import UrlRule
from support.exporters.rule_readers import READERS, browsertrix, heritrix, scrapy_module

HOST = "forum.example"
MARK = "MARK"
BREAKOUTS = (
    f"\n+{MARK}",
    f"\r-{MARK}",
    f"\u2028{MARK}",
    f"\x85{MARK}",
    f'"{MARK}',
    f"'{MARK}",
    f"'''\n{MARK}",
    f"</value><value>{MARK}",
    f"--><bean>{MARK}",
    f"]]>{MARK}",
    f"&{MARK};",
    f"${{{MARK}}}",
    f"#{{{MARK}}}",
    f"\\n{MARK}",
    f"\\{MARK}",
    "\\",
)

RULES = SiteRules(
    crawl="boards",
    host=HOST,
    policy="focus",
    state="goes by four expressions",
    revision=3,
    event_seq=120,
    seeds=(f"http://{HOST}/",),
    rules=(
        UrlRule("index", r"^https?://forum\.example/board/\d+/?$", 0.97, 30, 31, f"http://{HOST}/board/4"),
        UrlRule("thread", r"^https?://forum\.example/thread/[0-9]+$", 0.9, 200, 210),
    ),
    tag_paths=(TagPathRule("html/body/ul/li/a[topic]", "c1", "c2", 0.9, 0.8, 300),),
)


def hostile(piece: str) -> SiteRules:
    """Return rules every text of which holds `piece`."""
    escaped = "".join(rf"\x{{{ord(char):x}}}" if not char.isalnum() else char for char in piece)
    rules = tuple(
        UrlRule(
            f"thread{piece}", rf"^https?://forum\.example/t/{pattern}$", 0.5, 1, 2, f"http://{HOST}/{piece}"
        )
        for pattern in (escaped, re.escape(piece))
    )
    path = f"html/body/ul{piece}/a[{piece}]".replace("\n", " ")
    return replace(
        RULES,
        crawl=f"c{piece}",
        state=f"state {piece}",
        seeds=(f"http://{HOST}/{piece}",),
        rules=(*RULES.rules, *rules),
        denied=(UrlRule(f"copy{piece}", rf"^https?://forum\.example/c/{escaped}$", 0.5, 1, 2, piece),),
        tag_paths=(TagPathRule(path, piece, piece, 0.5, 0.5, 2),),
    )


FORUM = replace(
    RULES,
    rules=(
        UrlRule("index", r"^https?://forum\.example/viewforum\.php\?(?:[^#]*&)?f=\d+(?:&[^#]*)?$"),
        UrlRule("thread", r"^https?://forum\.example/viewtopic\.php\?(?:[^#]*&)?t=\d+(?:&[^#]*)?$"),
        UrlRule("news", r"^https?://forum\.example/news/"),
        UrlRule("behavior", r"^https?://forum\.example/(?:de|fr)/[^/?#]+\.html$|^http://forum\.example/x$"),
    ),
)
FOLLOWED = (
    "http://forum.example/",
    "https://forum.example/viewforum.php?f=2",
    "http://forum.example/viewtopic.php?f=2&t=17",
    "http://forum.example/viewtopic.php?t=17&f=2",
    "http://forum.example/viewtopic.php?t=17&start=15",
    "http://forum.example/news/2024/a-b.html?x=1",
)
ALTERNATIVES = ("http://forum.example/de/über.html", "http://forum.example/x")
LEFT = (
    "http://forum.example/member.php?u=3",
    "http://forum.example/viewtopic.php?t=",
    "http://forum.example/viewtopic.phpx?t=1",
    "http://forum.example/a/viewtopic.php?t=1",
    "http://forum.example/newsletter",
    "http://forum.example/xx",
)


@pytest.mark.parametrize("name", READERS)
def test_what_the_rules_allow_is_followed_and_nothing_else_of_the_site(name: str) -> None:
    follows = READERS[name](FORMATS[name](FORUM))
    found = FOLLOWED[1:] if name == "scrapy" else FOLLOWED  # it starts from the first one anyway
    assert [url for url in found if not follows(url)] == []
    assert [url for url in LEFT if follows(url)] == []


COPIES = (
    UrlRule("copy", r"^https?://forum\.example/news/print/[0-9]+$", 0.99, 40, 40),
    UrlRule("void_key", r"^https?://forum\.example/news\?(?:[^#]*&)?(?i:sid)=", 0.99, 9, 9),
)
A_COPY, A_SESSION = "http://forum.example/news/print/7", "http://forum.example/news/x?sid=7"


@pytest.mark.parametrize("name", READERS)
def test_copies_are_not_followed_whatever_else_fits_them(name: str) -> None:
    file = FORMATS[name](replace(FORUM, denied=COPIES))
    follows = READERS[name](file)
    assert [url for url in (A_COPY, *LEFT) if follows(url)] == []
    assert [url for url in (*FOLLOWED[1:], A_SESSION) if not follows(url)] == []
    assert [note for note in file.notes if "a query key changes nothing" in note]


@pytest.mark.parametrize("name", READERS)
def test_all_but_copies_is_followed_where_nothing_else_is_known(name: str) -> None:
    anywhere = (TagPathRule("html/body/a", "c1", "c2", 0.9, 0.8, 300),) if name == "scrapy" else ()
    follows = READERS[name](FORMATS[name](replace(FORUM, rules=(), tag_paths=anywhere, denied=COPIES)))
    if name != "scrapy":  # its link must stand where the tag path says
        assert [url for url in (*FOLLOWED[1:], *LEFT) if not follows(url)] == []
    assert not follows(A_COPY)


def test_scrapy_goes_by_tag_paths_though_keys_are_all_that_is_known_of_copies() -> None:
    anywhere = (TagPathRule("html/body/a", "c1", "c2", 0.9, 0.8, 300),)
    file = FORMATS["scrapy"](replace(FORUM, rules=(), tag_paths=anywhere, denied=COPIES[1:]))
    assert scrapy_module(file)["DENY"] == []
    assert len(scrapy_module(file)["RULES"]) == 1


@pytest.mark.parametrize("name", READERS)
def test_alternatives_are_kept(name: str) -> None:
    follows = READERS[name](FORMATS[name](FORUM))
    wanted = [url for url in ALTERNATIVES if name != "scrapy" or url.isascii()]
    assert all(follows(url) for url in wanted), "Scrapy escapes what is not ASCII before it looks"


@pytest.mark.parametrize("name", ["nutch", "heritrix"])
def test_other_hosts_are_not_let_in(name: str) -> None:
    follows = READERS[name](FORMATS[name](FORUM))
    for host in ("other.example", "xforum.example", "forum.example.evil", "forumxexample", "a.forum.example"):
        assert not follows(f"http://{host}/news/1")


def test_nutch_speaks_of_its_own_host_only() -> None:
    """So that the lines can be put before those of other hosts."""
    *_, last = FORMATS["nutch"](FORUM).text.splitlines()
    assert last == r"-^https?://(?:[^/?#]*@)?forum\.example(?::(?:80|443))?(?:[/?#]|$)"
    inside = replace(FORUM, host="forum.example:8080", seeds=("http://forum.example:8080/",))
    assert FORMATS["nutch"](inside).text.splitlines()[-1].endswith(r"forum\.example:8080(?:[/?#]|$)")


def test_of_a_domain_all_hosts_are_meant() -> None:
    domain = replace(
        FORUM,
        host="example.org",
        subdomains=True,
        seeds=("http://www.example.org/",),
        rules=(UrlRule("thread", r"^https?://(?:[^/]+\.)?example\.org/t/\d+$"),),
    )
    for name in READERS:
        follows = READERS[name](FORMATS[name](domain))
        assert follows("http://a.b.example.org/t/1"), name
        assert not follows("http://a.b.example.org/u/1"), name
    assert r"-^https?://(?:[^/?#]*@)?(?:[0-9A-Za-z_-]+[.])*example\.org" in FORMATS["nutch"](domain).text


def test_the_root_is_followed_with_and_without_its_slash() -> None:
    follows = READERS["nutch"](FORMATS["nutch"](FORUM))
    assert follows("http://forum.example")
    assert follows("http://forum.example/")
    assert not follows("http://forum.example//")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_printable_says_where_it_comes_from_and_names_what_it_leaves_out(name: str) -> None:
    odd = UrlRule("thread", r"^https?://forum\.example/\pL+$")
    file = FORMATS[name](replace(RULES, rules=(*RULES.rules, odd)))
    assert not {char for char in file.text if not " " <= char <= "~" and char != "\n"}
    assert file.text.endswith("\n")
    assert all(part in file.text for part in (HOST, "boards", "focus", "120"))
    assert "pL" in file.text or any("pL" in note for note in file.notes)
    with pytest.raises(NoRules, match=HOST):
        FORMATS[name](replace(RULES, rules=(), tag_paths=()))


@pytest.mark.parametrize("piece", BREAKOUTS, ids=ascii)
def test_hostile_text_adds_no_rule(piece: str) -> None:
    """Exactly the two rules of the piece are new, whatever it holds, and only it fits them."""
    for name, read in READERS.items():
        follows = read(FORMATS[name](hostile(piece)))
        assert follows("http://forum.example/thread/5"), name
        assert not follows("http://forum.example/admin"), name
        assert not follows("http://forum.example/t/x"), name
    if not set(piece) & set("\r\n#?"):
        for read in (heritrix, browsertrix):
            follows = read(FORMATS[read.__name__](hostile(piece)))
            assert follows(f"http://forum.example/t/{piece}"), piece


def test_hostile_text_stays_data_in_the_python_module() -> None:
    for piece in BREAKOUTS:
        module = scrapy_module(FORMATS["scrapy"](hostile(piece)))
        assert module["START_URLS"] == [f"http://forum.example/{piece}"]
        assert set(module) == {
            *("__builtins__", "LinkExtractor", "Rule", "ALLOWED_DOMAINS", "START_URLS", "DENY", "RULES"),
        }


def test_scrapy_has_one_rule_for_each_kind_with_its_callback() -> None:
    module = scrapy_module(FORMATS["scrapy"](FORUM))
    assert [rule.callback for rule in module["RULES"]] == [
        None,
        "parse_thread",
        "parse_page",
        "parse_page",
    ]
    assert all(rule.follow for rule in module["RULES"])
    assert module["ALLOWED_DOMAINS"] == ["forum.example"]


TAGS = (
    TagPathRule("html/body/ul/li/a[hot topic]", "c1", "c2", 0.9, 0.8, 300),
    TagPathRule("html/body/nav/a[]", "c1", "c1", 0.5, 0.4, 20),
    TagPathRule("div/a", "c2", "c2", 0.5, 0.3, 2),
)
PAGE = """<html><body><ul><li><a class="topic  hot" href="/1">1</a></li>
<li><a class="topic" href="/2">2</a></li><li><a class="hot topic new" href="/3">3</a></li></ul>
<nav><a href="/4">4</a><a class="x" href="/5">5</a><a class=" " href="/6">6</a></nav>
<p><span><div><a href="/7">7</a></div></span></p></body></html>"""


def test_without_url_rules_scrapy_goes_by_tag_paths() -> None:
    from scrapy.http import HtmlResponse

    page = HtmlResponse("http://forum.example/", body=PAGE.encode(), encoding="utf-8")
    for n, expected in ((1, "1"), (2, "146"), (3, "1467"), (4, "1467")):
        tags = (*TAGS, TagPathRule(TAGS[0].tag_path, "c2", "c2", 0.1, 0.1, 1))[:n]
        file = FORMATS["scrapy"](replace(RULES, rules=(), tag_paths=tags))
        (rule,) = scrapy_module(file)["RULES"]
        assert "".join(link.url[-1] for link in rule.link_extractor.extract_links(page)) == expected
        assert file.text.count("[contains(concat(") == 1


def test_the_other_crawlers_cannot_tell_tag_paths() -> None:
    tagged = replace(RULES, rules=(), tag_paths=TAGS)
    for name in set(READERS) - {"scrapy"}:
        with pytest.raises(NoRules, match=r"no rules about its URLs .goes by four.*json and scrapy"):
            FORMATS[name](tagged)
    assert len(json.loads(FORMATS["json"](tagged).text)["tag_paths"]) == 3


@pytest.mark.parametrize(
    ("tag_path", "xpath"),
    [
        ("html/body/a", "/html/body/a"),
        ("html/body/a[]", "/html/body/a[not(normalize-space(@class))]"),
        ("a", "//a"),
        ("html/o:p/a", "/html/*/a"),
        ("html/x'y/a", "/html/*/a"),
        ("", ""),
        ("[x]", ""),
    ],
)
def test_tag_paths_become_xpaths(tag_path: str, xpath: str) -> None:
    assert xpath_of(tag_path) == xpath


def test_json_says_everything_as_it_is() -> None:
    document = json.loads(FORMATS["json"](FORUM).text)
    assert (document["format"], document["version"]) == ("linkscore.rules", 1)
    assert [rule["pattern"] for rule in document["rules"]] == [rule.pattern for rule in FORUM.rules]
    assert document["revision"] == 3
    assert set(document) == {"format", "version", *SiteRules.__dataclass_fields__}
