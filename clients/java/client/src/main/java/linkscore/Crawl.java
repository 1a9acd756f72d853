package linkscore;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.grpc.Channel;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import linkscore.v1.CandidateLink;
import linkscore.v1.CrawlServiceGrpc;
import linkscore.v1.DuePage;
import linkscore.v1.Feedback;
import linkscore.v1.GetCrawlRequest;
import linkscore.v1.GetCrawlResponse;
import linkscore.v1.IngestPagesRequest;
import linkscore.v1.ItemStatus;
import linkscore.v1.LinkExplanation;
import linkscore.v1.LinkScoringServiceGrpc;
import linkscore.v1.LinkScoringServiceGrpc.LinkScoringServiceBlockingStub;
import linkscore.v1.NoticeStatus;
import linkscore.v1.NotifyChangedRequest;
import linkscore.v1.Page;
import linkscore.v1.RankBucketsRequest;
import linkscore.v1.RankRevisitsRequest;
import linkscore.v1.ReportFeedbackRequest;
import linkscore.v1.ScoreLinksRequest;

/** A crawl of the server, by resource name. */
public final class Crawl {
  private final Channel channel;
  private final String name;
  private final Duration timeout;

  Crawl(Channel channel, String name, Duration timeout) {
    this.channel = channel;
    this.name = name;
    this.timeout = timeout;
  }

  /** Resource name, {@code crawls/...}. */
  public String name() {
    return name;
  }

  /** The same crawl with another deadline for each of its calls. */
  public Crawl withTimeout(Duration each) {
    return new Crawl(channel, name, each);
  }

  /** The crawl as the server has it: its policy, and what it took in; and the version of the server. */
  public GetCrawlResponse get() {
    var stub = CrawlServiceGrpc.newBlockingStub(channel).withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
    var request = GetCrawlRequest.newBuilder().setName(name).build();
    return LinkscoreException.typed(() -> stub.getCrawl(request));
  }

  /**
   * Sends fetched pages; a result for each, in order. An event id and, beside a body, status 200 are added where they
   * are missing. Send all links of a page, or its body, and cut after scoring. A page that breaks a rule has {@link
   * Result#status} INVALID, and the others count.
   */
  public List<Result> ingest(Collection<Page> pages) {
    var request = IngestPagesRequest.newBuilder().setCrawl(name);
    pages.forEach(page -> request.addPages(completed(page)));
    var answer = LinkscoreException.typed(() -> stub().ingestPages(request.build()));
    if (answer.getResultsCount() != pages.size()) {
      throw LinkscoreException.odd("it has another number of results than pages were sent");
    }
    List<Result> results = new ArrayList<>(answer.getResultsCount());
    answer.getResultsList().forEach(message -> results.add(new Result(message)));
    return results;
  }

  /** Sends one fetched page. */
  public Result ingest(Page page) {
    return ingest(List.of(page)).get(0);
  }

  /**
   * Sends pages as they come, from a thread of its own, and gives their answers in order; cheaper than a call for each
   * page. No deadline. Close it to leave before the end.
   */
  public PageStream stream(Iterator<Page> pages) {
    return new PageStream(LinkScoringServiceGrpc.newStub(channel), name, pages);
  }

  /**
   * Reports a fetch that brought no page.
   *
   * @param status HTTP status, 0 if there was no answer
   * @param reason why there was no answer, {@code timeout} say; may be empty
   * @param ticket what came with the link; empty for none
   */
  public void failed(String url, int status, String reason, ByteString ticket) {
    ingest(failure(url, status, reason, ticket));
  }

  static Page failure(String url, int status, String reason, ByteString ticket) {
    String why = status == 0 && reason.isEmpty() ? "unknown" : reason;
    return Page.newBuilder().setUrl(url).setStatusCode(status).setFetchError(why).setTicket(ticket).build();
  }

  /** The value of each bucket now. Name those that are not empty, every few fetches. */
  public Map<String, Double> rankBuckets(Collection<String> buckets) {
    var request = RankBucketsRequest.newBuilder().setCrawl(name).addAllBuckets(buckets).build();
    return new Plan(request, LinkscoreException.typed(() -> stub().rankBuckets(request))).values();
  }

