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
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import linkscore.Backlog.Kept;
import java.util.Map;
import java.util.function.Consumer;
import linkscore.v1.CandidateLink;
import linkscore.v1.Feedback;
import linkscore.v1.LinkScores;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.junit.jupiter.api.Test;

/** A server that is lost and comes back: what is asked of it, what it is told then, and what is fetched meanwhile. */
class OutageTest {
  private static final Duration SOON = Duration.ofMillis(1);

  private static Page page(String path, String... links) {
    String body = "<a href=\"" + String.join("\"> <a href=\"", links) + "\">";
    return Page.newBuilder().setUrl("http://a.test" + path).setBody(ByteString.copyFromUtf8(body)).build();
  }

  private static LinkscoreException error(Status status) {
    return LinkscoreException.from(status.asRuntimeException());
  }

  private static StatusRuntimeException exhausted(String reason) {
    var info = ErrorInfo.newBuilder().setDomain("linkscore").setReason(reason);
    return StatusProto.toStatusRuntimeException(
        com.google.rpc.Status.newBuilder()
            .setCode(Code.RESOURCE_EXHAUSTED_VALUE)
            .setMessage("the server's disk is full")
            .addDetails(Any.pack(info.build()))
            .build());
  }

  /** A session that looks soon after a server, and a latch that is open when it has told it everything. */
  private static final class Back {
    final Session session;
    final CountDownLatch told = new CountDownLatch(1);

    Back(FakeServer server) {
      session = new Session(Client.to(server.target()).timeout(Duration.ofSeconds(5)).connect(), "x", null, null, SOON);
      session.onBack(told::countDown);
    }

    void await() throws InterruptedException {
      assertTrue(told.await(30, TimeUnit.SECONDS), "it was never back");
    }
  }

  @Test
  void aServerThatComesBackIsToldWhatItMissedInOrderAndTheAnswersComeLater() throws Exception {
    FakeServer first = new FakeServer();
    Back back = new Back(first);
    try (Session session = back.session) {
      assertTrue(session.ingest(page("/1")).isPresent());
      first.close();
      BlockingQueue<String> later = new LinkedBlockingQueue<>();
      for (String path : List.of("/2", "/3", "/4")) {
        assertTrue(session.ingest(page(path, "/good"), result -> later.add(result.links().get(0).url())).isEmpty());
      }
      session.failed("http://a.test/gone", 404, "", ByteString.EMPTY);
      session.reward("http://a.test/1", ByteString.EMPTY, 1);
      assertTrue(session.isBroken());
      try (FakeServer second = new FakeServer(first.port())) {
        back.await();
        assertEquals(List.of("/2", "/3", "/4", "/gone"), paths(second.pages));
        assertEquals(1, second.rewards.size());
        assertEquals(3, later.size());
        assertEquals("pages=4 failed=1 rewards=1 scored=0 missed=0 fallback=0", session.toString());
        assertFalse(session.isBroken());
        assertTrue(session.ingest(page("/5")).isPresent());
      }
    }
  }

  @Test
  void aFullDiskStopsTheOrderToo() throws Exception {
    try (FakeServer server = new FakeServer()) {
      Back back = new Back(server);
      try (Session session = back.session) {
        assertTrue(session.ingest(page("/1")).isPresent());
        server.refusal = exhausted("DISK_FULL");
        assertTrue(session.ingest(page("/2")).isEmpty());
        assertTrue(session.rankBuckets(List.of("good")).isEmpty(), "it would answer, of what it learned until then");
        assertEquals(List.of(), server.ranked);
        server.refusal = null;
        back.await();
        assertEquals(List.of("/1", "/2"), paths(server.pages));
        assertTrue(session.rankBuckets(List.of("good")).isPresent());
      }
    }
  }

