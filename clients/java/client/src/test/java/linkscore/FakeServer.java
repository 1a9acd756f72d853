package linkscore;

import com.google.protobuf.ByteString;
import com.google.protobuf.Timestamp;
import io.grpc.Grpc;
import io.grpc.InsecureServerCredentials;
import io.grpc.Server;
import io.grpc.ServerCredentials;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.stub.StreamObserver;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import linkscore.v1.BucketInFlight;
import linkscore.v1.Crawl;
import linkscore.v1.CrawlServiceGrpc;
import linkscore.v1.CreateCrawlRequest;
import linkscore.v1.CreateCrawlResponse;
import linkscore.v1.Decision;
import linkscore.v1.DuePage;
import linkscore.v1.Feedback;
import linkscore.v1.GetCrawlRequest;
import linkscore.v1.GetCrawlResponse;
import linkscore.v1.IngestPagesRequest;
import linkscore.v1.IngestPagesResponse;
import linkscore.v1.LinkScores;
import linkscore.v1.LinkScoringServiceGrpc;
import linkscore.v1.Outlink;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import linkscore.v1.RankBucketsRequest;
import linkscore.v1.RankBucketsResponse;
import linkscore.v1.RankRevisitsRequest;
import linkscore.v1.RankRevisitsResponse;
import linkscore.v1.ReportFeedbackRequest;
import linkscore.v1.ReportFeedbackResponse;
import linkscore.v1.Revisit;
import linkscore.v1.SkipReason;
import linkscore.v1.Standing;
import linkscore.v1.UpdateCrawlRequest;
import linkscore.v1.UpdateCrawlResponse;

/**
 * A server for tests of the client and of the adapters: knows the crawls that were made, and scores links with {@code
 * /good} in their URL .9, others .1, each kind a bucket; every place goes to good links, and bad ones are worth less the
 * more are under way. What the client does on the wire is tested by the scenarios that all clients pass; see
 * conformance.Driver.
 */
public final class FakeServer implements AutoCloseable {
  private static final Pattern HREF = Pattern.compile("href=\"([^\"]*)\"");

  public final List<Page> pages = new CopyOnWriteArrayList<>();
  public final List<Feedback> rewards = new CopyOnWriteArrayList<>();
  public final List<RankBucketsRequest> planned = new CopyOnWriteArrayList<>();
  public final Map<String, Boolean> crawls = new ConcurrentHashMap<>();

  /** Fetches of the budget of the crawl; 0 for none. A page of {@code covered.test} says that its site is covered. */
  public volatile long most;

  /** The crawl as it was last made or changed. */
  public volatile Crawl crawl = Crawl.getDefaultInstance();

  /** What every call of pages and feedback is refused with, if anything. */
  public volatile StatusRuntimeException refusal;

  /** What the making of crawls is refused with, if anything; and what changes the links of answers to pages. */
  public volatile StatusRuntimeException noCrawl;

  public volatile Consumer<LinkScores.Builder> spoil = links -> {};

  /** Whether no bucket is given a place. */
  public volatile boolean grantsNothing;

  /** When every page is to be fetched again, null for never. */
  public volatile Timestamp nextFetch;

  /** Whether crawls have {@code revisit}; the pages that are due then, best first. */
  public volatile boolean revisits;

  public volatile List<String> due = List.of();

  private final Server server;
  private final int port;

  public FakeServer() throws IOException {
    this(0);
  }

  public FakeServer(int at) throws IOException {
    this(at, InsecureServerCredentials.create());
  }

  FakeServer(int at, ServerCredentials credentials) throws IOException {
    server =
        Grpc.newServerBuilderForPort(at, credentials)
            .addService(new Links())
            .addService(new Crawls())
            .build()
            .start();
    this.port = server.getPort();
  }

  public String target() {
    return "localhost:" + port;
  }

  public int port() {
    return port;
  }

