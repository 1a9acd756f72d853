"""A stored blog of four topics, whose links say nothing of them and whose posts carry tags."""

from __future__ import annotations

from pathlib import Path

from linkscore_lab.archives import write_warc
from linkscore_lab.replay.prepare import SiteSource

HOME = "http://blog.test/"
TOPICS = ("kayaks", "cameras", "bread", "maps")
POSTS = 12


def blog() -> dict[str, str]:
    """A blog of four topics: a page of each lists its posts, whose links say nothing of it."""
    pages = {HOME: "".join(f"<a href='/tag/{topic}'>{topic}</a> " for topic in TOPICS)}
    for topic in TOPICS:
        posts = "".join(f"<li><a href='/{topic[0]}{n}'>read on</a></li>" for n in range(POSTS))
        pages[f"{HOME}tag/{topic}"] = f"<ul>{posts}</ul>"
        for n in range(POSTS):
            pages[f"{HOME}{topic[0]}{n}"] = (
                f"<title>All about {topic}</title><p>Part {n} of what one should know about {topic}.</p>"
                f"<a rel='tag' href='/tag/{topic}'>{topic}</a>"
            )
    return pages


def tagged_blog(folder: Path) -> SiteSource:
    """Store the blog and its labels in a folder."""
    labels = folder / "blog.labels.tsv"
    pages = blog()
    rows = [f"{url}\t{'post' if '<title>' in body else 'list'}" for url, body in pages.items()]
    labels.write_text("url\tpage_type\n" + "\n".join(rows) + "\n")
    return SiteSource([write_warc(folder / "blog.warc.gz", pages)], labels)