  @Test
  void anOddAnswerLeavesTheCrawlInItsOwnOrder() throws Exception {
    Map<String, Consumer<LinkScores.Builder>> odd =
        Map.of(
            "fewer buckets", links -> links.clearBuckets().addBuckets(0),
            "no such bucket", links -> links.setBuckets(0, 99),
            "no such ticket", links -> links.setTickets(0, 99),
            "not a number", links -> links.setScores(0, Double.NaN),
            "infinite", links -> links.setBucketValues(0, Double.POSITIVE_INFINITY));
    for (var each : odd.entrySet()) {
      try (FakeServer server = new FakeServer();
          Session session = new Back(server).session) {
        server.spoil = each.getValue();
        Page.Builder sent = page("/1").toBuilder().clearBody();
        sent.addOutlinksBuilder().setUrl("http://a.test/good/1");
        sent.addOutlinksBuilder().setUrl("http://a.test/bad/1");
        assertTrue(session.ingest(sent.build()).isEmpty(), each.getKey());
        assertFalse(session.isBroken());
        assertTrue(session.refusal().getMessage().startsWith("the server's answer cannot be read"));
      }
    }
  }

  @Test
  void aCallThatIsTooLargeIsNoOutage() throws Exception {
    try (FakeServer server = new FakeServer()) {
      Back back = new Back(server);
      try (Session session = back.session) {
        server.refusal = exhausted("LIMIT_EXCEEDED");
        assertTrue(session.ingest(page("/1")).isEmpty());
        assertFalse(session.isBroken());
        assertEquals("LIMIT_EXCEEDED", session.refusal().reason());
      }
    }
  }

