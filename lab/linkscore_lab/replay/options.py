"""The options of `linkscore replay` as a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from linkscore_lab.datasets.relevance import choose_relevance
from linkscore_lab.replay.policies import read_policy
from linkscore_lab.replay.prepare import Source
from linkscore_lab.replay.runs import EXAMPLES, FEEDBACK, Protocol
from linkscore_lab.replay.suite import Suite, SuiteSite, check_suite, read_suite
from linkscore_scoring.errors import InvalidInput

_DEFAULT_POLICIES = ("breadth_first", "harvest")


def suite_of(options: Mapping[str, Any]) -> Suite:
    """Return the suite the options describe; what is given beside ``--suite`` wins over the file.

    Raises
    ------
    InvalidInput
        If neither a suite nor an archive is named, or both, or a value is out of range.
    """
    if bool(options["suite"]) == bool(options["archives"]):
        raise InvalidInput("either archives or --suite must be given", field="archives")
    suite = read_suite(options["suite"]) if options["suite"] else _one_site(options)
    policies = tuple(read_policy(text) for text in options["policies"])
    modes = _modes(options)
    suite = replace(
        suite,
        protocol=_protocol(suite.protocol, options),
        policies=policies or suite.policies,
        sites=tuple(replace(site, modes=modes) for site in suite.sites) if modes else suite.sites,
        **{name: options[name] for name in ("seeds", "starts") if options[name] is not None},
    )
    check_suite(suite)
    return suite


def _one_site(options: Mapping[str, Any]) -> Suite:
    source = Source(list(options["archives"]), options["labels"], options["url_list"])
    ways = {
        "types": _split(options["relevant"]),
        "url": options["relevant_url"],
        "structured_data": _split(options["structured_data"]),
        "feedback": options["feedback_file"],
    }
    targets = tuple(options["targets"])
    relevance = choose_relevance(**ways) if any(ways.values()) or not targets else None
    policies = tuple(read_policy(name) for name in _DEFAULT_POLICIES)
    return Suite((SuiteSite(source, relevance, targets),), policies)


def _modes(options: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the modes the options ask for, none if they leave that to the suite."""
    asked = (EXAMPLES,) if options["examples"] is not None else ()
    return asked + ((FEEDBACK,) if options["feedback"] else ())


def _protocol(protocol: Protocol, options: Mapping[str, Any]) -> Protocol:
    names = {f.name for f in fields(Protocol)}
    given = {k: v for k, v in options.items() if k in names and v not in (None, False)}
    if options["examples"] is not None:
        given["n_examples"] = options["examples"]
    return replace(protocol, **given)


def _split(text: str) -> Sequence[str]:
    return [part for part in (p.strip() for p in text.split(",")) if part]
