"""Pages made to cost much: families of bodies of any size, each one trick repeated."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import zstandard

_CJK = 0x4E00


@dataclass(frozen=True, slots=True)
class Family:
    """A body for each size in bytes, and the headers it is sent with."""

    body: Callable[[int], bytes]
    content_type: str = "text/html; charset=utf-8"
    content_encoding: str = ""


def repeated(unit: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    """Return a page of any size that repeats one text."""
    return lambda size: before + unit * (size // len(unit)) + after


def counted(unit: bytes, before: bytes = b"", after: bytes = b"") -> Callable[[int], bytes]:
    """Return a page of any size that repeats a text with a running number in place of ``%d``."""

    def body(size: int) -> bytes:
        parts, left = [], size
        for number in count():
            part = unit.replace(b"%d", b"%d" % number)
            left -= len(part)
            if left < 0:
                break
            parts.append(part)
        return before + b"".join(parts) + after

    return body


def tags_of(attributes: int, attribute: bytes = b"<a ") -> Callable[[int], bytes]:
    """Return a page of tags with so many attributes each."""
    return repeated(attribute * attributes + b">")


def nested(open_tag: bytes, close_tag: bytes, inside: bytes = b"x") -> Callable[[int], bytes]:
    """Return elements in one another."""

    def body(size: int) -> bytes:
        n = size // (len(open_tag) + len(close_tag))
        return open_tag * n + inside + close_tag * n

    return body


def distinct_characters(before: bytes, after: bytes) -> Callable[[int], bytes]:
    """Return a page with one long word of distinct ideographs."""

    def body(size: int) -> bytes:
        text = "".join(chr(_CJK + n % 20_000) for n in range(size // 3))
        return before + text.encode() + after

    return body


def gzip_members(size: int) -> bytes:
    """Return a body of empty gzip members."""
    member = gzip.compress(b"", mtime=0)
    return member * (size // len(member))


def zstd_skippable(size: int) -> bytes:
    """Return a body of empty skippable frames of zstd, and a page behind them."""
    frame = b"\x50\x2a\x4d\x18\x00\x00\x00\x00"
    return frame * (size // len(frame)) + zstandard.compress(b"<p>x")


def zstd_frames(size: int) -> bytes:
    """Return a body of empty frames of zstd."""
    frame = zstandard.compress(b"")
    return frame * (size // len(frame))


def many_classes(size: int) -> bytes:
    """Return links that have the same thousand classes and one of their own each."""
    shared = b" ".join(b"c%d" % n for n in range(500))
    tag = b'<a class="%s n%%d" href="/%%d">x</a>' % shared
    return counted(tag)(size)


def deep_links(size: int) -> bytes:
    """Return links at the bottom of a deep nesting, each one step deeper than the last."""
    return counted(b'<div class="d%d"><a href="/%d">x</a>')(size)


_A = b'<a href="'
PAGES: dict[str, Family] = {
    "tags in names": Family(repeated(b"<a")),
    "tags in attributes": Family(tags_of(998)),
    "tags in attributes, fewer": Family(tags_of(200)),
    "tags in attributes, more": Family(tags_of(4_000)),
    "attributes of one tag": Family(counted(b" a%d=1", b"<p", b">x")),
    "attributes without value": Family(counted(b" a%d", b"<p", b">x")),
    "attributes with quotes": Family(counted(b' a%d="<>"', b"<p", b">x")),
    "attributes by slashes": Family(counted(b"/a%d", b"<p", b">x")),
    "attributes of an open tag": Family(counted(b" a%d=1", b"<p")),
    "attributes of many open tags": Family(repeated(b'<a b="')),
    "attributes of body tags": Family(counted(b"<body a%d=1>", after=b"x")),
    "attributes of html tags": Family(counted(b"<html a%d=1>", after=b"x")),
    "equal attributes": Family(repeated(b" a=1", b"<p", b">x")),
    "999 attributes a tag": Family(repeated(b"<p" + b"".join(b" a%d" % n for n in range(999)) + b">")),
    "spaces in a tag": Family(repeated(b" ", b"<p", b">x")),
    "spaces and equals in a tag": Family(repeated(b" = ", b"<p a", b">x")),
    "spaces in many open tags": Family(repeated(b"<p     ")),
    "open tag names": Family(repeated(b"a", b"<", b">x")),
    "open quotes": Family(repeated(b"<a b='\"")),
    "open brackets": Family(repeated(b"<")),
    "end tags without start": Family(repeated(b"</p>")),
    "end tags of inline elements": Family(repeated(b"</b></i>")),
    "nested div": Family(nested(b"<div>", b"</div>")),
    "nested div, open": Family(repeated(b"<div>")),
    "nested div with classes": Family(counted(b"<div class=c%d>x")),
    "nested span and text": Family(repeated(b"<span>x")),
    "nested b across p": Family(repeated(b"<p><b><i>x")),
    "nested a": Family(counted(b"<a href=/%d>x")),
    "nested tables": Family(repeated(b"<table><tr><td>x")),
    "nested lists": Family(repeated(b"<ul><li>x")),
    "nested forms": Family(repeated(b"<form><div>x")),
    "nested options": Family(repeated(b"<select><option>x")),
    "nested objects": Family(repeated(b"<object><param>x")),
    "nested fonts": Family(repeated(b"<font size=1><p>x")),
    "wrong ends in depth": Family(
        lambda size: b"<div>" * (size // 10) + b"</span>" * (size // 14)
    ),
    "wrong ends of p in depth": Family(lambda size: b"<i>" * (size // 6) + b"<p>" * (size // 6)),
    "wrong ends of li in depth": Family(lambda size: b"<b>" * (size // 6) + b"<li></ul>" * (size // 18)),
    "deep links": Family(deep_links),
    "links in depth": Family(
        lambda size: b"<div>" * (size // 10) + counted(b"<a href=/%d>x</a>")(size // 2)
    ),
    "links of distinct places in depth": Family(
        lambda size: b"<div>" * (size // 50) + counted(b"<p class=c%d><a href=/%d>x</a></p>")(size)
    ),
    "texts in depth": Family(lambda size: b"<div>" * (size // 50) + b"<p>x" * (size // 5)),
    "attributes behind a script": Family(
        lambda size: b'<script>a<b c="</script><p' + counted(b" a%d")(size) + b' x="y">z'
    ),
    "images in depth": Family(lambda size: b"<div>" * (size // 10) + b"<img>x" * (size // 12)),
    "distinct paths": Family(counted(b"<p class=c%d>x</p>")),
    "distinct elements": Family(counted(b"<e%d>x</e%d>")),
    "entities": Family(repeated(b"&amp;")),
    "entities, open": Family(repeated(b"&amp")),
    "entities of nothing": Family(repeated(b"&nothing;")),
    "entities in numbers": Family(repeated(b"&#x10FFFF;")),
    "one long entity": Family(repeated(b"a", b"&")),
    "one long number": Family(repeated(b"9", b"<p>&#", b";")),
    "long numbers of double escapes": Family(repeated(b"9", b"<p>&amp;#", b";")),
    "long numbers in a link": Family(repeated(b"9", b"<a href='/&amp;#", b";'>x")),
    "ampersands": Family(repeated(b"&")),
    "ampersands in a link": Family(repeated(b"&", b"<a href='/?", b"'>x")),
    "comments": Family(repeated(b"<!---->")),
    "comments, open": Family(repeated(b"<!--")),
    "comment with dashes": Family(repeated(b"-", b"<!--", b">")),
    "instructions, open": Family(repeated(b"<?a")),
    "declarations": Family(repeated(b"<!DOCTYPE html>")),
    "declarations, open": Family(repeated(b"<!DOCTYPE html '")),
    "sections of characters": Family(repeated(b"<![CDATA[x]]>")),
    "scripts": Family(repeated(b"<script>x</script>y")),
    "scripts, open": Family(repeated(b"<script></scrip")),
    "styles, open": Family(repeated(b"<style></styl")),
    "text areas, open": Family(repeated(b"<textarea></textare")),
    "titles": Family(repeated(b"<title>x</title>")),
    "titles, open": Family(repeated(b"<title>")),
    "noscript nested": Family(repeated(b"<noscript><p>x")),
    "templates nested": Family(repeated(b"<template><p>x")),
    "heads": Family(repeated(b"<head><p>x")),
    "metas": Family(repeated(b"<meta name=robots content='a,b,c'>")),
    "meta with directives": Family(repeated(b"a,", b"<meta name=robots content='", b"'>")),
    "meta charsets": Family(repeated(b"<meta charset=x>"), content_type="text/html"),
    "meta charset, open": Family(repeated(b"<meta charset"), content_type="text/html"),
    "charsets in the header": Family(
        lambda size: b"<p>x", content_type="text/html;" + 'charset="' * 10_000
    ),
    "bases": Family(counted(b"<base href=/%d>")),
    "one long base": Family(repeated(b"../", b"<base href='/", b"'><a href='x'>y</a>")),
    "one base of many hosts": Family(
        lambda size: (
            b"<base href='http://" + ("".join(chr(_CJK + n % 20_000) for n in range(size // 6))).encode()
            + b"/'>" + counted(b"<a href=%d>x</a>")(size // 2)
        )
    ),
    "long base, many links": Family(
        lambda size: (
            b"<base href='http://h/" + b"a/" * 1_000 + b"'>" + counted(b"<a href=../%d>x</a>")(size)
        )
    ),
    "long base, many deep links": Family(
        lambda size: (
            b"<base href='http://h/" + b"a/" * 1_000 + b"'>"
            + counted(b"<a href=" + b"../" * 500 + b"%d>x</a>")(size)
        )
    ),
    "canonical links": Family(counted(b"<link rel=canonical href=/%d>")),
    "canonical link with rels": Family(repeated(b"a ", b"<link rel='", b"canonical' href=/a>")),
    "host of ideographs": Family(distinct_characters(_A + b"http://", b'/">x</a>')),
    "hosts of ideographs": Family(
        counted(_A + b"http://" + "".join(map(chr, range(_CJK, _CJK + 600))).encode() + b'%d/">x</a>')
    ),
    "host of dots": Family(repeated(b"a.", _A + b"http://", b'/">x</a>')),
    "hosts of dots": Family(counted(_A + b"http://%d." + "é.".encode() * 500 + b'/">x</a>')),
    "hosts of right-to-left letters": Family(
        counted(_A + b"http://%d" + "א\u0301".encode() * 400 + b'/">x</a>')
    ),
    "host of combining marks": Family(repeated("\u0323\u0301".encode(), _A + b"http://a", b'/">x</a>')),
    "hosts of combining marks": Family(
        counted(_A + b"http://%d" + "\u0323\u0301".encode() * 900 + b'/">x</a>')
    ),
    "ports of a link": Family(repeated(b"9", _A + b"http://a:", b'/">x</a>')),
    "ports of links": Family(counted(_A + b"http://a:" + b"9" * 1_900 + b'%d/">x</a>')),
    "users of a link": Family(repeated(b"@", _A + b"http://a", b'/">x</a>')),
    "brackets of a link": Family(repeated(b"[", _A + b"http://", b'/">x</a>')),
    "IPv6 of a link": Family(repeated(b":0", _A + b"http://[", b']/">x</a>')),
    "parents in a link": Family(repeated(b"../", _A, b'">x</a>')),
    "parents in links": Family(counted(_A + b"../" * 600 + b'%d">x</a>')),
    "parents in the middle": Family(repeated(b"a/../", _A + b"/", b'">x</a>')),
    "slashes in a link": Family(repeated(b"/", _A, b'">x</a>')),
    "backslashes in a link": Family(repeated(b"\\", _A, b'">x</a>')),
    "semicolons in a link": Family(repeated(b";", _A + b"/", b'">x</a>')),
    "semicolons in links": Family(counted(_A + b"/" + b";a" * 900 + b'%d">x</a>')),
    "escapes in a link": Family(repeated(b"%2F%", _A + b"/", b'">x</a>')),
    "escapes in links": Family(counted(_A + b"/" + b"%41" * 600 + b'%d">x</a>')),
    "parameters of a link": Family(counted(b"a%d=1&", _A + b"/?", b'">x</a>')),
    "parameters of links": Family(counted(_A + b"/?" + b"a&b=;" * 300 + b'%d">x</a>')),
    "controls before a link": Family(repeated(b"\x01", _A, b'http://a/">x</a>')),
    "tabs in a link": Family(repeated(b"\t", _A + b"ht", b'tp://a/">x</a>')),
    "one long data link": Family(repeated(b"A", _A + b"data:text/plain,", b'">x</a>')),
    "fragments in a link": Family(repeated(b"#", _A + b"/", b'">x</a>')),
    "scheme letters of a link": Family(repeated(b"a+", _A, b'">x</a>')),
    "plain dots of a link": Family(repeated(b"a.", _A + b"http://h/", b'?">x</a>')),
    "distinct links": Family(counted(b"<a href=/%d>x</a>")),
    "equal links": Family(repeated(b"<a href=/>x</a>")),
    "links of accents": Family(counted(_A + "/é%d?é=".encode() + b'">x</a>')),
    "links in another charset": Family(
        counted(_A + b"/\xe9%d?\xe9=" + b'">x</a>'), content_type="text/html; charset=gb18030"
    ),
    "fragments": Family(counted(b"<a href=#%d id=%d>x</a>")),
    "random values": Family(counted(_A + b"/a1b2c3d4e5f6a7b8/" * 100 + b'%d">x</a>')),
    "random parameters": Family(counted(_A + b"/?" + b"s=a1b2c3d4e5f6a7b8&" * 100 + b'%d">x</a>')),
    "classes of a link": Family(counted(b"c%d ", b"<a href=/ class='", b"'>x</a>")),
    "classes of links": Family(many_classes),
    "classes of an element": Family(counted(b"c%d ", b"<p class='", b"'>x</p>")),
    "classes of elements": Family(
        counted(b"<p class='" + b"".join(b"c%d " % n for n in range(2_000)) + b"n%d'>x</p>")
    ),
    "digits in a class": Family(repeated(b"1a", b"<p class='", b"'>x</p>")),
    "capitals in a class": Family(repeated(b"aA", b"<p class='", b"'>x</p>")),
    "words of menus in a class": Family(repeated(b"nav-", b"<p class='", b"has'>x</p>")),
    "dashes in a class": Family(repeated(b"-_", b"<p class='page", b"'>x</p>")),
    "anchor text": Family(repeated(b"x ", b"<a href=/>")),
    "anchor of parts": Family(repeated(b"<b>x</b>", b"<a href=/>")),
    "alternatives": Family(repeated(b"<img alt='a b'>", b"<a href=/>")),
    "one long alternative": Family(repeated(b"a ", b"<a href=/><img alt='", b"'></a>")),
    "relations of a link": Family(repeated(b"a ", b"<a href=/ rel='", b"'>x</a>")),
    "image sets": Family(repeated(b"a 1x, ", b"<img srcset='", b"'>")),
    "one long text": Family(repeated(b"x")),
    "one long text of blanks": Family(repeated(b" ", b"<p>", b"x")),
    "one long line of text": Family(repeated(b"x y ", b"<p>", b"</p>")),
    "short texts": Family(repeated(b"x<br>")),
    "dots in text": Family(repeated(b".", b"<p>x", b"x</p>")),
    "brackets in text": Family(repeated(b") ", b"<p>x", b"</p>")),
    "times": Family(counted(b"<p>%d minutes ago</p>")),
    "texts like dates": Family(repeated(b"<p>" + b"1 1- " * 23 + b"</p>")),
    "texts like times ago": Family(repeated(b"<p>" + b"1 x " * 29 + b"</p>")),
    "long times": Family(repeated(b"9", b"<time datetime='", b"'>x</time>")),
    "time of words": Family(repeated(b"1 mon ", b"<time datetime='", b"'>x</time>")),
    "time of spaces": Family(repeated(b" ", b"<time datetime='1", b"'>x</time>")),
    "time of letters": Family(repeated(b"1-1", b"<time datetime='", b"'>x</time>")),
    "time of clocks": Family(repeated(b"1:11 ", b"<time datetime='", b"'>x</time>")),
    "records": Family(counted(b"<li><a href=/%d>some title of a link</a><p>text of the record</p></li>")),
    "records of one parent each": Family(
        counted(b"<div><p class=a>text of twenty characters</p><p class=a><a href=/%d>title</a></p></div>")
    ),
    "records in depth": Family(
        repeated(b"<div class=r><p>text of twenty characters or more</p></div><div class=r>")
    ),
    "regions in depth": Family(repeated(b"<div class=a><a href=/>x</a></div><div class=a>")),
    "records with wide children": Family(
        lambda size: b"<ul>" + (b"<li>" + b"<i>x</i>" * (size // 1_600)) * 200 + b"</ul>"
    ),
    "headings": Family(counted(b"<h2><a href=/%d>a title of a text</a></h2><p>" + b"text " * 20 + b"</p>")),
    "nested headings": Family(repeated(b"<h2><p><a href=/>a title of a text</a>")),
    "zero bytes": Family(repeated(b"\x00<p>", b"<html>")),
    "broken bytes": Family(repeated(b"\xff")),
    "broken bytes in tags": Family(repeated(b"<p \xff>\xed\xa0\x80")),
    "surrogates": Family(repeated(b"&#xD800;")),
    "right to left": Family(repeated("\u202e\u05d0".encode())),
    "no characters of XML": Family(repeated(b"\x01\x02<p>\x0b")),
    "namespaces": Family(repeated(b"<a:b xmlns:a='b' a:c=d>x")),
    "namespaces, distinct": Family(counted(b"<p xmlns:a%d='b'>x</p>")),
    "namespaces of svg": Family(repeated(b"<svg><a xlink:href=/>x")),
    "frames": Family(repeated(b"<frameset><frame>x")),
    "plain text": Family(repeated(b"<p>x", b"<plaintext>")),
    "charset of punycode": Family(repeated(b"<p>ab-cd"), content_type="text/html; charset=punycode"),
    "charset of punycode, broken": Family(
        repeated(b"<p>\xe9"), content_type="text/html; charset=punycode"
    ),
    "charset of idna": Family(repeated(b"<p>a.\xe9"), content_type="text/html; charset=idna"),
    "charset of escapes": Family(repeated(b"<p>\\x41"), content_type="text/html; charset=unicode_escape"),
    "charset of raw escapes": Family(
        repeated(b"<p>\\u0041"), content_type="text/html; charset=raw-unicode-escape"
    ),
    "charset of UTF-7": Family(repeated(b"<p>+AGE-"), content_type="text/html; charset=utf-7"),
    "charset of states": Family(repeated(b"<p>\x1b$B0!"), content_type="text/html; charset=iso-2022-jp"),
    "charset of hz": Family(repeated(b"<p>~{0!~}"), content_type="text/html; charset=hz-gb-2312"),
    "charset, broken": Family(repeated(b"<p>\x81\xff"), content_type="text/html; charset=shift_jis"),
    "charset, broken and long": Family(repeated(b"\x80"), content_type="text/html; charset=gb18030"),
    "charset, broken Korean": Family(repeated(b"<p>\xff\x80"), content_type="text/html; charset=iso-2022-kr"),
    "charset of 16 bits": Family(
        repeated(b"<\x00p\x00>\x00\x00\xd8"), content_type="text/html; charset=utf-16le"
    ),
    "gzip members": Family(gzip_members, content_encoding="gzip"),
    "gzip members, unsaid": Family(gzip_members),
    "zstd skippable frames": Family(zstd_skippable, content_encoding="zstd"),
    "zstd frames": Family(zstd_frames, content_encoding="zstd"),
}  # fmt: skip
"""All families by name."""
