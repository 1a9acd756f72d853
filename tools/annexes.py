"""The annexes of the project: what each has, and which the core stands without. See `deletion_test.py`."""

from __future__ import annotations

from dataclasses import dataclass

SCORING, SERVER, POLICIES = (
    "scoring/linkscore_scoring",
    "server/linkscore_server",
    "scoring/linkscore_scoring/policies",
)
MEMBERS = f"{SERVER}/members"
MEMBER_TESTS = ("tests/unit/server/members", "tests/kafka/test_members.py")
CLUSTER_TESTS = (
    *("tests/unit/server/cluster", "tests/simulation", "tests/kafka", "tests/support/cluster"),
    *MEMBER_TESTS,
)
OBJECT_TESTS = ("tests/unit/server/objects", "tests/support/objects", "tests/kafka/test_objects.py")
LEARNERS = f"{SCORING}/learners/classifiers"
PYTHON = "clients/python/linkscore"
REGROUP_ON_BROKERS = "tests/unit/server/regroup/test_regroup_on_brokers.py"
REVISITS_OF_GROUPS = "tests/integration/test_revisits_of_groups.py"
WORKER_TESTS = ("tests/unit/server/workers", "tests/integration/test_workers.py", REVISITS_OF_GROUPS)


@dataclass(frozen=True)
class Annex:
    """What can be taken away.

    Attributes
    ----------
    says
        What it is, one line.
    parts
        Files and folders of it.
    tests
        Files and folders of its tests and of what these share, beside modules that import a part.
    words
        Names that tests of others ask for it by, as policies: each test that says one goes too.
    extras
        Extras of pyproject.toml that are its own.
    packages
        Distributions that nothing else needs: they are uninstalled too.
    run
        What is run, instead of `make run`, where the annex itself is what that runs.
    """

    says: str
    parts: tuple[str, ...]
    tests: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    run: tuple[str, ...] = ("make", "--silent", "run")


