package linkscore;

import com.google.protobuf.ByteString;
import io.grpc.Channel;
import io.grpc.stub.AbstractStub;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import linkscore.v1.CrawlServiceGrpc;
import linkscore.v1.DuePage;
import linkscore.v1.Feedback;
import linkscore.v1.GetCrawlRequest;
import linkscore.v1.GetCrawlResponse;
import linkscore.v1.IngestPagesRequest;
import linkscore.v1.LinkScoringServiceGrpc;
import linkscore.v1.LinkScoringServiceGrpc.LinkScoringServiceBlockingStub;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import linkscore.v1.RankBucketsRequest;
import linkscore.v1.RankBucketsResponse;
import linkscore.v1.RankRevisitsRequest;
import linkscore.v1.ReportFeedbackRequest;

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
    var stub = bounded(CrawlServiceGrpc.newBlockingStub(channel));
    return LinkscoreException.typed(() -> stub.getCrawl(GetCrawlRequest.newBuilder().setName(name).build()));
  }

  /**
   * Sends fetched pages; a result for each, in order, whose links {@link Link#of} reads. Send all links of a page, or its
   * body, and cut after scoring. A page that breaks a rule has a status with code INVALID, and the others count.
   */
  public List<PageResult> ingest(Collection<Page> pages) {
    var request = IngestPagesRequest.newBuilder().setCrawl(name);
    pages.forEach(page -> request.addPages(completed(page)));
    var answer = LinkscoreException.typed(() -> stub().ingestPages(request.build()));
    if (answer.getResultsCount() != pages.size()) {
      throw LinkscoreException.odd("it has another number of results than pages were sent");
    }
    return answer.getResultsList();
  }

  /** Sends one fetched page. */
  public PageResult ingest(Page page) {
    return ingest(List.of(page)).get(0);
  }

  /** Reports a fetch that brought no page: its HTTP status, or 0 and why there was no answer, {@code timeout} say. */
  public void failed(String url, int status, String reason, ByteString ticket) {
    ingest(failure(url, status, reason, ticket));
  }

  static Page failure(String url, int status, String reason, ByteString ticket) {
    String why = status == 0 && reason.isEmpty() ? "unknown" : reason;
    return Page.newBuilder().setUrl(url).setStatusCode(status).setFetchError(why).setTicket(ticket).build();
  }

  /** What buckets are worth now, and how many links of each to fetch before asking again; others get none. */
  public static final class Plan {
    public final Map<String, Double> values = new HashMap<>();
    public final Map<String, Integer> urls = new HashMap<>();

    private Plan(RankBucketsRequest.Builder asked, RankBucketsResponse answer) {
      int rows = answer.getOrderCount();
      if (answer.getValuesCount() != rows
          || (answer.getUrlsCount() != rows && answer.getUrlsCount() > 0)
          || answer.getOrderList().stream().distinct().count() < rows
          || answer.getOrderList().stream().anyMatch(at -> at < 0 || at >= asked.getBucketsCount())
          || !answer.getValuesList().stream().allMatch(Double::isFinite)) {
        throw LinkscoreException.odd("its order is none of the buckets asked about");
      }
      for (int i = 0; i < rows; i++) {
        String bucket = asked.getBuckets(answer.getOrder(i));
        values.put(bucket, answer.getValues(i));
        if (answer.getUrlsCount() > 0 && answer.getUrls(i) > 0) {
          urls.put(bucket, answer.getUrls(i));
        }
      }
    }
  }

  /**
   * Which links to fetch next while others are under way: ask whenever a place is free.
   *
   * @param waiting how many links wait in each bucket that is not empty; iterated in the order of the link that waits
   *     longest
   * @param inFlight how many were taken from each bucket and not answered yet
   * @param n places to fill
   * @param fill hand out {@code n} links even where too little is known to choose so many well
   */
  public Plan rankBuckets(Map<String, Integer> waiting, Map<String, Integer> inFlight, int n, boolean fill) {
    var request = RankBucketsRequest.newBuilder().setN(n).setFill(fill);
    request.addAllBuckets(waiting.keySet()).addAllWaiting(waiting.values());
    inFlight.forEach((bucket, count) -> request.addInFlightBuilder().setBucket(bucket).setCount(count));
    return new Plan(request, LinkscoreException.typed(() -> stub().rankBuckets(request.setCrawl(name).build())));
  }

  /** Reports what extraction found on a page, its worth in [0, 1]; late and repeated reports are fine, the last counts. */
  public void reward(String url, ByteString ticket, double worth) {
    reward(worth(url, ticket, worth));
  }

  void reward(Feedback event) {
    var request = ReportFeedbackRequest.newBuilder().setCrawl(name).addFeedback(event).build();
    var answer = LinkscoreException.typed(() -> stub().reportFeedback(request));
    answer.getStatusesList().forEach(LinkscoreException::check);
  }

  static Feedback worth(String url, ByteString ticket, double worth) {
    return Feedback.newBuilder().setEventId(UUID.randomUUID().toString()).setUrl(url).setTicket(ticket).setReward(worth).build();
  }

  /** The known pages to fetch again now, best first, at most 100,000; of a crawl with {@code revisit}. */
  public List<DuePage> rankRevisits(int most) {
    var request = RankRevisitsRequest.newBuilder().setCrawl(name).setMaxResults(most).build();
    return LinkscoreException.typed(() -> stub().rankRevisits(request)).getPagesList();
  }

  private LinkScoringServiceBlockingStub stub() {
    return bounded(LinkScoringServiceGrpc.newBlockingStub(channel));
  }

  /** A stub for one call: the deadline of one that is kept runs down once. */
  private <S extends AbstractStub<S>> S bounded(S stub) {
    return timeout == null ? stub : stub.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
  }

  static Page completed(Page page) {
    Page.Builder made = page.toBuilder();
    if (page.getEventId().isEmpty()) {
      made.setEventId(UUID.randomUUID().toString());
    }
    if (page.getStatusCode() == 0 && page.getFetchError().isEmpty() && page.hasBody()) {
      made.setStatusCode(200);
    }
    return made.build();
  }
}
