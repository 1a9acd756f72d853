package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.Any;
import com.google.rpc.BadRequest;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import linkscore.v1.Page;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ClientTest {
  private static Page page(String path, String... links) {
    String body = "<a href=\"" + String.join("\"> <a href=\"", links) + "\">";
    return Page.newBuilder().setUrl("http://a.test" + path).setBody(ByteString.copyFromUtf8(body)).build();
  }

  private static Session session(FakeServer server) {
    return new Session(Client.to(server.target()).timeout(Duration.ofSeconds(5)).connect(), "x", null);
  }

  @Test
  void aSessionMakesItsCrawlAndMakesItAgainWhenTheServerLostIt() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server)) {
      assertEquals("http://a.test/good", session.ingest(page("/", "/good")).orElseThrow().links().get(0).url());
      server.crawls.clear();
      assertTrue(session.ingest(page("/2")).isPresent());
      assertEquals(2, session.pages.sum());
    }
  }

  @Test
  void aTokenFileThatIsMissingOrEmptyForAMomentLosesNoCall(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("token");
    try (FakeServer server = new FakeServer();
        Client client = Client.to(server.target()).tokenFile(file).connect()) {
      assertThrows(LinkscoreException.class, () -> client.ensureCrawl("x", null));
      Files.writeString(file, "first");
      client.ensureCrawl("x", null);
      Files.writeString(file, "");
      client.crawl("x").get();
      Files.delete(file);
      client.crawl("x").get();
    }
  }

  @Test
  void aSessionWithoutAServerAnswersNothingAndAsksOnce() throws Exception {
    FakeServer gone = new FakeServer();
    gone.close();
    try (Session session = session(gone)) {
      assertTrue(session.ingest(page("/")).isEmpty());
      assertTrue(session.isBroken());
      assertTrue(session.rankBuckets(List.of("good")).isEmpty());
      assertEquals(0, session.pages.sum());
    }
  }

  @Test
  void failuresAndRewardsAreReportedAndCounted() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server)) {
      session.failed("http://a.test/gone", 404, "", ByteString.copyFromUtf8("t"));
      session.reward("http://a.test/good", ByteString.copyFromUtf8("t"), 1);
      assertEquals(404, server.pages.get(0).getStatusCode());
      assertEquals(1, server.rewards.get(0).getReward());
      assertEquals("pages=0 failed=1 rewards=1 scored=0 missed=0 fallback=0", session.toString());
      assertNull(session.refusal());
    }
  }

  @Test
  void theFrontierGivesSeedsThenTheBestBucketThenTheUnknown() {
    Map<String, Double> values = Map.of("a", .1, "b", .9);
    Frontier frontier = new Frontier(always(values), 1);
    frontier.addUnknown("u");
    frontier.add("1", "a", .9, ByteString.EMPTY); // the value of the bucket now counts, not the one it came with
    frontier.add("2", "b", .1, ByteString.EMPTY);
    frontier.add("3", "b", .1, ByteString.EMPTY);
    frontier.addSeed("s");
    assertEquals("s231u", taken(frontier));
    assertEquals(0, frontier.size());
  }

  @Test
  void aUrlFoundTwiceWaitsInBothBucketsAndIsGivenOnce() {
    Frontier frontier = new Frontier(always(Map.of("a", .1, "b", .9, "c", .5)), 1);
    frontier.add("1", "a", .1, ByteString.copyFromUtf8("ta"));
    frontier.add("2", "c", .1, ByteString.EMPTY);
    frontier.add("1", "b", .1, ByteString.copyFromUtf8("tb"));
    var first = frontier.next().orElseThrow();
    assertEquals("1 tb", first.url() + " " + first.ticket().toStringUtf8(), "the ticket of the bucket it is taken from");
    assertEquals("2", taken(frontier));
  }

  @Test
  void aUrlFoundAgainGoesAfterThoseThatWaitedInBucketsWorthTheSame() {
    Frontier frontier = new Frontier(always(Map.of("a", .1, "b", .9, "c", .9)), 1);
    frontier.add("1", "a", .1, ByteString.EMPTY);
    frontier.add("2", "b", .1, ByteString.EMPTY);
    frontier.add("1", "c", .1, ByteString.EMPTY);
    assertEquals("21", taken(frontier));
  }

  @Test
  void withoutAServerTheFrontierKeepsTheLastOrderKnown() {
    Frontier frontier = new Frontier((waiting, inFlight, places) -> Optional.empty(), 1);
    frontier.add("1", "a", .1, ByteString.EMPTY);
    frontier.add("2", "b", .9, ByteString.EMPTY);
    assertEquals("21", taken(frontier));
  }

  /** A server that says what buckets are worth, and hands nothing out. */
  private static Frontier.Planner always(Map<String, Double> values) {
    return (waiting, inFlight, places) -> Optional.of(new Plan(values, null));
  }

  @Test
  void theFrontierTellsWhatIsUnderWayAndLeavesPlacesEmptyUntilTheNextAnswer() {
    List<String> asked = new ArrayList<>();
    Map<String, Integer> handsOut = new HashMap<>(Map.of("a", 1));
    Frontier frontier =
        new Frontier(
            (waiting, inFlight, places) -> {
              asked.add(waiting + " " + inFlight + " " + places);
              return Optional.of(new Plan(Map.of("a", .1, "b", .9), handsOut));
            },
            1);
    frontier.add("1", "a", .1, ByteString.EMPTY);
    frontier.add("2", "b", .9, ByteString.EMPTY);
    frontier.add("3", "a", .1, ByteString.EMPTY);
    frontier.addUnknown("u");
    var first = frontier.next().orElseThrow();
    assertEquals("1", first.url()); // what was handed out, not what is worth most
    handsOut.clear();
    assertTrue(frontier.next().isEmpty(), "a place that was not filled");
    assertTrue(frontier.next().isEmpty());
    assertEquals(List.of("{a=2, b=1} {} 1", "{b=1, a=1} {a=1} 1"), asked); // nothing new: not asked a third time
    frontier.done(first);
    assertEquals("2", frontier.next().orElseThrow().url()); // nothing is under way: one goes in any case
    assertEquals("{b=1, a=1} {} 1", asked.get(2));
  }

  @Test
  void aPlanIsReadByTheNamesThatWereAsked() throws Exception {
    try (FakeServer server = new FakeServer();
        Session session = session(server)) {
      var waiting = new LinkedHashMap<String, Integer>();
      waiting.put("bad", 3);
      waiting.put("good", 5);
      Plan plan = session.planBuckets(waiting, Map.of("good", 2), 4, true).orElseThrow();
      assertEquals(Map.of("bad", .1, "good", .9), plan.values());
      assertEquals(Map.of("good", 4), plan.urls());
      assertFalse(plan.isShort(4));
      assertTrue(plan.isShort(5));
      var asked = server.planned.get(0);
      assertEquals(List.of(3, 5), asked.getWaitingList());
      assertEquals("good", asked.getInFlight(0).getBucket());
      assertEquals(2, asked.getInFlight(0).getCount());
      assertTrue(asked.getFill());
    }
  }

  private static String taken(Frontier frontier) {
    StringBuilder order = new StringBuilder();
    for (var item = frontier.next(); item.isPresent(); item = frontier.next()) {
      order.append(item.get().url());
    }
    return order.toString();
  }

  @Test
  void aTargetOfAnotherFormIsRefusedWithTheKeyItWasGivenBy() {
    for (String wrong : List.of("", "http://localhost:7411", "https://a.test:7411/", "localhost", "a b:1", "a:port")) {
      var error = assertThrows(IllegalArgumentException.class, () -> Client.to(wrong), wrong);
      assertTrue(error.getMessage().startsWith("target must be host:port"), error.getMessage());
    }
    for (String right : List.of("localhost:7411", "10.0.0.1:7411", "[::1]:7411", "dns:///a.test:7411", "unix:/run/x")) {
      Client.to(right);
    }
    var error =
        assertThrows(
            IllegalArgumentException.class,
            () -> Session.configured("c", key -> key.equals("linkscore.target") ? "http://a.test:1" : null));
    assertTrue(error.getMessage().startsWith("linkscore.target must be"), error.getMessage());
  }

  @Test
  void aServerThatIsRequiredMustAnswerAtTheStart() throws Exception {
    FakeServer server = new FakeServer();
    Map<String, String> settings = Map.of("linkscore.target", server.target(), "linkscore.required", "true");
    Session.configured("c", settings::get).close();
    assertEquals(Map.of("crawls/c", true), server.crawls);
    server.close();
    var error = assertThrows(LinkscoreException.class, () -> Session.configured("c", settings::get));
    assertTrue(error.isOutage());
  }

  @Test
  void aRefusalEndsTheStartAndAnAbsentServerDoesNot() throws Exception {
    try (FakeServer server = new FakeServer()) {
      Map<String, String> settings = Map.of("linkscore.target", server.target(), "linkscore.policy", "mine");
      Map<Status, String> refused =
          Map.of(
              Status.INVALID_ARGUMENT, "linkscore.crawl: INVALID_ARGUMENT",
              Status.UNAUTHENTICATED, "linkscore.token.file: UNAUTHENTICATED",
              Status.PERMISSION_DENIED, "linkscore.token.file: PERMISSION_DENIED",
              Status.FAILED_PRECONDITION, "linkscore.crawl: FAILED_PRECONDITION");
      for (var each : refused.entrySet()) {
        server.noCrawl = each.getKey().asRuntimeException();
        var error = assertThrows(IllegalArgumentException.class, () -> Session.configured("c", settings::get));
        assertTrue(error.getMessage().startsWith(each.getValue()), error.getMessage());
      }
      server.noCrawl = Status.DEADLINE_EXCEEDED.asRuntimeException();
      try (Session session = Session.configured("c", settings::get)) {
        assertTrue(session.isBroken());
      }
      var field = BadRequest.FieldViolation.newBuilder().setField("crawl.policy.external.name").setDescription("must be known");
      var said = com.google.rpc.Status.newBuilder().setCode(3).addDetails(Any.pack(BadRequest.newBuilder().addFieldViolations(field).build()));
      server.noCrawl = StatusProto.toStatusRuntimeException(said.build());
      var error = assertThrows(IllegalArgumentException.class, () -> Session.configured("c", settings::get));
      assertEquals("linkscore.policy: external.name must be known", error.getMessage());
    }
  }

  @Test
  void aTicketIsTextAndBack() {
    ByteString raw = ByteString.copyFrom(new byte[] {(byte) 0xfb, (byte) 0xf0});
    assertEquals("-_A", Tickets.encode(raw));
    assertEquals(raw, Tickets.decode("-_A"));
    assertEquals(ByteString.EMPTY, Tickets.decode("not base64!"));
    assertEquals(ByteString.EMPTY, Tickets.decode(null));
  }

  @Test
  void aPolicyIsNamedByTheContractOrComesFromOutside() {
    assertTrue(Policies.named("harvest").hasHarvest());
    assertEquals("mine", Policies.named("mine").getExternal().getName());
  }
}
