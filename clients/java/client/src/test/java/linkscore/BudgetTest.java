package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import linkscore.v1.Budget;
import linkscore.v1.Decision;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.junit.jupiter.api.Test;

/** Crawls that end by their budget, at its last fetch and with a reason; and those without one, which do not. */
class BudgetTest {
  private static final Budget SEVEN = Budget.newBuilder().setMaxFetches(7).build();

  private static Session session(FakeServer server, Budget budget) {
    return new Session(Client.to(server.target()).timeout(Duration.ofSeconds(5)).connect(), "x", null, budget);
  }

  /** A crawl of a site of thirty pages by some threads; returns the URLs it fetched. */
  private static List<String> crawl(Session session, int threads, Runnable afterFirst) throws Exception {
    Frontier frontier = new Frontier(session, 1);
    frontier.addSeed("http://a.test/");
    Map<String, Boolean> fetched = new ConcurrentHashMap<>();
    AtomicInteger underWay = new AtomicInteger();
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    List<Future<?>> ends = new ArrayList<>();
    for (int i = 0; i < threads; i++) {
      ends.add(pool.submit(() -> fetchAll(session, frontier, fetched, underWay, afterFirst)));
    }
    for (Future<?> end : ends) {
      end.get(60, TimeUnit.SECONDS);
    }
    pool.shutdown();
    fetched.values().removeIf(isFetched -> !isFetched);
    return List.copyOf(fetched.keySet());
  }

  private static void fetchAll(
      Session session, Frontier frontier, Map<String, Boolean> fetched, AtomicInteger underWay, Runnable afterFirst) {
    while (true) {
      Optional<Frontier.Item> next;
      boolean isOver;
      synchronized (underWay) { // one asks at a time, so that nobody takes the crawl for finished meanwhile
        next = frontier.next();
        isOver = next.isEmpty() && underWay.get() == 0;
        underWay.addAndGet(next.isPresent() ? 1 : 0);
      }
      if (isOver) {
        return;
      }
      if (next.isEmpty()) {
        LockSupport.parkNanos(1_000_000);
        continue;
      }
      assertNotEquals(true, fetched.put(next.get().url(), true));
      links(session.ingest(page(next.get().url()))).stream()
          .filter(link -> fetched.putIfAbsent(link.url(), false) == null) // found, and not fetched yet
          .forEach(frontier::add);
      frontier.done(next.get());
      underWay.decrementAndGet();
      afterFirst.run();
    }
  }

  private static List<Link> links(Optional<Result> answer) {
    return answer.map(Result::links).orElse(List.of());
  }

  private static Page page(String url) {
    StringBuilder body = new StringBuilder();
    for (int i = 0; i < 30; i++) {
      body.append("<a href=\"/good/").append(i).append("\">");
    }
    return Page.newBuilder().setUrl(url).setBody(ByteString.copyFromUtf8(body.toString())).build();
  }

  @Test
  void aBudgetEndsTheCrawlAtItsLastFetch() throws Exception {
    for (int threads : new int[] {1, 8}) {
      try (FakeServer server = new FakeServer();
          Session session = session(server, SEVEN)) {
        server.most = 7;
        assertEquals(7, crawl(session, threads, () -> {}).size(), threads + " threads");
        assertEquals(7, server.pages.size());
        assertEquals("linkscore_budget: all spent", session.stopped() + ": " + session.whyStopped());
        assertEquals(SEVEN, server.crawl.getBudget());
      }
    }
  }

