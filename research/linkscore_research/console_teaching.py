"""What a dozen answers given through the console are worth: `python -m linkscore_research.console_teaching`.

Real Scrapy crawls each stored site for user content with a quarter of its pages, three times: told nothing,
with twelve answers that a script which knows the labels gives through the Teach page while the crawl goes on,
and with feedback on every fetch. Prints one line a crawl.
"""

from __future__ import annotations

import re
import subprocess
import sys
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from linkscore_lab.crawls.crawl import make_mode, with_settings
from linkscore_lab.crawls.servers import own
from linkscore_lab.crawls.spider.plan import PageFetch
from linkscore_lab.crawls.testbed import Testbed, warc_testbed
from linkscore_lab.datasets.site import identity

SITES = {
    "blog_wordpress": ("post", "post_comment_page", "page"),
    "qa_q2a": ("question", "question_page", "user"),
    "forum_phpbb": ("thread", "thread_page", "profile"),
}
"""User content of each site, as its labels say."""
ANSWERS, FIRST, EVERY = 12, 30, 15
"""Answers given, fetches before the first of them, and between two."""


@contextmanager
def console(target: str) -> Iterator[str]:
    """Run a console that may write; gives its address."""
    command = [
        sys.executable,
        "-m",
        "linkscore_cli",
        "console",
        "--target",
        target,
        "--listen",
        "127.0.0.1:0",
    ]
    with subprocess.Popen([*command, "--write"], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1]
        process.terminate()


class Teacher:
    """Answers through the Teach page, like a reader: the first card it has not answered."""

    def __init__(self, address: str, crawl: str, site: str, is_wanted: Callable[[str], bool]) -> None:
        self.page = f"{address}crawls/{crawl}/sites/{site}/teach"
        self.is_wanted = is_wanted
        self.said: dict[str, bool] = {}
        self.fetches = 0

    def fetched(self, fetch: PageFetch) -> None:
        """Answer when it is time."""
        self.fetches += 1
        due = self.fetches >= FIRST and (self.fetches - FIRST) % EVERY == 0
        if due and len(self.said) < ANSWERS:
            self.answer()

    def answer(self) -> None:
        """Answer the first card."""
        text = urllib.request.urlopen(self.page).read().decode()
        cards = [unescape(url) for url in re.findall(r'name="url" value="([^"]+)">', text)]
        token = re.search(r'name="token" value="([^"]+)"', text)
        url = next((card for card in cards if card not in self.said), None)
        if url is None or token is None:
            return
        self.said[url] = self.is_wanted(url)
        form = {"token": token[1], "url": url, "answer": "wanted" if self.said[url] else "unwanted"}
        data = urllib.parse.urlencode(form).encode()
        urllib.request.urlopen(f"{self.page}/answer", data=data).close()


def crawl(testbed: Testbed, name: str, how: str, address: str, target: str, log: Path) -> str:
    """Crawl a site once; returns the line to print."""
    wanted, crawl_name = testbed.wanted(SITES[name]), f"{name}-{how}".replace("_", "-")
    mode = make_mode("harvest", target, crawl_name, feedback=how == "feedback")
    mode = with_settings(mode, {"CONCURRENT_REQUESTS": 1})
    host = urllib.parse.urlsplit(testbed.target.entry).netloc
    types = testbed.survey.types
    teacher = Teacher(address, crawl_name, host, lambda url: types.get(identity(url), "") in SITES[name])
    note = teacher.fetched if how == "answers" else lambda fetch: None
    _, row = testbed.run(mode, testbed.budget("25%"), wanted, fetched=note, log=log)
    said = f"{sum(teacher.said.values())} wanted, {len(teacher.said) - sum(teacher.said.values())} not"
    return f"{name}\t{how}\t{row.metrics['valid_ratio']:.3f}\t{row.metrics['area_25pct']:.3f}\t{said}"


@click.command()
@click.option("--corpora", type=click.Path(path_type=Path), default=Path("../shared/corpora"))
@click.option("--how", "ways", multiple=True, default=("nothing", "answers", "feedback"))
def main(corpora: Path, ways: tuple[str, ...]) -> None:
    """Measure, site by site."""
    with (
        TemporaryDirectory() as folder,
        own(Path(folder) / "server.log")() as target,
        console(target) as address,
    ):
        for name in SITES:
            labels = corpora / f"{name}.labels.tsv.gz"
            with warc_testbed(corpora / f"{name}.warc.gz", labels, lambda: None) as testbed:
                for how in ways:
                    print(crawl(testbed, name, how, address, target, Path(folder) / "crawl.log"), flush=True)


if __name__ == "__main__":
    main()
