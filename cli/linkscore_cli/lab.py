"""The commands of the lab: what can be tried without a crawl of one's own. They need the extra ``lab``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from linkscore_scoring.errors import LinkscoreError

_ARCHIVE = click.Path(exists=True, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FOLDER = click.Path(file_okay=False, path_type=Path)
_OUT = click.Path(dir_okay=False, path_type=Path)


@contextmanager
def _lab() -> Iterator[None]:
    """Turn errors of the lab into messages of the command line."""
    try:
        yield
    except ImportError as exc:
        raise click.ClickException(f"needs the lab extra: pip install 'linkscore[lab]' ({exc})") from exc
    except LinkscoreError as exc:
        raise click.ClickException(str(exc)) from exc


@click.command()
@click.option("--warc", type=_FILE, help="Stored site instead of the demonstration site.")
@click.option("--labels", type=_FILE, help="TSV of url and page_type.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--budget", default="25%", show_default=True, help="Pages, or share of the reachable pages.")
@click.option(
    "--policy",
    default="harvest",
    show_default=True,
    help="Policies to compare with breadth-first, separated by commas.",
)
@click.option("--out", type=_FOLDER, default=Path("out"), show_default=True)
def demo(relevant: str, policy: str, **options: Any) -> None:
    """Crawl a site with real Scrapy, breadth-first and with linkscore, and compare."""
    with _lab():
        from linkscore_lab.experiments.scrapy.demo import run_demo

        run_demo(relevant=_split(relevant), policy=_split(policy), **options)


_REPLAY_OUTPUTS = ("target", "report", "json_out", "workers", "browse_logs", "browse_days")


@click.command()
@click.argument("archives", nargs=-1, type=_ARCHIVE)
@click.option("--suite", type=_FILE, help="TOML file of sites, tasks and policies, instead of archives.")
@click.option("--labels", type=_FILE, help="TSV of url and page_type.")
@click.option("--url-list", type=_FILE, help="For a folder of HTML: table of path and url.")
@click.option("--relevant", default="", help="Wanted page types, separated by commas.")
@click.option("--relevant-url", default="", help="Regular expression found in the URL of a wanted page.")
@click.option("--structured-data", default="", help="Type (QAPage, say) that wanted pages carry.")
@click.option("--feedback-file", type=_FILE, help="TSV of url and reward in [0, 1].")
@click.option("--target-type", "targets", multiple=True, help="Page type to crawl for; repeatable.")
@click.option("--policy", "policies", multiple=True, help="NAME[:param=value,...]; repeatable.")
@click.option("--budget", default=None, help="Fetches, or share of the reachable pages.  [default: 25%]")
@click.option("--seeds", type=int, default=None, help="Runs of each crawl.  [default: 5]")
@click.option("--starts", type=int, default=None, help="Start pages: the entry, others drawn.  [default: 1]")
@click.option("--examples", type=int, default=None, help="Give so many example pages per type.")
@click.option("--feedback", is_flag=True, help="Report the label after each fetch.")
@click.option("--delay", type=int, default=None, help="Fetches by which feedback is late.")
@click.option("--share", type=float, default=None, help="Share of the pages with feedback.")
@click.option("--every", type=int, default=None, help="Fetches between two bucket orders.  [default: 1]")
@click.option("--clusterer", default=None, help="How templates are found.")
@click.option("--paper", is_flag=True, help="Learn by the letter of Xu 2018.")
@click.option("--free-sampling", is_flag=True, help="Charge nothing until the site is learned (Xu 2018).")
@click.option("--obey-verdicts", is_flag=True, help="Leave links that are to skip when their turn comes.")
@click.option("--obey-requests", is_flag=True, help="Fetch what the model asks for before anything else.")
@click.option("--leave-site-out", is_flag=True, help="Page types by the model trained without the site.")
@click.option(
    "--browse-log", "browse_logs", multiple=True, type=_FILE, help="Browse log of a site; repeatable."
)
@click.option("--browse-days", type=int, default=0, help="Days of it that are known.  [default: all]")
@click.option("--target", default="", help="Score with the server at host:port instead of in process.")
@click.option("--report", type=_OUT, help="Write an HTML report.")
@click.option("--json", "json_out", type=_OUT, help="Write the results.")
@click.option("--workers", default=0, help="Processes; 0 means one a core.")
def replay(**options: Any) -> None:
    """Crawl a stored site again under each policy, and compare what they would have found."""
    with _lab():
        from linkscore_lab.replay import command
        from linkscore_lab.replay import command as replay_options

        outputs = {name: options.pop(name) for name in _REPLAY_OUTPUTS}
        command.run_replay(replay_options.suite_of(options), **outputs)


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--site", "sites", multiple=True, help="Name of a site; repeatable. Default: all with a target."
)
@click.option("--policy", "policies", multiple=True, default=("breadth_first", "harvest"), show_default=True)
@click.option("--out", type=_OUT, default=Path("suite.toml"), show_default=True)
def suite(folder: Path, sites: tuple[str, ...], policies: tuple[str, ...], out: Path) -> None:
    """Write the suite of a folder of stored sites with page_types.tsv."""
    with _lab():
        from linkscore_lab.replay.suite import suite_text

        out.write_text(suite_text(folder, policies, sites, relative_to=out.parent), encoding="utf-8")
        click.echo(f"suite: {out}")


@click.command()
@click.argument("a", type=_FILE)
@click.argument("b", type=_FILE)
@click.option(
    "--metric", "metrics", multiple=True, help="Metric to compare; repeat it for several. [valid_ratio, ...]"
)
@click.option("--policy-a", "policy_first", default="", help="Set this policy of A against --policy-b of B.")
@click.option("--policy-b", "policy_second", default="", help="Policy of B for --policy-a.")
@click.option(
    "--pair",
    type=click.Choice(["seed", "start", "site"]),
    default="seed",
    show_default=True,
    help="Compare run by run, or means over seeds, or over seeds and starts.",
)
def compare(a: Path, b: Path, metrics: tuple[str, ...], **options: Any) -> None:
    """Say what result file B gained over A, and whether that is more than noise."""
    with _lab():
        from linkscore_lab.replay.compare import compare_files

        compare_files(a, b, metrics, **options)


@click.command()
@click.argument("sites", metavar="SITE...", nargs=-1, required=True, type=_FILE)
@click.option(
    "--labels",
    multiple=True,
    required=True,
    type=_FILE,
    help="TSV of url and page_type; one for all sites, or repeated, one for each.",
)
@click.option(
    "--clusterer", "clusterers", multiple=True, help="Name of a clusterer; repeatable. [default: all]"
)
@click.option("--page-types", type=_FILE, help="TSV of site, page_type and template: templates are classes.")
@click.option("--pages", default=1_000, show_default=True, help="Pages sampled of each site.")
@click.option("--seed", default=1, show_default=True, help="Seed of sample and folds.")
@click.option("--json", "json_file", type=_OUT, help="Write figures here.")
def cluster(sites: tuple[Path, ...], labels: tuple[Path, ...], **options: Any) -> None:
    """Measure how well page clusterers find the templates of stored, labelled sites (WARC files)."""
    with _lab():
        from linkscore_lab.experiments.clustering.report import run_cluster_report

        run_cluster_report(sites, labels, **options)


@click.command()
@click.argument("archive", type=_FILE)
@click.option("--links", type=_FILE, help="TSV of page_url, href, label and anchor_text of page flips.")
@click.option("--labels", type=_FILE, help="TSV of url and page_type, later pages named like thread_page.")
@click.option("--json", "json_file", type=_OUT, help="With --links: write figures here.")
def flips(archive: Path, links: Path | None, labels: Path | None, json_file: Path | None) -> None:
    """Measure how well page flips are told, in stored pages with labelled links or page types (WARC file)."""
    if (links is None) == (labels is None):
        raise click.UsageError("name either --links or --labels")
    with _lab():
        from linkscore_lab.experiments.pagination.command import run_by_type, run_page_links

        if links is not None:
            run_page_links(archive, links, json_file)
        elif labels is not None:
            run_by_type(archive, labels)


@click.group()
def train() -> None:
    """Train what the package ships as data."""


@train.command("page-types")
@click.argument("corpora", metavar="CORPUS...", nargs=-1, required=True, type=_ARCHIVE)
@click.option("--out", type=_OUT, help="Write the weights here.")
@click.option("--report", is_flag=True, help="Classify pages of each site by the model without it.")
@click.option("--report-pages", default=0, show_default=True, help="Pages of each type for that; 0: all.")
@click.option("--per-type", default=60, show_default=True, help="Pages of each type to train on; 0: all.")
@click.option("--workers", default=0, help="Processes; 0 means one a core.")
def page_types(corpora: tuple[Path, ...], **options: Any) -> None:
    """Train index and thread page classifiers on labelled archives, or folders of them."""
    with _lab():
        from linkscore_lab.experiments.page_types.command import run_training

        run_training(corpora, **options)


@click.command()
@click.argument("labels", metavar="LABELS...", nargs=-1, required=True, type=_FILE)
@click.option("--sample", default=30, show_default=True, help="URLs of each page type to learn from.")
@click.option("--paper", is_flag=True, help="Learn by the letter of Jiang 2013.")
def regexes(labels: tuple[Path, ...], sample: int, paper: bool) -> None:
    """Learn URL expressions of each page type of a site (TSV of url and page_type), and match all URLs."""
    with _lab():
        from linkscore_lab.experiments.page_types.url_regexes import run_regexes

        run_regexes(labels, sample=sample, paper=paper)


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split(",") if part)


LAB_COMMANDS = (demo, replay, suite, compare, cluster, flips, regexes, train)
