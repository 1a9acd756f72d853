"""Every number that may be set has bounds, and what is outside is refused by the name that was typed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import fields
from inspect import signature
from typing import Any

import click
import pytest
from scrapy.settings import Settings as ScrapySettings

from linkscore import AsyncClient, Client
from linkscore.messages import message_of
from linkscore.scrapy.config import SETTINGS, Config
from linkscore.session import CrawlSession
from linkscore.v1 import crawl_service_pb2 as pb
from linkscore_cli.main import main
from linkscore_scoring.errors import InvalidInput
from linkscore_server.settings import Settings, load
from support.command_line import run

NUMBERS = (click.types.IntParamType, click.types.FloatParamType)
NO_NUMBERS = (-3, math.nan, math.inf, -math.inf, 1e308, "many", "")


def options(group: click.Group, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Option]]:
    """Every option that takes a number, with the words of its command."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if isinstance(command, click.Group):
            yield from options(command, (*words, name))
            continue
        assert command is not None
        for given in command.params:
            if isinstance(given, click.Option) and isinstance(given.type, NUMBERS):
                yield " ".join((*words, name)), given


@pytest.mark.parametrize(("words", "option"), [pytest.param(*each, id=str(each)) for each in options(main)])
def test_a_number_of_a_command_is_within_bounds_or_refused(words: str, option: click.Option) -> None:
    assert isinstance(option.type, click.IntRange | click.FloatRange)
    assert None not in (option.type.min, option.type.max)
    for given in (-3, math.nan, math.inf, option.type.max * 2 + 1, "many"):
        got = run(*words.split(), f"{option.opts[-1]}={given}")
        assert (got.exit_code, option.opts[-1] in got.output) == (2, True), (given, got.output)


def test_a_number_of_the_server_is_within_bounds() -> None:
    for field in fields(Settings):
        if field.type in ("int", "float"):
            least, most = field.metadata["least"], field.metadata["most"]
            assert 0 <= least <= field.default <= most < math.inf, field.name
            for given in (least - 1, most + 1, "nan", "many"):
                with pytest.raises(InvalidInput, match=f"{field.name}: must be .*, got '?{given}"):
                    load({field.name: given}, {}, None)


@pytest.mark.parametrize("given", [*NO_NUMBERS, True, 2.5e30])
def test_a_number_of_a_scrapy_crawl_is_within_bounds(given: Any) -> None:
    numbers = [name for name, (kind, _) in SETTINGS.items() if kind.endswith("number")]
    assert numbers == ["timeout", "revisit_pages"]
    for name in (f"LINKSCORE_{name.upper()}" for name in numbers):
        with pytest.raises(ValueError, match=f"{name}: must be .*, got"):
            Config.from_settings(ScrapySettings({name: given}), spider_name="s")


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("given", [*NO_NUMBERS, True, 0])
def test_a_number_of_a_client_is_within_bounds(kind: Any, given: Any) -> None:
    numbers = [name for name, each in signature(kind).parameters.items() if "float" in str(each.annotation)]
    assert numbers == ["timeout_s"]
    with pytest.raises(ValueError, match="timeout_s: must be a number from"):
        kind("localhost:1", timeout_s=given)
    with pytest.raises(ValueError, match="timeout_s: must be a number from"):
        CrawlSession("localhost:1", crawl="c", timeout_s=given)


@pytest.mark.parametrize("kind", [pb.Budget, pb.Copies, pb.Revisit])
def test_a_number_of_a_crawl_is_one(kind: Any) -> None:
    numbers = [field.name for field in kind.DESCRIPTOR.fields if field.message_type is None]
    for name in numbers:
        for given in (-3, math.nan, math.inf):
            with pytest.raises(ValueError, match=f"{name} must be (a.* from 0|one of).*, got {given}"):
                message_of(kind, {name: given})