  @Test
  void linksFoundMeanwhileAreScoredWhenTheServerIsBack() throws Exception {
    FakeServer first = new FakeServer();
    Back back = new Back(first);
    try (Session session = back.session) {
      Frontier frontier = new Frontier(session, 1);
      CountDownLatch scored = new CountDownLatch(1);
      session.onBack(scored::countDown);
      session.ingest(page("/1", "/good/1", "/bad/1")).orElseThrow().links().forEach(frontier::add);
      first.close();
      assertTrue(session.ingest(page("/2")).isEmpty());
      frontier.addUnscored("http://a.test/other");
      frontier.addUnscored("http://a.test/good-one");
      try (FakeServer second = new FakeServer(first.port())) {
        assertTrue(scored.await(30, TimeUnit.SECONDS));
        assertEquals(2, second.scoredAlone.size());
        var order = new ArrayList<String>();
        for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
          order.add(item.get().url().substring("http://a.test".length()));
          frontier.done(item.get());
        }
        assertEquals(List.of("/good/1", "/good-one", "/bad/1", "/other"), order);
      }
    }
  }

  /** A server of which a test says what it answers. */
  private static final class Scripted implements Outage.Server {
    final List<String> asked = new ArrayList<>();
    final List<LinkscoreException> answers = new ArrayList<>();

    @Override
    public synchronized void probe() {
      asked.add("?");
      fail();
    }

    @Override
    public synchronized Result ingest(Page page) {
      asked.add(paths(List.of(page)).get(0));
      fail();
      return new Result(PageResult.getDefaultInstance());
    }

    @Override
    public synchronized void feedback(List<Feedback> rewards) {
      asked.add("rewards " + rewards.size());
      fail();
    }

    private void fail() {
      LinkscoreException failure = answers.isEmpty() ? null : answers.remove(0);
      if (failure != null) {
        throw failure;
      }
    }
  }

  private static Kept kept(String path) {
    return new Kept(page(path), result -> {});
  }

  private static List<String> paths(List<Page> pages) {
    return pages.stream().map(page -> page.getUrl().substring("http://a.test".length())).collect(Collectors.toList());
  }

  private static final LinkscoreException DOWN = error(Status.UNAVAILABLE);
  private static final LinkscoreException LATE = error(Status.DEADLINE_EXCEEDED);
  private static final LinkscoreException WRONG = error(Status.INVALID_ARGUMENT);

  private static List<String> asked(int maxBytes, List<LinkscoreException> answers, int pages) throws Exception {
    Scripted server = new Scripted();
    server.answers.addAll(answers);
    CountDownLatch told = new CountDownLatch(1);
    try (Outage outage = new Outage(server, told::countDown, SOON, maxBytes)) {
      outage.met(DOWN, 0, kept("/0"));
      for (int i = 1; i < pages; i++) {
        assertTrue(outage.keep(kept("/" + i)));
      }
      assertTrue(told.await(30, TimeUnit.SECONDS));
      assertFalse(outage.keep(kept("/late")), "it is back");
      outage.met(DOWN, 0, null);
      assertFalse(outage.isAway(), "of a call that began before it was back");
    }
    return server.asked;
  }

  @Test
  void aServerIsBackWhenItAnswersAndTakesAPage() throws Exception {
    var silent = new ArrayList<LinkscoreException>();
    silent.add(DOWN);
    silent.add(null);
    silent.add(DOWN); // it answers, and takes no page: not back yet
    assertEquals(List.of("?", "?", "/0", "?", "/0", "/1"), asked(1 << 20, silent, 2));
  }

  @Test
  void aPageThatIsNeverAnsweredInTimeIsDroppedAndOneThatIsRefusedToo() throws Exception {
    var late = new ArrayList<LinkscoreException>();
    for (int i = 0; i < 3; i++) {
      late.add(null);
      late.add(LATE);
    }
    assertEquals(List.of("?", "/0", "?", "/0", "?", "/0", "?", "/1"), asked(1 << 20, late, 2));
    var wrong = new ArrayList<LinkscoreException>();
    wrong.add(null);
    wrong.add(WRONG);
    assertEquals(List.of("?", "/0"), asked(1 << 20, wrong, 1));
  }

  @Test
  void whatWaitsIsSentAtTheEndIfTheServerIsThereByThen() {
    Scripted server = new Scripted();
    Outage outage = new Outage(server, () -> {}, Duration.ofHours(1), 1 << 20);
    outage.met(DOWN, 0, kept("/0"));
    outage.keep(kept("/1"));
    outage.close();
    assertEquals(List.of("?", "/0", "/1"), server.asked);
    Scripted gone = new Scripted();
    gone.answers.add(DOWN);
    Outage without = new Outage(gone, () -> {}, Duration.ofHours(1), 1 << 20);
    without.met(DOWN, 0, kept("/0"));
    without.close();
    assertEquals(List.of("?"), gone.asked);
  }

  @Test
  void theBacklogKeepsTheLatestPagesWithinItsBytes() {
    Backlog backlog = new Backlog(3 * page("/1").getSerializedSize());
    for (int i = 1; i <= 5; i++) {
      backlog.add(kept("/" + i));
    }
    Kept first = backlog.first();
    assertEquals("http://a.test/3", first.page.getUrl());
    backlog.putBack(first);
    assertEquals(3, backlog.size());
    backlog.add(Feedback.getDefaultInstance());
    assertEquals(1, backlog.rewards(10).size());
    while (backlog.size() > 0) {
      assertFalse(backlog.isEmpty());
      backlog.first();
    }
    assertTrue(backlog.isEmpty());
  }

  /** A planner that is away, and guesses. */
  private static final class Away implements Frontier.Planner {
    @Override
    public Optional<Plan> plan(java.util.Map<String, Integer> waiting, java.util.Map<String, Integer> inFlight, int n) {
      return Optional.empty();
    }

    @Override
    public Optional<Guess> guess(String url) {
      return url.startsWith("g") ? Optional.of(new Guess("good", .9)) : Optional.empty();
    }

    @Override
    public Optional<List<Link>> score(List<CandidateLink> links) {
      return Optional.empty();
    }
  }

  @Test
  void whileTheServerIsAwayABucketLosesTrustAndGuessesGoBehindWhatIsScored() {
    Frontier frontier = new Frontier(new Away(), 1);
    for (int i = 0; i < 16; i++) {
      frontier.add("b", "bad", .4, ByteString.EMPTY);
      frontier.add("s" + i, "good", .9, ByteString.EMPTY);
      frontier.addUnscored("g" + i);
    }
    frontier.addUnscored("u");
    var order = new ArrayList<String>();
    for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
      order.add(item.get().url());
    }
    // .9 * 16 / (16 + k) is less than .4 once k is 21: 16 that are scored and 5 guesses
    assertEquals("s15", order.get(15));
    assertEquals("g0", order.get(16));
    assertEquals(20, order.indexOf("b"));
    assertEquals(33, order.indexOf("u"));
  }

  @Test
  void bucketsOfOneShapeFadeTogether() {
    Frontier frontier = new Frontier(new Away(), 1);
    for (int i = 0; i < 32; i++) {
      frontier.add("http://a.test/tag/t" + i, "tag" + i, .9, ByteString.EMPTY);
    }
    frontier.add("http://a.test/about", "page", .5, ByteString.EMPTY);
    var order = new ArrayList<String>();
    for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
      order.add(item.get().url());
    }
    assertEquals(13, order.indexOf("http://a.test/about")); // .9 * 16 / (16 + k) is less than .5 from 13 on
  }

  @Test
  void aBucketThatWasTakenFromBeforeKeepsTrust() {
    var isAway = new java.util.concurrent.atomic.AtomicBoolean();
    Frontier frontier =
        new Frontier(
            (waiting, inFlight, places) ->
                isAway.get() ? Optional.empty() : Optional.of(new Plan(java.util.Map.of("good", .9, "bad", .4), null)),
            1);
    frontier.add("b", "bad", .4, ByteString.EMPTY);
    for (int i = 0; i < 50; i++) {
      frontier.add("s" + i, "good", .9, ByteString.EMPTY);
    }
    frontier.next(); // 16 * (1 + 1): b goes after 40 of good, not after 20
    isAway.set(true);
    var order = new ArrayList<String>();
    for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
      order.add(item.get().url());
    }
    assertEquals(40, order.indexOf("b"));
  }

  @Test
  void aShapeWhosePagesWereNotThereGoesBehindOneWhosePagesWere() {
    Shapes shapes = new Shapes();
    for (int i = 0; i < 3; i++) {
      shapes.fetched("http://a.test/" + i + "?show=7", false, false);
      shapes.fetched("http://a.test/" + i, true, i > 0);
    }
    assertEquals(.25, shapes.odds(Shapes.of("http://a.test/9?show=1")[1]));
    assertEquals(1, shapes.odds(Shapes.of("http://a.test/9")[1]));
    assertEquals(1, shapes.pages(Shapes.of("http://a.test/9")[1]));
    assertEquals(1, shapes.odds("a shape nobody fetched"));
  }

  @Test
  void aLinkFoundAgainDoesNotChangeWhereLinksOfItsShapeAreGuessed() {
    Shapes shapes = new Shapes();
    shapes.meet("http://a.test/post/0"); // a start page
    shapes.learn(found("list", .5, "http://a.test/post/1"));
    shapes.learn(found("side", .9, "http://a.test/post/1", "http://a.test/post/0"));
    assertEquals("list", shapes.guess("http://a.test/post/2").orElseThrow().bucket());
    shapes.learn(found("side", .9, "http://a.test/post/3"));
    assertEquals("side", shapes.guess("http://a.test/post/2").orElseThrow().bucket());
  }

  @Test
  void aLinkThatAPageHasTwiceIsGuessedByItsBestPlace() {
    Shapes shapes = new Shapes();
    var links = new ArrayList<>(found("list", .5, "http://a.test/post/1"));
    links.addAll(found("side", .9, "http://a.test/post/1"));
    links.addAll(found("foot", .1, "http://a.test/post/1"));
    shapes.learn(links);
    assertEquals("side", shapes.guess("http://a.test/post/2").orElseThrow().bucket());
  }

  private static List<Link> found(String bucket, double score, String... urls) {
    var links = LinkScores.newBuilder().addBucketNames(bucket).addBucketValues(score);
    for (String url : urls) {
      links.addUrls(url).addScores(score).addBuckets(0);
    }
    return Link.rows(links.build());
  }

  @Test
  void aUrlHasAFineShapeAndACoarseOne() {
    assertShapes("http://a.org/2026/11/hello-world/", "a.org/#/#/hello-world/", "*a.org/#/#/*/");
    assertShapes("http://a.org/viewtopic.php?t=5&start=10#p7", "a.org/viewtopic.php?start&t", "*a.org/*.php?start&t");
    assertShapes("http://a.org/123/some-title", "a.org/#/some-title", "*a.org/#/*");
    assertShapes("https://a.org/", "a.org/", "*a.org/");
    assertShapes("http://a.org", "a.org/", "*a.org/");
    assertShapes("http://a.org/a1b/x?&&k2=/3", "a.org/a#b/x?k#", "*a.org/#/*?k#");
  }

  private static void assertShapes(String url, String fine, String coarse) {
    assertEquals(List.of(fine, coarse), List.of(Shapes.of(url)), url);
  }
}