  @Override
  public void close() {
    server.shutdownNow();
    try {
      server.awaitTermination();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Of pages side by side too: each counts those before it. */
  private synchronized PageResult result(Page page) {
    pages.add(page);
    PageResult.Builder result = PageResult.newBuilder().setLinks(scores(page)).setEventSeq(pages.size());
    spoil.accept(result.getLinksBuilder());
    if (nextFetch != null) {
      result.setNextFetchTime(nextFetch);
    }
    if (page.getUrl().contains("//covered.test")) {
      int links = result.getLinks().getScoresCount();
      result.getStandingBuilder().setDecision(Decision.DECISION_STOP_COVERED).setReason("all found");
      result.getLinksBuilder().addAllSkipReasons(Collections.nCopies(links, SkipReason.SKIP_REASON_SITE_STOPPED));
    } else if (page.getUrl().contains("//copies.test")) {
      int links = result.getLinks().getScoresCount();
      result.getLinksBuilder().addAllSkipReasons(Collections.nCopies(links, SkipReason.SKIP_REASON_COPY));
    } else if (most > 0) {
      long left = Math.max(0, most - pages.size());
      result.setStanding(standing(left));
    }
    return result.build();
  }

  private static Standing standing(long left) {
    Standing.Builder standing = Standing.newBuilder().setFetchesLeft(left).setSpent(left == 0);
    return left > 0
        ? standing.setDecision(Decision.DECISION_CONTINUE).build()
        : standing.setDecision(Decision.DECISION_STOP_BUDGET).setReason("all spent").build();
  }

  private static LinkScores scores(Page page) {
    var links =
        LinkScores.newBuilder()
            .addBucketNames("bad")
            .addBucketNames("good")
            .addBucketValues(.1)
            .addBucketValues(.9)
            .addTicketValues(ByteString.copyFromUtf8("tb"))
            .addTicketValues(ByteString.copyFromUtf8("tg"));
    if (page.getOutlinksCount() > 0) {
      page.getOutlinksList().stream().map(Outlink::getUrl).forEach(url -> add(links, url));
    } else {
      Matcher href = HREF.matcher(page.getBody().toStringUtf8());
      while (href.find()) {
        add(links, java.net.URI.create(page.getUrl()).resolve(href.group(1)).toString());
      }
    }
    return links.build();
  }

  private static void add(LinkScores.Builder links, String url) {
    int kind = url.contains("/good") ? 1 : 0;
    links.addUrls(url).addScores(kind == 1 ? .9 : .1).addBuckets(kind).addTickets(kind);
  }

  private static <T> void answer(StreamObserver<T> to, T with) {
    to.onNext(with);
    to.onCompleted();
  }

  private final class Links extends LinkScoringServiceGrpc.LinkScoringServiceImplBase {
    @Override
    public void ingestPages(IngestPagesRequest request, StreamObserver<IngestPagesResponse> to) {
      if (refusal != null) {
        to.onError(refusal);
        return;
      }
      if (!crawls.containsKey(request.getCrawl())) {
        to.onError(Status.NOT_FOUND.asRuntimeException());
        return;
      }
      var answer = IngestPagesResponse.newBuilder();
      for (Page page : request.getPagesList()) {
        answer.addResults(result(page));
      }
      answer(to, answer.build());
    }

    @Override
    public void rankBuckets(RankBucketsRequest request, StreamObserver<RankBucketsResponse> to) {
      planned.add(request);
      var answer = RankBucketsResponse.newBuilder();
      for (int i = 0; i < request.getBucketsCount(); i++) {
        String bucket = request.getBuckets(i);
        boolean good = bucket.equals("good");
        int underWay =
            request.getInFlightList().stream()
                .filter(entry -> entry.getBucket().equals(bucket))
                .mapToInt(BucketInFlight::getCount)
                .sum();
        answer.addOrder(i).addValues(good ? .9 : .1 / (1 + underWay));
        if (request.getN() > 0) {
          answer.addUrls(good && !grantsNothing ? request.getN() : 0);
        }
      }
      answer(to, answer.build());
    }

    @Override
    public void rankRevisits(RankRevisitsRequest request, StreamObserver<RankRevisitsResponse> to) {
      if (!revisits) {
        to.onError(Status.FAILED_PRECONDITION.asRuntimeException());
        return;
      }
      var answer = RankRevisitsResponse.newBuilder();
      due.stream().limit(request.getMaxResults()).forEach(url -> answer.addPages(DuePage.newBuilder().setUrl(url)));
      answer(to, answer.build());
    }

    @Override
    public void reportFeedback(ReportFeedbackRequest request, StreamObserver<ReportFeedbackResponse> to) {
      rewards.addAll(request.getFeedbackList());
      var answer = ReportFeedbackResponse.newBuilder();
      request.getFeedbackList().forEach(event -> answer.addStatusesBuilder());
      answer(to, answer.build());
    }
  }

  private final class Crawls extends CrawlServiceGrpc.CrawlServiceImplBase {
    @Override
    public void getCrawl(GetCrawlRequest request, StreamObserver<GetCrawlResponse> to) {
      if (crawls.containsKey(request.getName())) {
        Crawl.Builder known = crawl.toBuilder().setName(request.getName());
        if (revisits) {
          known.setRevisit(Revisit.getDefaultInstance());
        }
        answer(to, GetCrawlResponse.newBuilder().setCrawl(known).build());
      } else {
        to.onError(Status.NOT_FOUND.asRuntimeException());
      }
    }

    @Override
    public void createCrawl(CreateCrawlRequest request, StreamObserver<CreateCrawlResponse> to) {
      if (noCrawl != null) {
        to.onError(noCrawl);
        return;
      }
      if (crawls.put(request.getCrawl().getName(), true) != null) {
        to.onError(Status.ALREADY_EXISTS.asRuntimeException());
        return;
      }
      crawl = request.getCrawl();
      answer(to, CreateCrawlResponse.newBuilder().setCrawl(request.getCrawl()).build());
    }

    @Override
    public void updateCrawl(UpdateCrawlRequest request, StreamObserver<UpdateCrawlResponse> to) {
      crawl = crawl.toBuilder().mergeFrom(request.getCrawl()).build();
      answer(to, UpdateCrawlResponse.newBuilder().setCrawl(crawl).build());
    }
  }
}
