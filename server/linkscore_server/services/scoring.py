"""LinkScoringService: pages and feedback in, scores and ranks out. The hot path."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar, cast

from linkscore.v1 import common_pb2
from linkscore.v1 import link_scoring_service_pb2 as pb
from linkscore_scoring.columns import Repeated, drop_oldest, picking
from linkscore_scoring.engine.events import FeedbackGiven, PageFetched
from linkscore_scoring.engine.queries import joined
from linkscore_scoring.engine.reports import SiteAdvice, advise
from linkscore_scoring.engine.results import Outcome, PageOutcome, ScoredLinks
from linkscore_scoring.errors import InvalidInput, InvalidLink, LinkscoreError
from linkscore_scoring.urls.identity import validate_url
from linkscore_server import tasks
from linkscore_server.crawls.actor import MANY_SITES, CrawlActor
from linkscore_server.crawls.opening import registrable_domain
from linkscore_server.crawls.registry import CrawlRegistry
from linkscore_server.door import Queue, Turns
from linkscore_server.observability import Metrics
from linkscore_server.services import messages
from linkscore_server.services.contract import logged, without_frames
from linkscore_server.services.messages import (
    MAX_ITEMS,
    check_count,
    check_most,
    invalid,
    parse_crawl,
    site_name,
    status,
    wrong_numbers,
)
from linkscore_server.services.pages import (
    MAX_EVENT_ID_BYTES,
    MAX_TICKET_BYTES,
    PageParser,
    ParseOptions,
    ReadAhead,
)
from linkscore_server.services.revisits import RevisitCalls, of_other_sites
from linkscore_server.settings import Settings

_log = logging.getLogger(__name__)

_T = TypeVar("_T")

# Pages, and links on them, that become bytes at once and go into the log together: some milliseconds of the
# event loop. Chosen, not measured.
_PAGES_TOGETHER, _LINKS_TOGETHER = 16, 5_000

# Above these a question may take more than some 20 ms: 1,000 links cost 10 ms at most (measured: never
# seen before, pure Python; or by anthelion). The others are chosen by the cost of one bucket or site.
_BIG_LINKS, _BIG_BUCKETS, _BIG_SITES = 2_000, 2_000, 1_000
_MOST_ASKED = 200  # sites that are asked which examples would help, if none is named; a bound, chosen
MAX_EXPLAINED = 100  # links of one ScoreLinks call that asks why, as the contract says
_UNREADABLE = ["CORRUPT_BODY", "BODY_TOO_LARGE", "TRUNCATED_BODY", "UNSUPPORTED_ENCODING", "LIMIT_EXCEEDED"]
"""Reasons of a page whose fetch has failed."""
_GROUP = 256  # feedback checked and submitted before other calls are served; chosen, not measured
_LOOKS = frozenset(round(40 * 1.5**n) for n in range(50))
"""Fetches of a site at which it is looked at: a look costs what there is of links, so a fetch costs the same
however large it becomes. Chosen, not measured."""
_MOST = 10_000
"""A bound: sites whose fetches are counted, and notices that were told, of all crawls; then it is anew."""


class LinkScoringService(RevisitCalls):
    """Answers the calls of a crawler while it crawls; one a server, all on one event loop."""

    def __init__(
        self,
        registry: CrawlRegistry,
        parser: PageParser,
        settings: Settings,
        metrics: Metrics,
        clock: Callable[[], float],
    ) -> None:
        super().__init__(registry, clock)
        self._parser, self._metrics = parser, metrics
        self._turns, self._big_questions = Turns(settings.target_delay_s), Turns(settings.target_delay_s)
        metrics.of("queue_delay_seconds").set_function(lambda: self._turns.delay_s)
        self._sites = SiteWatch(metrics)

    async def IngestPages(self, request: pb.IngestPagesRequest, context: Any) -> pb.IngestPagesResponse:
        """Take in pages and score their links."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        check_count("pages", len(request.pages), MAX_ITEMS["pages"], least=1)
        self._registry.check_room()
        options = ParseOptions.of(actor.model.config)
        known = await self._parser.read_ahead(request.pages, options, context)
        parsed: list[PageFetched | common_pb2.ItemStatus] = []
        together: list[PageFetched] = []
        written: list[tuple[list[Any], asyncio.Future[list[Any]]]] = []  # events, and what comes of them
        tells = actor.model.config.tells_other_sites
        others: Callable[[PageFetched], Any] = partial(of_other_sites, actor.model) if tells else lambda _: ()
        try:
            queue = await self._turns.of_call(actor.model.config.name)
            try:  # pages are parsed in turn, those of other calls between them, and some are written together
                for page, ahead in zip(request.pages, known, strict=True):
                    event = await self._parsed(actor, page, options, ahead, context, queue)
                    parsed.append(event)
                    if isinstance(event, PageFetched):
                        together.append(event)
                    if together and (len(parsed) == len(known) or _is_enough(together)):
                        if any(actor.model.site_of(page.requested_key) != page.site for page in together):
                            await asyncio.to_thread(registrable_domain, "")  # its first call takes .3 s
                        events = [each for page in together for each in (page, *others(page))]
                        written.append((events, actor.submit_all(events)))
                        together = []
            finally:
                queue.calls.release()
            outcomes = {
                id(event): outcome
                for events, group in written
                for event, outcome in zip(events, await group, strict=True)
            }
        finally:
            for _, group in written:
                group.cancel()
        answer = pb.IngestPagesResponse(policy=actor.model.config.order.name)
        for event in parsed:
            result = answer.results.add()
            if isinstance(event, PageFetched):
                self._add_result(result, actor, event, outcomes[id(event)])
            else:
                result.status.CopyFrom(event)
        return answer

    async def ScoreLinks(self, request: pb.ScoreLinksRequest, context: Any) -> pb.ScoreLinksResponse:
        """Score links again, and say why if asked to."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        most = MAX_EXPLAINED if request.explain else MAX_ITEMS["links"]
        check_count("links", len(request.links), most)
        rows, (urls, keys, tickets, anchors), bad = _candidates(request.links, self._parser)
        n = len(request.links)

        def score(own: Sequence[int]) -> tuple[Sequence[int], ScoredLinks]:
            pick = picking(own)
            return pick(rows), actor.queries.score_links(pick(urls), pick(keys), pick(tickets), pick(anchors))

        def answer() -> pb.ScoreLinksResponse:
            scored = (
                joined(found, n)
                if found
                else actor.queries.score_links(urls, keys, tickets, anchors, rows=rows, n=n)
            )
            policy = actor.model.config.order.name
            self._metrics.of("links_scored", policy).inc(len(rows))
            response = pb.ScoreLinksResponse(
                policy=policy,
                stage=cast("Any", scored.stage if rows else 0),
                event_seq=actor.model.seq,
            )
            response.links.SetInParent()
            messages.add_link_scores(response.links, scored)
            for row, item in bad.items():
                response.links.statuses[row].CopyFrom(item)
            if request.explain:
                why = actor.queries.explain(urls, keys, tickets, anchors)
                response.explanations.extend(messages.explanations(request.links, rows, why, bad))
            return response

        found: list[tuple[Sequence[int], ScoredLinks]] = []
        if actor.model.sites.away_count > MANY_SITES:
            sites = actor.queries.rows_by_site(urls, tickets)
            if len(actor.model.sites.away(sites)) > MANY_SITES:
                found = await actor.ask_each(list(sites.values()), score)
        return await self._answered(actor, answer, is_big=n > _BIG_LINKS)

    async def RankBuckets(self, request: pb.RankBucketsRequest, context: Any) -> pb.RankBucketsResponse:
        """Order buckets by value, and hand out links among them."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        check_count("buckets", len(request.buckets), MAX_ITEMS["buckets"])
        in_flight, buckets = messages.fetches_in_flight(request), Repeated.of(request.buckets)
        await actor.value_new(buckets.distinct)

        def answer() -> pb.RankBucketsResponse:
            plan = actor.queries.plan_fetches(
                buckets,
                request.n,
                waiting=request.waiting,
                in_flight=in_flight,
                fill=request.fill,
            )
            policy = actor.model.config.order.name
            found = messages.ranked(
                pb.RankBucketsResponse, plan, policy=policy, event_seq=actor.model.seq, fills=bool(request.n)
            )
            if actor.queries.all_stopped(buckets.distinct):
                found.decision = common_pb2.DECISION_STOP_BUDGET
            return found

        is_big = len(buckets.distinct) > _BIG_BUCKETS
        return await self._answered(actor, answer, is_big=is_big)

    async def RankSites(self, request: pb.RankSitesRequest, context: Any) -> pb.RankSitesResponse:
        """Order sites, and hand out URLs among them."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        check_count("sites", len(request.sites), MAX_ITEMS["sites"])

        def answer() -> pb.RankSitesResponse:
            names, waiting, n = messages.site_ranking_query(request, actor.model.config.name)
            found = actor.queries.rank_sites(names, waiting, n)
            policy = actor.model.config.order.name
            return messages.ranked(pb.RankSitesResponse, found, policy=policy, event_seq=actor.model.seq)

        is_big = len(request.sites) > _BIG_SITES
        return await self._answered(actor, answer, is_big=is_big)

    async def ReportFeedback(
        self, request: pb.ReportFeedbackRequest, context: Any
    ) -> pb.ReportFeedbackResponse:
        """Take in what extraction found."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        check_count("feedback", len(request.feedback), MAX_ITEMS["feedback"], least=1)
        self._registry.check_room()
        return pb.ReportFeedbackResponse(statuses=await self._take_feedback(actor, request.feedback))

    async def SuggestExamples(
        self, request: pb.SuggestExamplesRequest, context: Any
    ) -> pb.SuggestExamplesResponse:
        """Say which fetched pages a user should be asked about."""
        actor = await self._registry.open(parse_crawl(request.crawl))
        model = actor.model
        n, site = messages.example_query(request, model.config.name)
        names = [site] if site else await actor.ask(partial(model.sites.largest, _MOST_ASKED))
        by_site = await actor.ask_each(names, lambda name: actor.queries.suggest_examples(n, name))
        found = sorted(chain.from_iterable(by_site), key=lambda one: (-one[1].value, one[1].url))[:n]
        examples = [
            pb.SuggestedExample(
                url=wanted.url,
                site=site_name(model.config.name, site),
                reason=wanted.reason,
                likeness=wanted.label,
                pages_alike=wanted.pages,
                value=wanted.value,
            )
            for site, wanted in found
        ]
        return pb.SuggestExamplesResponse(
            examples=examples, policy=model.config.policy.name, event_seq=model.seq
        )

    async def _answered(self, actor: CrawlActor, answer: Callable[[], _T], *, is_big: bool) -> _T:
        """Answer at once, or a big question in a thread, where only other big ones wait for it."""
        if not is_big:
            return await actor.answer(answer)
        queue = await self._big_questions.of_call(actor.model.config.name)
        try:
            return await actor.ask(answer)
        finally:
            queue.calls.release()

    async def _parsed(
        self,
        actor: CrawlActor,
        page: common_pb2.Page,
        options: ParseOptions,
        ahead: ReadAhead,
        context: Any,
        queue: Queue,
    ) -> PageFetched | common_pb2.ItemStatus:
        """Return the event of a page, or why there is none."""
        await self._turns.of_page(queue, context)
        try:
            return self._parser.event(page, actor.model.site_of, options, ahead)
        except InvalidInput as exc:
            self._metrics.of("pages", "invalid").inc()
            without_frames(exc)
            refused, reason = invalid(exc), exc.reason
        except Exception as exc:  # a page nobody thought of must not cost the rest of its batch
            self._metrics.of("pages", "fault").inc()
            said = logged(exc)
            without_frames(exc)
            return invalid(InvalidInput(said, reason="INTERNAL"))
        finally:
            self._turns.end_page()
        if reason in _UNREADABLE and "revisit" in options.facts:
            await self._fail(actor, page, options)
        return refused

    async def _fail(self, actor: CrawlActor, page: common_pb2.Page, options: ParseOptions) -> None:
        """Take in that nothing came that can be read: the fetch has failed."""
        failed = common_pb2.Page()
        failed.CopyFrom(page)
        failed.ClearField("body")
        failed.fetch_error = failed.fetch_error or "cannot be read"
        await actor.submit_all([self._parser.event(failed, actor.model.site_of, options)])

    def _add_result(
        self,
        result: pb.PageResult,
        actor: CrawlActor,
        event: PageFetched,
        outcome: Outcome | Exception,
    ) -> None:
        """Write the answer for a page that was applied, and count it."""
        if isinstance(outcome, Exception):
            raise outcome
        assert isinstance(outcome, PageOutcome), "of a page"
        links, notes = (event.features.links, event.features.notes) if event.features else (None, [])
        messages.add_page_result(result, actor.model.config.name, outcome, links, notes)
        seen = outcome.observation
        if seen is not None:
            self._sites.fetched(actor, outcome.site)
        kind = "duplicate" if outcome.duplicate else "failed" if seen and seen.failed else "ok"
        self._metrics.of("pages", kind).inc()
        self._metrics.of("links_scored", outcome.policy).inc(len(outcome.links.scores))
        self._metrics.of("novel_text_chars").inc(seen.novel_chars if seen else 0)
        for reason, count in Counter(filter(None, outcome.links.skip_reasons or ())).items():
            self._metrics.of("links_skipped", messages.skip_reason_name(reason)).inc(count)

    async def _take_feedback(
        self, actor: CrawlActor, items: Sequence[pb.Feedback]
    ) -> list[common_pb2.ItemStatus]:
        """Return one status an item, once all that are valid are durable and applied."""
        statuses, events = list[common_pb2.ItemStatus](), dict[int, FeedbackGiven]()
        waiting = []
        now_s = self._clock()
        for at in range(0, len(items), _GROUP):
            made = {}
            for row, item in enumerate(items[at : at + _GROUP], at):
                try:
                    made[row] = self._feedback_event(actor, item, now_s)
                except InvalidInput as exc:
                    statuses.append(invalid(exc))
                else:
                    statuses.append(status(common_pb2.ITEM_CODE_OK))
            events |= made
            if made:
                waiting.append(actor.submit_all(list(made.values())))
            await asyncio.sleep(0)
        outcomes = [outcome for group in waiting for outcome in await group]
        rewards = []
        for (row, event), is_new in zip(events.items(), outcomes, strict=True):
            if isinstance(is_new, Exception):
                raise is_new
            if is_new:
                rewards.append(event.reward)
            else:
                statuses[row] = status(common_pb2.ITEM_CODE_DUPLICATE)
        policy, n = actor.model.config.policy.name, len(rewards)
        self._metrics.of("feedback_applied", policy).inc(n)
        self._metrics.of("feedback_reward", policy).inc(sum(rewards))
        counts = {"ok": n, "duplicate": len(events) - n, "invalid": len(items) - len(events)}
        for kind, count in counts.items():
            self._metrics.of("feedback", kind).inc(count)
        return statuses

    def _feedback_event(self, actor: CrawlActor, item: pb.Feedback, now_s: float) -> FeedbackGiven:
        event_id, ticket, url = item.event_id, item.ticket, item.url
        if wrong := list(wrong_numbers(item)):
            raise InvalidInput(wrong)
        check_most("event_id", len(event_id.encode()), MAX_EVENT_ID_BYTES, " bytes")
        check_most("ticket", len(ticket), MAX_TICKET_BYTES, " bytes")
        site = actor.model.site_of_ticket(ticket) if ticket else ""
        if not url and not site:
            rule = "is required unless a ticket of this crawl names the link"
            raise InvalidInput(rule, field="url", reason="REQUIRED")
        key = (
            validate_url(url, "url", max_chars=self._parser.limits.url_chars, error=InvalidInput)
            if url
            else ""
        )
        return FeedbackGiven(event_id, site or actor.model.site_of(url), key, ticket, _reward(item), now_s)