  @Test
  void aBudgetThatOnlyTheServerKnowsHoldsToo() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      server.most = 7;
      assertEquals(7, crawl(session, 1, () -> {}).size());
      assertEquals("linkscore_budget", session.stopped());
      assertFalse(server.crawl.hasBudget());
    }
  }

  @Test
  void aCrawlWithoutABudgetDoesNotStop() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      assertEquals(31, crawl(session, 4, () -> {}).size());
      assertEquals("", session.stopped());
      assertEquals(List.of(), server.masks);
    }
  }

  @Test
  void aBudgetHoldsWithoutAServerToo() throws Exception {
    FakeServer server = new FakeServer();
    server.most = 7;
    try (Session session = session(server, SEVEN)) {
      int fetched = crawl(session, 1, server::close).size();
      assertEquals(7, fetched, "one that the server counted, and six that it does not know");
      assertEquals("linkscore_budget", session.stopped());
      assertTrue(session.whyStopped().startsWith("6 fetches that the server does not know"), session.whyStopped());
    }
  }

  @Test
  void aCrawlThatHasSpentAllBeforeFetchesOnePageToFindOut() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      server.most = 1;
      Frontier frontier = new Frontier(session, 1);
      frontier.addSeed("http://a.test/");
      frontier.addSeed("http://a.test/2");
      Frontier.Item first = frontier.next().orElseThrow();
      assertTrue(frontier.next().isEmpty(), "seven would be left, if none was fetched by an earlier run");
      session.ingest(page(first.url()));
      frontier.done(first);
      assertTrue(frontier.next().isEmpty());
      assertEquals("linkscore_budget", session.stopped());
    }
  }

  @Test
  void aCoveredSiteEndsTheCrawlUnlessStartPagesWait() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      Frontier frontier = new Frontier(session, 1);
      frontier.addSeed("http://covered.test/");
      frontier.addSeed("http://a.test/");
      for (String url : List.of("http://covered.test/", "http://a.test/")) {
        Frontier.Item item = frontier.next().orElseThrow();
        assertEquals(url, item.url());
        session.ingest(page(url)).orElseThrow().links().forEach(frontier::add);
        frontier.done(item);
        assertEquals("linkscore_covered", session.stopped());
      }
      assertTrue(frontier.next().isEmpty());
    }
  }

  @Test
  void theSiteOfALinkThatHasStoppedIsSaid() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, null)) {
      assertTrue(session.ingest(page("http://covered.test/")).orElseThrow().links().get(0).isSkipped());
      assertFalse(session.ingest(page("http://a.test/")).orElseThrow().links().get(0).isSkipped());
    }
  }

  @Test
  void aBudgetIsGivenToACrawlThatIsThere() throws Exception {
    try (FakeServer server = new FakeServer();
        Client client = Client.to(server.target()).connect()) {
      client.ensureCrawl("x");
      client.ensureCrawl("x", null, SEVEN);
      client.ensureCrawl("x", null, SEVEN);
      client.ensureCrawl("x");
      assertEquals(List.of(List.of("budget")), server.masks);
      assertEquals(SEVEN, server.crawl.getBudget());
    }
  }

  @Test
  void aSessionAsksWhetherItsCrawlHasStopped() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server, SEVEN)) {
      assertEquals("", session.askStopped());
      server.crawl = server.crawl.toBuilder().setDecision(Decision.DECISION_STOP_YIELD).setDecisionReason("little").build();
      assertEquals("linkscore_yield", session.askStopped());
      assertEquals("little", session.whyStopped());
    }
  }

  @Test
  void answersThatComeInAnotherOrderLeaveNoMoreThanTheLast() {
    Allowance allowance = new Allowance(SEVEN);
    for (int i = 0; i < 3; i++) {
      allowance.begin();
    }
    allowance.take(left(8, 1));
    allowance.take(left(7, 2));
    assertTrue(allowance.isFull(1, false));
    allowance.take(left(9, 9)); // the budget was raised meanwhile
    assertFalse(allowance.isFull(8, false));
    assertTrue(allowance.isFull(9, false));
  }

  private static PageResult left(long seq, long fetches) {
    PageResult.Builder result = PageResult.newBuilder().setEventSeq(seq);
    result.getStandingBuilder().setDecision(Decision.DECISION_CONTINUE).setFetchesLeft(fetches);
    return result.build();
  }

  @Test
  void moneyBoundsFetches() {
    Allowance allowance = new Allowance(Budget.newBuilder().setMaxFetches(9).setMaxCost(1).setFetchCost(.3).build());
    allowance.begin();
    allowance.take(PageResult.getDefaultInstance());
    assertFalse(allowance.isFull(2, false));
    assertTrue(allowance.isFull(3, false));
  }

  @Test
  void aBudgetIsReadFromAConfiguration() {
    assertEquals(
        Budget.newBuilder().setMaxFetches(5000).setEnoughCoverage(.95).build(),
        Budgets.of("max_fetches=5000, enough_coverage=0.95"));
    assertNull(Budgets.of(" "));
    for (String wrong : List.of("max_pages=1", "max_fetches", "max_fetches=many")) {
      var error =
          assertThrows(
              IllegalArgumentException.class,
              () -> Session.configured("c", key -> key.equals("linkscore.budget") ? wrong : null));
      assertTrue(error.getMessage().startsWith("linkscore.budget"), error.getMessage());
    }
  }
}
