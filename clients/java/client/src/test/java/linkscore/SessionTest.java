package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import linkscore.v1.Budget;
import linkscore.v1.Decision;
import linkscore.v1.LinkScores;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.junit.jupiter.api.Test;

/** What a session does with a server, without, with one that comes back, and at the end of a budget. */
class SessionTest {
  private static final Budget SEVEN = Settings.budget("max_fetches=7");

  private static Page page(String path, String... links) {
    String body = "<a href=\"" + String.join("\"> <a href=\"", links) + "\">";
    String url = path.startsWith("http") ? path : "http://a.test" + path;
    return Page.newBuilder().setUrl(url).setBody(ByteString.copyFromUtf8(body)).build();
  }

  private static Session session(FakeServer server, Budget budget) {
    Client client = Client.to(server.target()).timeout(Duration.ofMinutes(1)).connect();
    var config = linkscore.v1.Crawl.newBuilder();
    return new Session(client, "x", budget == null ? null : config.setBudget(budget).build(), Duration.ofMillis(1));
  }

  private static List<Link> links(Optional<PageResult> answer) {
    return answer.map(Link::of).orElse(List.of());
  }

  private static List<Link> found(String bucket, double value, String... urls) {
    var links = LinkScores.newBuilder().addBucketNames(bucket).addBucketValues(value);
    links.addTicketValues(ByteString.copyFromUtf8("t" + bucket));
    for (String url : urls) {
      links.addUrls(url).addScores(value).addBuckets(0).addTickets(0);
    }
    return Link.of(PageResult.newBuilder().setLinks(links).build());
  }

  private static List<String> paths(List<Page> pages) {
    return pages.stream().map(page -> page.getUrl().substring("http://a.test".length())).collect(Collectors.toList());
  }

  private static StatusRuntimeException exhausted(String reason) {
    var info = ErrorInfo.newBuilder().setDomain("linkscore").setReason(reason);
    var status = com.google.rpc.Status.newBuilder().setCode(Code.RESOURCE_EXHAUSTED_VALUE);
    return StatusProto.toStatusRuntimeException(status.addDetails(Any.pack(info.build())).build());
  }

  private static void until(BooleanSupplier isSo) {
    while (!isSo.getAsBoolean()) {
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Test
  void aSessionMakesItsCrawlAndMakesItAgainWhenTheServerLostIt() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      assertEquals("http://a.test/good", links(session.ingest(page("/", "/good"))).get(0).url);
      server.crawls.clear();
      assertTrue(session.ingest(page("/2")).isPresent());
      session.failed("http://a.test/gone", 404, "", ByteString.copyFromUtf8("t"));
      session.reward("http://a.test/good", ByteString.copyFromUtf8("t"), 1);
      assertEquals(404, server.pages.get(2).getStatusCode());
      assertEquals(1, server.rewards.get(0).getReward());
      assertEquals("pages=2 failed=1 rewards=1 scored=0 missed=0 fallback=0", session.toString());
    }
  }

  @Test
  void aServerThatComesBackIsToldWhatItMissedInOrder() throws Exception {
    FakeServer first = new FakeServer();
    try (Session session = session(first, null)) {
      assertTrue(session.ingest(page("/1")).isPresent());
      first.close();
      for (String path : List.of("/2", "/3", "/4")) {
        assertTrue(session.ingest(page(path, "/good")).isEmpty());
      }
      session.failed("http://a.test/gone", 404, "", ByteString.EMPTY);
      session.reward("http://a.test/1", ByteString.EMPTY, 1);
      assertTrue(session.isBroken());
      assertTrue(session.ask(crawl -> crawl.rankBuckets(Map.of("good", 1), Map.of(), 1, false)).isEmpty());
      try (FakeServer second = new FakeServer(first.port())) {
        until(() -> session.rewards.sum() == 1);
        assertEquals(List.of("/2", "/3", "/4", "/gone"), paths(second.pages));
        assertEquals("pages=4 failed=1 rewards=1 scored=0 missed=0 fallback=0", session.toString());
        assertTrue(session.ingest(page("/5")).isPresent());
      }
    }
  }