ANNEXES = {
    "go": Annex(
        "the client and the plugin of Colly, in Go",
        ("clients/go", "examples/colly", "examples/own/go"),
        ("tests/integration/test_client_conformance.py",),
    ),
    "node": Annex(
        "the client and the plugin of Crawlee, in TypeScript",
        ("clients/node", "examples/crawlee", "examples/own/node"),
        ("tests/integration/test_client_conformance.py",),
    ),
    "java": Annex(
        "the client and plugins of Nutch, StormCrawler and Heritrix, in Java",
        ("clients/java",),
        ("tests/integration/test_client_conformance.py", "tests/integration/test_jvm_crawls.py"),
    ),
    "frontier": Annex(
        "a URL Frontier server, whose order linkscore gives",
        ("frontier", "lab/linkscore_lab/experiments/frontier_crawler.py"),
        ("tests/unit/frontier", "tests/support/frontier"),
        extras=("frontier",),
    ),
    "console": Annex(
        "a web page that shows crawls",
        ("console",),
        (
            *("tests/unit/console", "tests/support/console", "tests/browser"),
            "tests/integration/test_demo_watch.py",
        ),
        extras=("console",),
        packages=("jinja2",),  # starlette and uvicorn are mcp's too
    ),
    "json_port": Annex(
        "calls as JSON over HTTP, at a port of their own",
        (f"{SERVER}/json_port", "tools/openapi.py"),
        ("tests/unit/server/json_port", "tests/integration/test_json_port.py"),
        words=("json_listen", "json_port"),
        extras=("http",),
    ),
    "agents": Annex(
        "tools for agents: `linkscore mcp`",
        ("cli/linkscore_cli/agents",),
        ("tests/unit/agents", "tests/integration/test_mcp_agent.py"),
        extras=("mcp",),
        packages=("mcp",),
    ),
    "tables": Annex(
        "a crawl as Parquet files: `linkscore export-tables`",
        (f"{SERVER}/tables",),
        ("tests/integration/test_tables.py",),
        words=("export-tables",),
        extras=("tables",),
        packages=("duckdb",),
    ),
    "research": Annex(
        "experiments, tuning and their notebook",
        ("research",),
        ("tests/research",),
    ),
    "exporters": Annex(
        "rules of a site as files that crawlers load",
        (
            f"{SCORING}/exporters",
            "server/linkscore_server/rule_files.py",
            "cli/linkscore_cli/rules.py",
        ),
        ("tests/unit/exporters", "tests/support/exporters", "tests/contract/test_contract_rules.py"),
        words=("sites.ExportRules", "client.export_rules", "export-rules"),
    ),
    "limits": Annex(
        "budgets: crawls that stop by themselves, and caps on traps",
        (f"{SCORING}/limits",),
        (
            "tests/unit/limits",
            "tests/contract/test_contract_budget.py",
            "tests/integration/test_scrapy_budget.py",
        ),
        words=("budget=", "max_fetches"),
    ),
    "respect": Annex(
        "what sites reserve: links of theirs are to skip in crawls that respect it",
        (f"{SCORING}/respect",),
        (
            *("tests/unit/respect", "tests/property/test_respect_property.py"),
            *("tests/contract/test_contract_respect.py", "tests/integration/test_scrapy_respect.py"),
        ),
        words=("tdm", "ai-train"),
    ),
    "copies": Annex(
        "links to copies of pages, known before the fetch",
        (f"{SCORING}/copies",),
        (
            *("tests/unit/copies", "tests/property/test_copies_property.py"),
            "tests/contract/test_contract_copies.py",
        ),
        words=("copies=", '"copies"'),
    ),
    "clusterers": Annex(
        "clusterers beside the default one: DBSCAN, Crescenzi, UXClust, regions of iRobot",
        (f"{SCORING}/clustering/others",),
        ("tests/contract/test_contract_clusterers.py",),
        words=tuple(
            word
            for name in ("dbscan", "crescenzi_mdl", "uxclust", "irobot_regions")
            for word in (name, f"CLUSTERER_{name.upper()}")
        ),
    ),
    "native": Annex(
        "the compiled kernels, in Rust: the pure ones give the same",
        ("native",),
        ("tests/unit/features/test_native.py", "tests/unit/clustering/test_template_space.py"),
        extras=("native",),
        packages=("linkscore-native",),
    ),
    "crawlee": Annex(
        "Crawlee for Python and Crawl4AI, and the session and frontier that they share",
        (
            *(f"{PYTHON}/{name}.py" for name in ("crawlee", "crawl4ai", "session", "frontier")),
            *("examples/crawl4ai", "examples/own/crawl.py"),
        ),
        ("tests/crawlers", "tests/support/crawlee"),
        extras=("crawlee", "crawl4ai"),
    ),
    "crawlers": Annex(
        "all crawlers in Python: Scrapy too, the lab's crawls with it, URL Frontier, what adapters share",
        (
            f"{PYTHON}/scrapy",
            *(
                f"{PYTHON}/{name}.py"
                for name in ("crawlee", "crawl4ai", "session", "frontier", "connection", "outages")
            ),
            *(f"{PYTHON}/{name}.py" for name in ("allotment", "allowance", "breaker")),
            *("frontier", "lab/linkscore_lab/crawls", "lab/linkscore_lab/experiments"),
            *("examples/scrapy", "examples/crawl4ai", "examples/own/crawl.py"),
        ),
        (
            *("tests/unit/scrapy", "tests/crawlers", "tests/unit/frontier", "tests/browser"),
            *(f"tests/support/{name}" for name in ("crawlers", "crawlee", "frontier")),
            "tests/integration/test_jvm_crawls.py",
            *(f"tests/integration/test_scrapy_{name}.py" for name in ("budget", "respect", "crawl", "notes")),
            *(f"tests/integration/test_scrapy_{name}.py" for name in ("rules", "starts", "listings")),
        ),
        extras=("scrapy", "crawlee", "crawl4ai", "frontier"),
        packages=("scrapy",),
        run=(".venv/bin/python", "-m", "pytest", "-q", "tests/integration/test_replay_target.py"),
    ),
    "classifiers": Annex(
        "online classifiers of links, and the policies anthelion and tag_path_bandit that learn with them",
        (
            *(LEARNERS, f"{SCORING}/testing/classifiers.py"),
            *(f"{POLICIES}/anthelion", f"{POLICIES}/tag_path_bandit"),
        ),
        (
            *("tests/unit/learners/classifiers", "tests/conformance/test_classifiers_conform.py"),
            *("tests/unit/policies/anthelion", "tests/unit/policies/tag_path_bandit"),
        ),
        words=("anthelion", "tag_path_bandit"),
        packages=("river",),
    ),
    "kafka": Annex(
        "logs on Kafka, and the clusters that share them",
        (f"{SERVER}/storage/kafka", f"{SERVER}/cluster", MEMBERS, f"{SERVER}/objects"),
        (
            *("tests/unit/server/storage/kafka", "tests/support/kafka", REGROUP_ON_BROKERS),
            *CLUSTER_TESTS,
            *OBJECT_TESTS,
        ),
        extras=("kafka", "objects"),
        packages=("confluent-kafka", "obstore"),
    ),
    "objects": Annex(
        "snapshots and copies of crawls in object storage",
        (f"{SERVER}/objects",),
        OBJECT_TESTS,
        extras=("objects",),
        packages=("obstore",),
    ),
    "cluster": Annex("one server on several machines", (f"{SERVER}/cluster", MEMBERS), CLUSTER_TESTS),
    "members": Annex("servers of a cluster as workers of one machine", (MEMBERS,), MEMBER_TESTS),
    "regroup": Annex(
        "crawls given another number of groups: `linkscore data regroup`",
        (f"{SERVER}/regroup",),
        (
            *("tests/unit/server/regroup", "tests/integration/test_regroup.py"),
            *("tests/kafka/test_kafka_regroup.py", REVISITS_OF_GROUPS),
        ),
    ),
    "workers": Annex(
        "one server of several processes on a machine",
        (f"{SERVER}/workers", MEMBERS),
        (*WORKER_TESTS, *MEMBER_TESTS),
    ),
    "routing": Annex(
        "crawls of several groups, and the workers and clusters that they are spread over",
        (f"{SERVER}/routing", f"{SERVER}/workers", f"{SERVER}/cluster", MEMBERS, f"{SERVER}/regroup"),
        (
            *("tests/unit/server/routing", "tests/unit/server/regroup"),
            *("tests/integration/test_groups.py", "tests/integration/test_regroup.py"),
            *CLUSTER_TESTS,
            *WORKER_TESTS,
        ),
        words=("groups=",),
    ),
    "browse_logs": Annex(
        "browse logs: their import, what is mined of them, and the policies that go by them",
        (
            f"{SERVER}/browse_logs",
            f"{SCORING}/browse_logs",
            f"{POLICIES}/browse_log",
            "lab/linkscore_lab/browse_logs",
            "cli/linkscore_cli/logs.py",
        ),
        (
            *("tests/unit/policies/browse_log", "tests/unit/server/browse_logs", "tests/unit/browse_logs"),
            *("tests/integration/test_browse_crash.py", "tests/integration/test_logs_command.py"),
            *("tests/support/browse_logs", "tests/kafka/test_browse_logs.py"),
            *("tests/contract/test_contract_browse.py", "tests/contract/test_contract_behavior.py"),
        ),
        words=("news_prefix", "behavior_fetch", "behavior_discovery", "server.browse", "BrowseLogService"),
        extras=("logs",),
        packages=("duckdb",),
    ),
    "revisits": Annex(
        "when to fetch pages again, and schedules replayed against histories of sites",
        (
            *(f"{SCORING}/revisits", "lab/linkscore_lab/revisits"),
            *("server/linkscore_server/revisits", "cli/linkscore_cli/revisits.py"),
        ),
        (
            *("tests/unit/revisits", "tests/contract/test_contract_revisits.py", REVISITS_OF_GROUPS),
            "tests/integration/test_scrapy_due_listings.py",
        ),
    ),
    **{
        name: Annex(
            f"policies {', '.join(policies)}" if policies[1:] else f"policy {name}",
            (f"{POLICIES}/{name}", *more),
            (f"tests/unit/policies/{name}", f"tests/support/{name}"),
            words=policies,
        )
        for name, policies, *more in (
            ("auto", ("auto",)),
            ("source", ("source_ucc", "source_target")),
            ("tpm", ("tpm",)),
            ("irobot", ("irobot",)),
            ("anthelion", ("anthelion",)),
            ("tag_path_bandit", ("tag_path_bandit",)),
            ("focus", ("focus",)),
            ("experiment", ("experiment",), "lab/linkscore_lab/live"),
            (
                "link_graph",
                ("in_degree", "pagerank", "opic", "rank_mass", "fractional_pagerank"),
                f"{SCORING}/graph",
            ),
        )
    },
}


STANDS_WITHOUT = (
    *("auto", "source", "tpm", "irobot", "anthelion", "tag_path_bandit", "focus", "link_graph"),
    *("experiment", "exporters", "clusterers", "go", "node", "java", "console", "json_port", "agents"),
    "tables",
    *("frontier", "research", "native"),
    *("crawlee", "crawlers", "classifiers", "kafka", "cluster", "members", "workers", "routing"),
    *("browse_logs", "regroup", "objects"),
    *("revisits", "limits", "respect", "copies"),
)
"""Annexes without which the core stands; CI takes them in turn, with ``--fast``. All but ``crawlers``,
deleted at once, passed whole: all tests of the core, and ``make run``."""