def _is_enough(events: Sequence[PageFetched]) -> bool:
    """Say whether pages are to be written before the next of their call is parsed: others wait meanwhile."""
    links = sum(len(event.features.links) for event in events if event.features is not None)
    return len(events) >= _PAGES_TOGETHER or links >= _LINKS_TOGETHER


def _candidates(
    links: Sequence[pb.CandidateLink], parser: PageParser
) -> tuple[list[int], tuple[list[str], list[str], list[bytes], list[str]], dict[int, common_pb2.ItemStatus]]:
    """Return rows of usable links, their columns (url, identity, ticket, anchor), and the others' status."""
    sent = [(link.url, link.ticket, link.anchor_text) for link in links]
    rows, identities, bad = list[int](), list[str](), dict[int, common_pb2.ItemStatus]()
    for row, (url, _, _) in enumerate(sent):
        try:
            identities.append(validate_url(url, "url", max_chars=parser.limits.url_chars, error=InvalidLink))
        except InvalidInput as exc:
            bad[row] = invalid(exc.under(f"links[{row}]"))
        else:
            rows.append(row)
    usable = [sent[row] for row in rows]
    urls = [url for url, _, _ in usable]
    return rows, (urls, identities, [given[1] for given in usable], [given[2] for given in usable]), bad


