package linkscore.nutch;

import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Timestamp;
import java.nio.charset.StandardCharsets;
import java.util.AbstractMap.SimpleEntry;
import java.util.ArrayList;
import java.util.List;
import java.util.Map.Entry;
import java.util.Set;
import linkscore.FakeServer;
import linkscore.Link;
import linkscore.v1.LinkScores;
import linkscore.v1.PageResult;
import linkscore.v1.SkipReason;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.metadata.Metadata;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.parse.Outlink;
import org.apache.nutch.parse.ParseData;
import org.apache.nutch.parse.ParseImpl;
import org.apache.nutch.parse.ParseStatus;
import org.apache.nutch.protocol.Content;
import org.apache.nutch.protocol.ProtocolStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LinkscoreScoringFilterTest {
  private static final String PAGE = "http://a.test/";
  private static final String GOOD = "http://a.test/good/1";
  private static final String BAD = "http://a.test/bad/1";

  private FakeServer server;
  private LinkscoreScoringFilter filter;

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer();
    filter = filterOf(server.target());
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static LinkscoreScoringFilter filterOf(String target) {
    Configuration conf = new Configuration(false);
    conf.set("linkscore.target", target);
    conf.set("linkscore.timeout.ms", "3000");
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    filter.setConf(conf);
    return filter;
  }

  /** The outlinks of a page that goes through parsing and is written, as a segment's tasks do it. */
  private List<Entry<Text, CrawlDatum>> outlinksOf(CrawlDatum page) throws Exception {
    Metadata headers = new Metadata();
    headers.set(Nutch.SEGMENT_NAME_KEY, "20260101000000");
    byte[] body = ("<a href=\"" + BAD + "\"><a href=\"" + GOOD + "\">").getBytes(StandardCharsets.UTF_8);
    Content content = new Content(PAGE, PAGE, body, "text/html", headers, new Configuration(false));
    Outlink[] outlinks = {new Outlink(BAD, "b"), new Outlink(GOOD, "g")};
    ParseData data = new ParseData(ParseStatus.STATUS_SUCCESS, "", outlinks, headers);
    filter.passScoreBeforeParsing(new Text(PAGE), page, content);
    filter.passScoreAfterParsing(new Text(PAGE), content, new ParseImpl("", data));
    List<Entry<Text, CrawlDatum>> targets = new ArrayList<>();
    for (Outlink outlink : outlinks) {
      targets.add(new SimpleEntry<>(new Text(outlink.getToUrl()), new CrawlDatum(CrawlDatum.STATUS_LINKED, 1)));
    }
    filter.distributeScoreToOutlinks(new Text(PAGE), data, targets, null, 2);
    assertNull(data.getParseMeta().get("linkscore.answer"), "the answer is not for the segment");
    return targets;
  }

  private float sortValue(String url, CrawlDatum datum) {
    return filter.generatorSortValue(new Text(url), datum, 1);
  }

  @Test
  void startPagesGoFirstThenGoodLinksThenBadOnes() throws Exception {
    CrawlDatum seed = new CrawlDatum(CrawlDatum.STATUS_INJECTED, 1);
    filter.injectedScore(new Text(PAGE), seed);
    var outlinks = outlinksOf(seed);
    float good = sortValue(GOOD, outlinks.get(1).getValue());
    float bad = sortValue(BAD, outlinks.get(0).getValue());
    assertTrue(sortValue(PAGE, seed) > good && good > bad, good + " " + bad);
    assertEquals(2, server.pages.get(0).getOutlinksCount());
  }

  @Test
  void aLinkIsFoundAgainWhenNutchNormalizedItsUrl() throws Exception {
    String found = "http://A.test:80/x/../good/1?start=10#c7";
    String normalized = "http://a.test/good/1?start=10";
    Outlink[] outlinks = {new Outlink(found, ""), new Outlink(normalized, "")};
    var places = Place.found(Place.text(outlinks, List.of(link(found, .1), link(normalized, .9))), 0);
    assertEquals(Set.of(normalized), places.keySet());
    assertEquals(List.of(.1, .9), places.get(Place.form(found)).stream().map(p -> p.value).collect(toList()));
    assertEquals("http://a.test/", Place.form("http://a.test"));
    assertEquals("http://a.test/a b", Place.form("http://a.test/a b#c"), "no URI");
  }

  private static Link link(String url, double value, SkipReason... why) {
    var links = LinkScores.newBuilder().addUrls(url).addScores(value).addBuckets(0).addAllSkipReasons(List.of(why));
    links.addBucketNames("b").addBucketValues(value);
    return Link.of(PageResult.newBuilder().setLinks(links).build()).get(0);
  }

  @Test
  void aTicketGoesBackWithItsPage() throws Exception {
    CrawlDatum link = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1)).get(1).getValue();
    outlinksOf(link);
    assertEquals("tg", server.pages.get(1).getTicket().toStringUtf8());
    assertEquals(server.pages.get(0).getEventId(), server.pages.get(1).getEventId(), "parsed twice it is one event");
  }

  @Test
  void aFailureIsReportedOnceWithItsTicket() throws Exception {
    CrawlDatum old = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1)).get(1).getValue();
    old.setStatus(CrawlDatum.STATUS_DB_UNFETCHED);
    CrawlDatum gone = new CrawlDatum();
    gone.set(old);
    gone.setStatus(CrawlDatum.STATUS_DB_GONE);
    gone.getMetaData().put(Nutch.WRITABLE_PROTO_STATUS_KEY, new ProtocolStatus(ProtocolStatus.NOTFOUND));
    filter.updateDbScore(new Text(GOOD), old, gone, List.of());
    filter.updateDbScore(new Text(GOOD), gone, gone, List.of()); // a later round, in which nobody fetched it
    assertEquals(2, server.pages.size());
    assertEquals(404, server.pages.get(1).getStatusCode());
    assertEquals("tg", server.pages.get(1).getTicket().toStringUtf8());
  }

  @Test
  void aPageThatIsAsItWasIsReportedOnceAndFetchedAgainWhenTheServerSays() throws Exception {
    server.close(); // a crawl is as it was when the session began
    server = new FakeServer();
    server.revisits = true;
    filter = filterOf(server.target());
    server.nextFetch = Timestamp.newBuilder().setSeconds(1_700_000_000).build();
    CrawlDatum old = new CrawlDatum(CrawlDatum.STATUS_DB_FETCHED, 1);
    CrawlDatum same = new CrawlDatum();
    same.set(old);
    same.setStatus(CrawlDatum.STATUS_DB_NOTMODIFIED);
    same.setFetchTime(old.getFetchTime() + 5);
    filter.updateDbScore(new Text(PAGE), old, same, List.of()); // it came, with the same text: parsing sent it
    assertEquals(List.of(), server.pages);
    same.getMetaData().put(Nutch.WRITABLE_PROTO_STATUS_KEY, new ProtocolStatus(ProtocolStatus.NOTMODIFIED));
    filter.updateDbScore(new Text(PAGE), old, same, List.of());
    assertEquals(1_700_000_000_000L, same.getFetchTime());
    filter.updateDbScore(new Text(PAGE), same, same, List.of()); // a later round, in which nobody fetched it
    assertEquals(1, server.pages.size());
    assertTrue(server.pages.get(0).getNotModified());
  }

  @Test
  void linksWaitInEachBucketSinceTheyWereFoundThere() throws Exception {
    var early = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1));
    var late = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1));
    Place bad = Place.of(early.get(0).getValue()).get(0);
    Place good = Place.of(early.get(1).getValue()).get(0);
    assertTrue(bad.found < good.found, "in the order of the page");
    CrawlDatum waiting = new CrawlDatum();
    waiting.set(early.get(0).getValue());
    waiting.setStatus(CrawlDatum.STATUS_DB_UNFETCHED);
    filter.updateDbScore(
        new Text(BAD), waiting, waiting, List.of(late.get(0).getValue(), late.get(1).getValue()));
    var places = Place.of(waiting);
    assertEquals(List.of("good", "bad"), places.stream().map(place -> place.bucket).collect(toList()));
    assertTrue(places.get(0).found > good.found);
    assertEquals(bad.found, places.get(1).found);
  }

  @Test
  void aRewardInTheParseMetadataIsReported() {
    Metadata headers = new Metadata();
    Content content = new Content(PAGE, PAGE, new byte[0], "text/html", headers, new Configuration(false));
    Metadata found = new Metadata();
    found.set(LinkscoreScoringFilter.REWARD, "0.5");
    ParseData data = new ParseData(ParseStatus.STATUS_SUCCESS, "", new Outlink[0], headers, found);
    filter.passScoreAfterParsing(new Text(PAGE), content, new ParseImpl("", data));
    assertEquals(.5, server.rewards.get(0).getReward());
  }

  @Test
  void withoutAServerLinksWaitWithThoseLikeThemOrBehindAllThatIsScored() throws Exception {
    var scored = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1)).get(1).getValue();
    server.close();
    var guessed = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1)).get(1).getValue();
    assertEquals("good", Place.of(guessed).get(0).bucket);
    assertEquals(1.9f, sortValue(GOOD, scored), "the value it came with");
    FakeServer gone = new FakeServer();
    gone.close();
    filter = filterOf(gone.target()); // another task
    var unscored = outlinksOf(new CrawlDatum(CrawlDatum.STATUS_FETCH_SUCCESS, 1)).get(1).getValue();
    assertTrue(sortValue(GOOD, scored) > sortValue(GOOD, unscored));
  }

  @Test
  void linksOfASiteThatHasStoppedAreWorthNothing() throws Exception {
    Outlink[] outlinks = {new Outlink(GOOD, "g")};
    Link held = link(GOOD, .9, SkipReason.SKIP_REASON_SITE_STOPPED);
    var places = Place.found(Place.text(outlinks, List.of(held)), 0);
    assertEquals(0, places.get(GOOD).get(0).value);
  }

  @Test
  void aPageIsFetchedAgainWhenTheServerSays() {
    server.nextFetch = Timestamp.newBuilder().setSeconds(1_700_000_000).build();
    Metadata headers = new Metadata();
    Content content = new Content(PAGE, PAGE, new byte[0], "text/html", headers, new Configuration(false));
    ParseData data = new ParseData(ParseStatus.STATUS_SUCCESS, "", new Outlink[0], headers);
    filter.passScoreAfterParsing(new Text(PAGE), content, new ParseImpl("", data));
    assertEquals("1700000000", data.getParseMeta().get("linkscore.next"));
    for (byte status : new byte[] {CrawlDatum.STATUS_DB_FETCHED, CrawlDatum.STATUS_DB_NOTMODIFIED}) {
      assertEquals(1_700_000_000_000L, updated(status, "1700000000").getFetchTime());
    }
    assertEquals(
        5, updated(CrawlDatum.STATUS_DB_UNFETCHED, "1700000000").getFetchTime(), "a fetch that failed is tried again");
  }

  @Test
  void noPageIsDueLaterThanNutchLetsOneWait() {
    long now = System.currentTimeMillis();
    String tooLate = Long.toString(now / 1000 + 365 * 86_400L);
    long found = updated(CrawlDatum.STATUS_DB_FETCHED, tooLate).getFetchTime() - 90 * 86_400_000L;
    assertTrue(now <= found && found <= System.currentTimeMillis(), "Nutch fetches at once what is due later");
  }

  /** What becomes of a page in the database, with the date that Nutch copied from the parse metadata. */
  private CrawlDatum updated(byte status, String next) {
    CrawlDatum page = new CrawlDatum(status, 1);
    page.setFetchTime(5);
    page.getMetaData().put(new Text("linkscore.next"), new Text(next));
    filter.updateDbScore(new Text(PAGE), null, page, List.of());
    assertNull(page.getMetaData().get(new Text("linkscore.next")), "an answer counts once");
    return page;
  }
}
