package linkscore.stormcrawler;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.MissingNode;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import linkscore.FakeServer;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.parse.Outlink;
import org.apache.stormcrawler.parse.ParseResult;
import org.apache.stormcrawler.persistence.DefaultScheduler;
import org.apache.stormcrawler.persistence.Status;
import org.jsoup.Jsoup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class AdapterTest {
  private static final String PAGE = "http://a.test/";

  private FakeServer server;
  private final LinkscoreScheduler scheduler = new LinkscoreScheduler();

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer();
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private Map<String, Object> conf() {
    return Map.of("linkscore.target", server.target(), "linkscore.timeout.ms", 3000);
  }

  /** The metadata of a bad and a good link after the filter saw their page. */
  private List<Outlink> filtered(String ticket) {
    String html = "<a href=/bad><a href=/good>";
    ParseResult parse = new ParseResult(List.of(new Outlink(PAGE + "bad"), new Outlink(PAGE + "good")));
    if (ticket != null) {
      parse.get(PAGE).getMetadata().setValue(LinkscoreFilter.TICKET, ticket);
    }
    filter(PAGE, html, parse);
    return parse.getOutlinks();
  }

  private void filter(String page, String html, ParseResult parse) {
    LinkscoreFilter filter = new LinkscoreFilter();
    filter.configure(conf(), MissingNode.getInstance(), "linkscore");
    filter.filter(page, html.getBytes(StandardCharsets.UTF_8), Jsoup.parse(html, page), parse);
  }

  private Date date(Metadata metadata) {
    return scheduler.schedule(Status.DISCOVERED, metadata).orElseThrow();
  }

  @Test
  void outlinksGetTheirPlacesAndTheTicketGoesBack() {
    Metadata good = filtered("dGc").get(1).getMetadata();
    assertEquals("good", good.getFirstValue("linkscore.bucket"));
    assertEquals("0.9", good.getFirstValue("linkscore.value"));
    assertEquals("dGc", good.getFirstValue("linkscore.ticket"));
    assertEquals("tg", server.pages.get(0).getTicket().toStringUtf8());
    assertEquals(2, server.pages.get(0).getOutlinksCount());
  }

  @Test
  void outlinksAreInTheOrderOfThePage() {
    String html = "<a href=/b#top>b</a><a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>";
    List<Outlink> hashed = new ArrayList<>();
    for (String path : List.of("from-a-script", "c", "a", "b")) {
      hashed.add(new Outlink(PAGE + path));
    }
    ParseResult parse = new ParseResult(hashed);
    filter(PAGE, html, parse);
    var order = List.of(PAGE + "b", PAGE + "a", PAGE + "c", PAGE + "from-a-script");
    assertEquals(order, parse.getOutlinks().stream().map(Outlink::getTargetURL).collect(Collectors.toList()));
    assertEquals(PAGE + "b", server.pages.get(0).getOutlinks(0).getUrl(), "the server has the same order");
    assertEquals("bad", parse.getOutlinks().get(3).getMetadata().getFirstValue("linkscore.bucket"));
  }

  @Test
  void goodLinksHaveEarlierDatesThanBadOnesAndUnknownOnesTheLast() {
    List<Outlink> links = filtered(null);
    Metadata missed = new Metadata();
    missed.setValue(LinkscoreFilter.BUCKET, "");
    Date bad = date(links.get(0).getMetadata());
    assertTrue(date(links.get(1).getMetadata()).before(bad));
    assertTrue(bad.before(date(new Metadata())));
    assertTrue(date(new Metadata()).before(date(missed)));
    assertTrue(date(missed).before(new Date()), "nothing may wait");
  }

  @Test
  void aPageIsFetchedAgainWhenTheServerSays() {
    Metadata metadata = new Metadata();
    metadata.setValue(LinkscoreFilter.NEXT, "1700000000");
    assertEquals(new Date(1_700_000_000_000L), scheduler.schedule(Status.FETCHED, metadata).orElseThrow());
    assertTrue(scheduler.schedule(Status.DISCOVERED, metadata).orElseThrow().getTime() < 1_700_000_000_000L);
  }

  @Test
  void withoutAServerLinksAreWorthWhatLinksOfTheirShapeWereLastAndHaveNoBucket() {
    filtered(null);
    server.close();
    Metadata good = filtered(null).get(1).getMetadata();
    assertNull(good.getFirstValue(LinkscoreFilter.BUCKET), "a frontier has it scored when the server is back");
    assertEquals("0.9", good.getFirstValue(LinkscoreFilter.VALUE));
  }

  @Test
  void failuresAndRewardsAreReportedWithTheirTickets() {
    var session = LinkscoreFilter.session(conf());
    Metadata metadata = new Metadata();
    metadata.setValue(LinkscoreFilter.TICKET, "dGc");
    metadata.setValue("fetch.statusCode", "404");
    LinkscoreReporter.report(session, false, PAGE, metadata, Status.FETCH_ERROR);
    assertEquals(0, server.pages.size());
    LinkscoreReporter.report(session, true, PAGE, metadata, Status.FETCH_ERROR);
    assertEquals(404, server.pages.get(0).getStatusCode());
    assertEquals("tg", server.pages.get(0).getTicket().toStringUtf8());
    metadata.setValue(LinkscoreFilter.REWARD, "1");
    LinkscoreReporter.report(session, true, PAGE, metadata, Status.FETCHED);
    assertEquals(1, server.rewards.get(0).getReward());
    LinkscoreReporter.report(session, true, PAGE, new Metadata(), Status.ERROR);
    assertEquals("error", server.pages.get(1).getFetchError());
  }

  @Test
  void aPageThatIsAsItWasIsReportedAndNotDueAtOnce() {
    server.revisits = true;
    Metadata metadata = new Metadata();
    metadata.setValue(LinkscoreFilter.TICKET, "dGc");
    metadata.setValue(LinkscoreFilter.NEXT, "1700000000"); // of the fetch before
    metadata.setValue("fetch.statusCode", "304");
    LinkscoreReporter.report(LinkscoreFilter.session(conf()), true, PAGE, metadata, Status.FETCHED);
    assertTrue(server.pages.get(0).getNotModified());
    assertEquals("tg", server.pages.get(0).getTicket().toStringUtf8());
    var usual = new DefaultScheduler();
    var first = usual.schedule(Status.FETCHED, metadata).orElseThrow();
    var due = scheduler.schedule(Status.FETCHED, metadata).orElseThrow();
    var last = usual.schedule(Status.FETCHED, metadata).orElseThrow(); // the clock may move on meanwhile
    assertTrue(!due.before(first) && !due.after(last), "as Apache StormCrawler's own scheduler says");
  }

  @Test
  void linksOfASiteThatHasStoppedGoLastAndKeepWhatAFrontierNeeds() {
    String page = "http://covered.test/";
    ParseResult parse = new ParseResult(List.of(new Outlink(page + "good")));
    filter(page, "<a href=/good>", parse);
    Metadata held = parse.getOutlinks().get(0).getMetadata();
    assertEquals("good", held.getFirstValue(LinkscoreFilter.BUCKET));
    assertEquals("dGc", held.getFirstValue(LinkscoreFilter.TICKET));
    assertTrue(date(filtered(null).get(0).getMetadata()).before(date(held)), "behind a bad one of another site");
  }

  @Test
  void linksThatASettingForbidsForGoodAreTakenOffThePage() {
    String page = "http://copies.test/";
    ParseResult parse = new ParseResult(List.of(new Outlink(page + "good")));
    filter(page, "<a href=/good>", parse);
    assertTrue(parse.getOutlinks().isEmpty());
  }
}