  @Test
  void aFullDiskStopsTheOrderTooAndACallThatIsTooLargeDoesNot() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      server.refusal = exhausted("LIMIT_EXCEEDED");
      assertTrue(session.ingest(page("/0")).isEmpty());
      assertFalse(session.isBroken());
      server.refusal = exhausted("DISK_FULL");
      assertTrue(session.ingest(page("/1")).isEmpty());
      assertTrue(session.ask(crawl -> crawl.rankBuckets(Map.of("good", 1), Map.of(), 1, false)).isEmpty(), "it would answer");
      assertEquals(List.of(), server.planned);
      server.refusal = null;
      until(() -> !session.isBroken());
      assertEquals(List.of("/1"), paths(server.pages));
    }
  }

  @Test
  void aPageThatAlwaysTakesTooLongIsGivenUp() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      server.refusal = Status.DEADLINE_EXCEEDED.asRuntimeException();
      assertTrue(session.ingest(page("/0")).isEmpty());
      until(() -> !session.isBroken());
      server.refusal = null;
      assertTrue(session.ingest(page("/1")).isPresent());
      assertEquals(List.of("/1"), paths(server.pages));
    }
  }

  @Test
  void anOddAnswerLeavesTheCrawlInItsOwnOrder() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      server.spoil = links -> links.setScores(0, Double.NaN); // others: the scenario odd_answers
      assertTrue(session.ingest(page("/1", "/good", "/bad")).isEmpty());
      server.spoil = LinkScores.Builder::clearUrls;
      session.ingest(page("/2", "/good", "/bad"));
      assertFalse(session.isBroken());
    }
  }

  @Test
  void aLinkOfAnOutageBelongsWhereLinksOfItsShapeWereFoundAndIsWorthLessWhereFetchesFailed() {
    Outlook outlook = new Outlook();
    outlook.learn(found("tag", .5, "http://a.test/tag/red"));
    outlook.learn(found("tags", .9, "http://a.test/tag/blue", "http://a.test/tag/red"));
    outlook.learn(found("tag", .5, "http://a.test/tag/red"));
    assertEquals("tags", outlook.guess("http://a.test/tag/green").orElseThrow().bucket, "found again teaches nothing");
    assertEquals(.9, outlook.guess("http://a.test/tag/green").orElseThrow().value);
    outlook.fetched("http://a.test/tag/red", false);
    assertEquals(.45, outlook.guess("http://a.test/tag/green").orElseThrow().value, 1e-9);
    assertTrue(outlook.guess("http://a.test/other/x").isEmpty());
  }

  @Test
  void aUrlHasAFineShapeAndACoarseOne() {
    Map.of(
            "http://a.org/2026/11/hello-world/", List.of("a.org/#/#/hello-world/", "*a.org/#/#/*/"),
            "http://a.org/viewtopic.php?t=5&start=10#p7", List.of("a.org/viewtopic.php?start&t", "*a.org/*.php?start&t"),
            "http://a.org/123/some-title", List.of("a.org/#/some-title", "*a.org/#/*"),
            "http://a.org", List.of("a.org/", "*a.org/"),
            "http://a.org/a1b/x?&&k2=/3", List.of("a.org/a#b/x?k#", "*a.org/#/*?k#"))
        .forEach((url, shapes) -> assertEquals(shapes, List.of(Outlook.shapes(url))));
  }

  @Test
  void aCrawlSaysWhyItHasStopped() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      server.most = 2;
      session.ingest(page("/1"));
      assertEquals("", session.stopped());
      session.ingest(page("/2"));
      assertEquals("linkscore_budget: all spent", session.stopped() + ": " + session.whyStopped());
      server.crawl = server.crawl.toBuilder().setDecision(Decision.DECISION_STOP_YIELD).setDecisionReason("little").build();
      assertEquals("linkscore_yield: little", session.askStopped() + ": " + session.whyStopped());
    }
  }

  @Test
  void anAnswerThatANewerOneOvertookDoesNotTakeBackThatTheCrawlHasStopped() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      server.most = 2;
      session.ingest(page("/1"));
      session.ingest(page("/2"));
      server.pages.clear(); // the next is the first event again
      session.ingest(page("/3"));
      assertEquals("linkscore_budget: all spent", session.stopped() + ": " + session.whyStopped());
    }
  }

  @Test
  void aStopIsHeededThoughTheServerLostTheCrawlAndCountsAnew() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      server.most = 3;
      session.ingest(page("/1"));
      session.ingest(page("/2"));
      server.pages.clear();
      server.most = 1;
      session.ingest(page("/3"));
      assertEquals("linkscore_budget", session.stopped());
    }
  }

  @Test
  void whatAnEndThatIsCutShortDidNotSendIsCounted() throws Exception {
    FakeServer gone = new FakeServer();
    gone.close();
    Client client = Client.to(gone.target()).timeout(Duration.ofMinutes(1)).connect();
    Session session = new Session(client, "x", null, Duration.ofHours(1));
    for (String path : List.of("/1", "/2", "/3")) {
      session.ingest(page(path, "/good"));
    }
    CountDownLatch asked = new CountDownLatch(1);
    List<String> said = new CopyOnWriteArrayList<>();
    Handler heard = new StreamHandler() {
      @Override
      public void publish(LogRecord line) {
        said.add(new SimpleFormatter().formatMessage(line));
      }
    };
    Logger.getLogger("linkscore").addHandler(heard);
    try (FakeServer slow = new FakeServer(gone.port())) {
      slow.spoil =
          links -> {
            asked.countDown();
            LockSupport.park();
          };
      Thread closing = new Thread(session::close);
      closing.start();
      asked.await();
      closing.interrupt();
      closing.join();
    } finally {
      Logger.getLogger("linkscore").removeHandler(heard);
    }
    assertTrue(said.get(said.size() - 1).endsWith("not_sent=3"), said.toString());
  }
}