  /**
   * Which links to fetch next while others are under way: ask whenever a place is free. See {@link Frontier}, which does.
   *
   * @param waiting how many links wait in each bucket that is not empty; iterated in the order of the link that waits
   *     longest
   * @param inFlight how many were taken from each bucket and not answered yet
   * @param n places to fill
   * @param fill hand out {@code n} links even where too little is known to choose so many well
   */
  public Plan planBuckets(Map<String, Integer> waiting, Map<String, Integer> inFlight, int n, boolean fill) {
    var request = RankBucketsRequest.newBuilder().setCrawl(name).setN(n).setFill(fill);
    request.addAllBuckets(waiting.keySet()).addAllWaiting(waiting.values());
    inFlight.forEach((bucket, count) -> request.addInFlightBuilder().setBucket(bucket).setCount(count));
    return new Plan(request, LinkscoreException.typed(() -> stub().rankBuckets(request.build())));
  }

  /** Scores links again, from URL and ticket, in the order given. */
  public List<Link> score(List<CandidateLink> links) {
    var request = ScoreLinksRequest.newBuilder().setCrawl(name).addAllLinks(links).build();
    var answer = LinkscoreException.typed(() -> stub().scoreLinks(request));
    if (answer.getLinks().getScoresCount() != links.size()) {
      throw LinkscoreException.odd("it has another number of scores than links were sent");
    }
    var urls = new ArrayList<String>(links.size());
    links.forEach(link -> urls.add(link.getUrl()));
    return Link.rows(answer.getLinks().toBuilder().clearUrls().addAllUrls(urls).build());
  }

  /** Reports what extraction found on a page, its worth in [0, 1]; late and repeated reports are fine, the last counts. */
  public void reward(String url, ByteString ticket, double worth) {
    LinkscoreException.check(feedback(List.of(worth(url, ticket, worth))).get(0));
  }

  /** Reports several at once; what became of each. */
  List<ItemStatus> feedback(List<Feedback> events) {
    var request = ReportFeedbackRequest.newBuilder().setCrawl(name).addAllFeedback(events).build();
    return LinkscoreException.typed(() -> stub().reportFeedback(request)).getStatusesList();
  }

  static Feedback worth(String url, ByteString ticket, double worth) {
    return Feedback.newBuilder().setEventId(eventId()).setUrl(url).setTicket(ticket).setReward(worth).build();
  }

  /** Says that known pages have changed now, at most 10,000; what became of each, in their order. */
  public List<NoticeStatus> notifyChanged(Collection<String> urls) {
    return notified(NotifyChangedRequest.newBuilder().addAllUrls(urls));
  }

  /** Says when known pages have changed, at most 10,000; what became of each, in their order. Repeats are fine. */
  public List<NoticeStatus> notifyChanged(Collection<String> urls, Instant changed) {
    var time = Timestamp.newBuilder().setSeconds(changed.getEpochSecond()).setNanos(changed.getNano());
    return notified(NotifyChangedRequest.newBuilder().addAllUrls(urls).setChangeTime(time));
  }

  /** The known pages to fetch again now, best first, at most 10,000; of a crawl with {@code revisit}. */
  public List<DuePage> rankRevisits(int most) {
    var request = RankRevisitsRequest.newBuilder().setCrawl(name).setPageSize(most).build();
    return LinkscoreException.typed(() -> stub().rankRevisits(request)).getPagesList();
  }

  private List<NoticeStatus> notified(NotifyChangedRequest.Builder said) {
    var request = said.setCrawl(name).build();
    return LinkscoreException.typed(() -> stub().notifyChanged(request)).getStatusesList();
  }

  /** Says why a link has its score, in words and numbers. */
  public LinkExplanation explain(String url, ByteString ticket) {
    var link = CandidateLink.newBuilder().setUrl(url).setTicket(ticket);
    var request = ScoreLinksRequest.newBuilder().setCrawl(name).addLinks(link).setExplain(true).build();
    var explained = LinkscoreException.typed(() -> stub().scoreLinks(request)).getExplanations(0);
    LinkscoreException.check(explained.getStatus());
    return explained;
  }

  /** Of each call, not of the stub: a deadline of a stub that is kept runs down once, for all of its calls. */
  private LinkScoringServiceBlockingStub stub() {
    return LinkScoringServiceGrpc.newBlockingStub(channel)
        .withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  static Page completed(Page page) {
    Page.Builder made = page.toBuilder();
    if (page.getEventId().isEmpty()) {
      made.setEventId(eventId());
    }
    if (page.getStatusCode() == 0 && page.getFetchError().isEmpty() && page.hasBody()) {
      made.setStatusCode(200);
    }
    return made.build();
  }

  private static String eventId() {
    return UUID.randomUUID().toString();
  }
}