def _reward(item: pb.Feedback) -> float:
    match item.WhichOneof("outcome"):
        case "reward":
            if not 0.0 <= item.reward <= 1.0:
                raise InvalidInput(f"must be in [0, 1], got {item.reward}", field="reward")
            return item.reward
        case "item_count":
            return float(item.item_count > 0)
        case "relevant":
            return float(item.relevant)
    raise InvalidInput(
        "one of reward, item_count and relevant is required", field="outcome", reason="REQUIRED"
    )


class SiteWatch:
    """Asks for the advice about a site now and then, and tells once what is new, as metric and in the log."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._fetches: dict[tuple[str, str], int] = {}
        self._told: dict[tuple[str, str, str], None] = {}
        self._looks: set[asyncio.Task[None]] = set()

    def fetched(self, actor: CrawlActor, site: str) -> None:
        """Count a page that was fetched; looks at the site beside other calls when it has grown enough."""
        count = self._fetches[actor.key, site] = self._fetches.get((actor.key, site), 0) + 1
        drop_oldest(self._fetches, _MOST)
        if count in _LOOKS:
            tasks.beside(self._look(actor, site), f"look at {site}", self._looks)

    async def _look(self, actor: CrawlActor, site: str) -> None:
        actor.use()
        try:
            advice = await actor.ask(lambda: advise(actor.model.shard(site)))
        except (LinkscoreError, RuntimeError) as exc:  # deleted meanwhile, or the server stops
            _log.debug("%s: not looked at: %s", site, exc)
            return
        for kind, name, what in _notices(advice):
            if (notice := (actor.key, site, name)) not in self._told:
                self._told[notice] = None
                drop_oldest(self._told, _MOST)
                self._metrics.of("site_notices", kind).inc()
                _log.warning("crawl %s, %s: %s", actor.model.config.name, site, what)


def _notices(advice: SiteAdvice) -> Iterator[tuple[str, str, str]]:
    """Yield what there is to tell of a site: kind, what stays the same while it stays so, and a sentence."""
    for trap in advice.traps:
        kind = trap.kind.name.lower()
        what = f"{trap.url_pattern or trap.tag_path} looks like a trap ({kind}); see linkscore advise"
        yield f"trap_{kind}", what, what
    for warning in advice.warnings:
        yield warning.kind, warning.kind, warning.text
