package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.Code;
import com.google.rpc.ErrorInfo;
import io.grpc.StatusRuntimeException;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import linkscore.v1.Budget;
import linkscore.v1.Decision;
import linkscore.v1.LinkScores;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.junit.jupiter.api.Test;

/** Crawls by a session and its frontier: with a server, without, with one that comes back, and to the end of a budget. */
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
    return Link.rows(links.build());
  }

  private static List<String> paths(List<Page> pages) {
    return pages.stream().map(page -> page.getUrl().substring("http://a.test".length())).collect(Collectors.toList());
  }

  private static List<String> taken(Frontier frontier) {
    List<String> order = new ArrayList<>();
    for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
      order.add(item.get().url());
      frontier.done(item.get());
    }
    return order;
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
  void theFrontierGivesSeedsThenTheBestBucketThenTheUnknown() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      Frontier frontier = new Frontier(session);
      frontier.addUnscored("http://u.test/");
      found("bad", .9, "1").forEach(frontier::add); // the value of the bucket now counts, not the one it came with
      found("good", .1, "2", "3").forEach(frontier::add);
      frontier.addSeed("s");
      assertEquals(List.of("s", "2", "3", "1", "http://u.test/"), taken(frontier));
      assertEquals(0, frontier.size());
      found("bad", .1, "4", "5").forEach(frontier::add);
      found("good", .1, "5").forEach(frontier::add);
      var first = frontier.next().orElseThrow();
      assertEquals("5 tgood", first.url() + " " + first.ticket().toStringUtf8(), "of the bucket it is taken from");
      frontier.done(first);
      assertEquals(List.of("4"), taken(frontier));
    }
  }

  @Test
  void theFrontierTellsWhatIsUnderWayAndLeavesPlacesEmptyUntilTheNextAnswer() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      Frontier frontier = new Frontier(session);
      found("bad", .1, "1", "3").forEach(frontier::add);
      found("good", .9, "2", "4").forEach(frontier::add);
      var first = frontier.next().orElseThrow();
      assertEquals("2", first.url());
      server.grantsNothing = true;
      assertTrue(frontier.next().isEmpty(), "a place that was not filled");
      assertTrue(frontier.next().isEmpty());
      assertEquals(2, server.planned.size(), "nothing new: not asked a third time");
      var asked = server.planned.get(1);
      assertEquals(List.of("bad", "good"), asked.getBucketsList());
      assertEquals(List.of(2, 1), asked.getWaitingList());
      assertEquals("good", asked.getInFlight(0).getBucket());
      frontier.done(first);
      assertEquals("4", frontier.next().orElseThrow().url(), "nothing is under way: one goes in any case");
    }
  }

  @Test
  void aServerThatComesBackIsToldWhatItMissedInOrderAndTheAnswersComeLater() throws Exception {
    FakeServer first = new FakeServer();
    try (Session session = session(first, null)) {
      assertTrue(session.ingest(page("/1")).isPresent());
      first.close();
      BlockingQueue<String> later = new LinkedBlockingQueue<>();
      for (String path : List.of("/2", "/3", "/4")) {
        Consumer<PageResult> answer = result -> later.add(Link.of(result).get(0).url);
        assertTrue(session.ingest(page(path, "/good"), answer).isEmpty());
      }
      session.failed("http://a.test/gone", 404, "", ByteString.EMPTY);
      session.reward("http://a.test/1", ByteString.EMPTY, 1);
      assertTrue(session.isBroken());
      assertTrue(session.planBuckets(Map.of("good", 1), Map.of(), 1, false).isEmpty());
      try (FakeServer second = new FakeServer(first.port())) {
        until(() -> session.rewards.sum() == 1);
        assertEquals(List.of("/2", "/3", "/4", "/gone"), paths(second.pages));
        assertEquals(3, later.size());
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
      assertTrue(session.planBuckets(Map.of("good", 1), Map.of(), 1, false).isEmpty(), "it would answer");
      assertEquals(List.of(), server.planned);
      server.refusal = null;
      until(() -> !session.isBroken());
      assertEquals(List.of("/1"), paths(server.pages));
    }
  }

  @Test
  void anOddAnswerLeavesTheCrawlInItsOwnOrder() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      server.spoil = links -> links.setScores(0, Double.NaN); // others: the scenario odd_answers
      assertTrue(session.ingest(page("/1", "/good", "/bad")).isEmpty());
      assertFalse(session.isBroken());
    }
  }

  @Test
  void linksFoundMeanwhileAreScoredByTheAnswerToTheirPage() throws Exception {
    FakeServer first = new FakeServer();
    try (Session session = session(first, null)) {
      Frontier frontier = new Frontier(session);
      links(session.ingest(page("/1", "/good/1", "/bad/1"))).forEach(frontier::add);
      first.close();
      Consumer<PageResult> later = result -> Link.of(result).forEach(frontier::add);
      assertTrue(session.ingest(page("/2", "/good-one", "/other"), later).isEmpty());
      frontier.addUnscored("http://a.test/other");
      frontier.addUnscored("http://a.test/good-one");
      try (FakeServer second = new FakeServer(first.port())) {
        until(() -> frontier.size() == 4 && second.pages.size() == 1 && !session.isBroken());
        var order = taken(frontier).stream().map(url -> url.substring("http://a.test".length()));
        assertEquals(List.of("/good/1", "/good-one", "/bad/1", "/other"), order.collect(Collectors.toList()));
      }
    }
  }

  @Test
  void whileTheServerIsAwayABucketLosesTrustAndGuessesGoBehindWhatIsScored() throws Exception {
    FakeServer gone = new FakeServer();
    gone.close();
    try (Session session = session(gone, null)) {
      assertTrue(session.ingest(page("/")).isEmpty());
      Frontier frontier = new Frontier(session);
      String[] good = IntStream.range(0, 16).mapToObj(i -> "http://a.test/s/" + i).toArray(String[]::new);
      session.outlook.learn(found("good", .9, good));
      found("bad", .4, "http://a.test/b").forEach(frontier::add);
      found("good", .9, good).forEach(frontier::add);
      IntStream.range(16, 32).forEach(i -> frontier.addUnscored("http://a.test/s/" + i));
      frontier.addUnscored("http://b.test/u");
      List<String> order = taken(frontier);
      // .9 * 16 / (16 + k) is no more than .4 once k is 20: 16 that are scored and 4 guesses
      assertEquals(good[15], order.get(15));
      assertEquals("http://a.test/s/16", order.get(16));
      assertEquals(20, order.indexOf("http://a.test/b"));
      assertEquals(33, order.indexOf("http://b.test/u"));
    }
  }

  @Test
  void bucketsFadeWithTheirShapesAndLessIfTheyAreProven() {
    Outlook outlook = new Outlook();
    outlook.learn(found("tag", .5, "http://a.test/tag/red"));
    outlook.learn(found("tags", .9, "http://a.test/tag/blue", "http://a.test/tag/red"));
    assertEquals("tags", outlook.guess("http://a.test/tag/green").orElseThrow().bucket);
    outlook.learn(found("tag", .5, "http://a.test/tag/red"));
    assertEquals("tags", outlook.guess("http://a.test/tag/green").orElseThrow().bucket, "found again teaches nothing");
    outlook.taken("tags");
    outlook.setAway(true);
    outlook.taken("tags");
    assertEquals(.9 * 32 / 33, outlook.worth("tags", .9), 1e-9);
    outlook.fetched("http://a.test/tag/red", false);
    assertEquals(.45 * 32 / 33, outlook.worth("tags", .9), 1e-9);
    outlook.learn(found("blue", .9, "http://a.test/tag/navy")); // another bucket of links of that shape
    assertEquals(.45 * 16 / 17, outlook.worth("blue", .9), 1e-9);
    outlook.setAway(false);
    assertEquals(.9, outlook.worth("tags", .9));
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

  /** A crawl of a site of thirty pages by some threads; returns how many URLs it fetched. */
  private static int crawl(Session session, int threads, Runnable afterFirst) throws Exception {
    Frontier frontier = new Frontier(session);
    frontier.addSeed("http://a.test/");
    Map<String, Boolean> fetched = new ConcurrentHashMap<>();
    AtomicInteger underWay = new AtomicInteger();
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<?>> ends = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      ends.add(pool.submit(() -> fetchAll(session, frontier, fetched, underWay, afterFirst)));
    }
    for (Future<?> end : ends) {
      end.get(600, TimeUnit.SECONDS);
    }
    pool.shutdown();
    return (int) fetched.values().stream().filter(isFetched -> isFetched).count();
  }

  private static void fetchAll(
      Session session, Frontier frontier, Map<String, Boolean> fetched, AtomicInteger underWay, Runnable afterFirst) {
    String[] all = IntStream.range(0, 30).mapToObj(i -> "/good/" + i).toArray(String[]::new);
    while (true) {
      Optional<Frontier.Item> next;
      synchronized (underWay) { // one asks at a time, so that nobody takes the crawl for finished meanwhile
        next = frontier.next();
        if (next.isEmpty() && underWay.get() == 0) {
          return;
        }
        underWay.addAndGet(next.isPresent() ? 1 : 0);
      }
      if (next.isEmpty()) {
        LockSupport.parkNanos(1_000_000);
        continue;
      }
      assertNotEquals(true, fetched.put(next.get().url(), true));
      links(session.ingest(page(next.get().url(), all))).stream()
          .filter(link -> fetched.putIfAbsent(link.url, false) == null) // found, and not fetched yet
          .forEach(frontier::add);
      frontier.done(next.get());
      underWay.decrementAndGet();
      afterFirst.run();
    }
  }

  @Test
  void aBudgetEndsTheCrawlAtItsLastFetch() throws Exception {
    for (int threads : new int[] {1, 8}) {
      try (FakeServer server = new FakeServer();
          Session session = session(server, threads == 1 ? null : SEVEN)) { // of one thread only the server knows it
        server.most = 7;
        assertEquals(7, crawl(session, threads, () -> {}), threads + " threads");
        assertEquals(7, server.pages.size());
        assertEquals("linkscore_budget: all spent", session.stopped() + ": " + session.whyStopped());
      }
    }
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      assertEquals(31, crawl(session, 4, () -> {}));
      assertEquals("", session.stopped());
    }
  }

  @Test
  void aBudgetHoldsWithoutAServerToo() throws Exception {
    FakeServer server = new FakeServer();
    server.most = 7;
    try (Session session = session(server, SEVEN)) {
      assertEquals(7, crawl(session, 1, server::close), "one that the server counted, and six that it does not know");
      assertEquals("linkscore_budget", session.stopped());
      assertTrue(session.whyStopped().startsWith("6 fetches that the server does not know"), session.whyStopped());
    }
  }

  @Test
  void aCrawlThatHasSpentAllBeforeFetchesOnePageToFindOut() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      server.most = 1;
      Frontier frontier = new Frontier(session);
      frontier.addSeed("http://a.test/");
      frontier.addSeed("http://a.test/2");
      Frontier.Item first = frontier.next().orElseThrow();
      assertTrue(frontier.next().isEmpty(), "seven would be left, if none was fetched by an earlier run");
      session.ingest(page(first.url()));
      frontier.done(first);
      assertTrue(frontier.next().isEmpty());
      assertEquals("linkscore_budget", session.stopped());
      server.crawl = server.crawl.toBuilder().setDecision(Decision.DECISION_STOP_YIELD).setDecisionReason("little").build();
      assertEquals("linkscore_yield: little", session.askStopped() + ": " + session.whyStopped());
    }
  }

  @Test
  void aCoveredSiteEndsTheCrawlUnlessStartPagesWait() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      Frontier frontier = new Frontier(session);
      frontier.addSeed("http://covered.test/");
      frontier.addSeed("http://a.test/");
      for (String url : List.of("http://covered.test/", "http://a.test/")) {
        Frontier.Item item = frontier.next().orElseThrow();
        assertEquals(url, item.url());
        List<Link> links = links(session.ingest(page(url, "/good")));
        assertEquals(url.contains("covered"), links.get(0).isSkipped());
        links.forEach(frontier::add);
        frontier.done(item);
        assertEquals("linkscore_covered", session.stopped());
      }
      assertTrue(frontier.next().isEmpty());
    }
  }

  @Test
  void answersThatComeInAnotherOrderLeaveNoMoreThanTheLastAndMoneyBoundsFetches() {
    Allowance allowance = new Allowance(SEVEN);
    for (long[] each : new long[][] {{8, 1}, {7, 2}, {9, 9}}) { // in the end the budget was raised
      allowance.begin();
      PageResult.Builder result = PageResult.newBuilder().setEventSeq(each[0]);
      result.getStandingBuilder().setDecision(Decision.DECISION_CONTINUE).setFetchesLeft(each[1]);
      allowance.take(result.build());
      assertEquals(each[1] < 9, allowance.isFull(1, false));
    }
    Allowance money = new Allowance(Settings.budget("max_fetches=9 max_cost=1 fetch_cost=.3"));
    money.begin();
    money.take(PageResult.getDefaultInstance());
    assertFalse(money.isFull(2, false));
    assertTrue(money.isFull(3, false));
  }
}
