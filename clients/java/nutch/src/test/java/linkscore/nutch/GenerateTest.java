package linkscore.nutch;

import static java.util.stream.Collectors.joining;
import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.IntStream;
import linkscore.FakeServer;
import linkscore.v1.Decision;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.MapFile;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.metadata.Nutch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class GenerateTest {
  private static final String SITE = "http://a.test/";
  private static final long DAY_MS = 86_400_000;
  private static final long NOW = 100 * DAY_MS;

  @TempDir Path folder;
  private FakeServer server;
  private Configuration conf;
  private final TreeMap<String, CrawlDatum> database = new TreeMap<>();

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer();
    conf = new Configuration(false);
    conf.set("linkscore.target", server.target());
    conf.set("linkscore.timeout.ms", "3000");
    conf.set("io.serializations", "org.apache.hadoop.io.serializer.WritableSerialization");
    conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem");
    conf.set("fs.defaultFS", "file:///");
    conf.setInt("db.fetch.interval.max", 7_776_000); // as in nutch-default.xml: what is due later is due at once else
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private CrawlDatum add(String path, int status) {
    CrawlDatum datum = new CrawlDatum(status, 1);
    datum.setFetchTime(NOW - 1);
    database.put(SITE + path, datum);
    return datum;
  }

  /** A link that waits, found at a time. */
  private CrawlDatum link(String bucket, long found) {
    CrawlDatum datum = add(bucket + found, CrawlDatum.STATUS_DB_UNFETCHED);
    Place.keep(datum, List.of(new Place(bucket, .5, "t" + bucket, found)));
    return datum;
  }

  private void seed(String path) {
    add(path, CrawlDatum.STATUS_DB_UNFETCHED).getMetaData().put(new Text("linkscore.seed"), new Text("1"));
  }

  private void fetched(int pages) {
    for (int i = 0; i < pages; i++) {
      add("fetched" + i, CrawlDatum.STATUS_DB_FETCHED).setFetchTime(NOW + 1);
    }
  }

  private void taken(String bucket, long found, int status, boolean isAdvised) {
    CrawlDatum datum = link(bucket, found);
    datum.setStatus(status);
    datum.setFetchTime(NOW + 1);
    Place.of(datum).get(0).takenOf(datum, isAdvised);
  }

  /** What waits, after the database was written as `updatedb` does. */
  private Generate.Waiting waiting(long topN, long now) throws IOException {
    var part = new org.apache.hadoop.fs.Path(folder.resolve("current/part-r-00000").toUri());
    try (MapFile.Writer rows =
        new MapFile.Writer(conf, part, MapFile.Writer.keyClass(Text.class), SequenceFile.Writer.valueClass(CrawlDatum.class))) {
      for (Map.Entry<String, CrawlDatum> row : database.entrySet()) {
        rows.append(new Text(row.getKey()), row.getValue());
      }
    }
    var path = new org.apache.hadoop.fs.Path(folder.toUri());
    return new Generate.Waiting(conf, LinkscoreScoringFilter.session(conf), path, topN, now);
  }

  /** The URLs of a round in their order, as the tasks that generate know it. */
  private List<String> round(long topN) throws IOException {
    return round(topN, NOW);
  }

  private List<String> round(long topN, long now) throws IOException {
    Generate.Round round = waiting(topN, now).round();
    round.write(conf);
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    filter.setConf(conf);
    Map<Float, String> order = new TreeMap<>(Collections.reverseOrder());
    database.forEach((url, datum) -> order.put(filter.generatorSortValue(new Text(url), datum, 1), url));
    order.keySet().removeIf(value -> value < 0);
    assertEquals(List.copyOf(round.urls()), List.copyOf(order.values()));
    return round.urls().stream().map(url -> url.substring(SITE.length())).collect(toList());
  }

  @Test
  void aRoundTakesOfTheBestBucketTheLinksThatWereFoundFirst() throws IOException {
    fetched(7);
    for (long found : List.of(7, 3, 5)) {
      link("good", found);
    }
    link("bad", 1);
    add("unscored", CrawlDatum.STATUS_DB_UNFETCHED);
    assertEquals(List.of("good3", "good5"), round(2));
    var asked = server.planned.get(0);
    assertEquals(List.of("bad", "good"), asked.getBucketsList(), "what waits longest first");
    assertEquals(List.of(1, 3), asked.getWaitingList());
    assertEquals(2, asked.getN());
    assertTrue(asked.getFill(), "a round cannot leave places empty until the next answer");
  }

  @Test
  void roundsGrowWithThePagesThatAreAnsweredAndWhatHasNoBucketFillsThem() throws IOException {
    link("good", 1);
    assertEquals(List.of("good1"), round(50));
    fetched(30);
    add("unscored", CrawlDatum.STATUS_DB_UNFETCHED);
    add("missed", CrawlDatum.STATUS_DB_UNFETCHED).getMetaData().put(new Text("linkscore.missed"), new Text("1"));
    assertEquals(List.of("good1", "unscored", "missed"), round(50));
    round(5);
    assertEquals(List.of(1, 8, 5), server.planned.stream().map(asked -> asked.getN()).collect(toList()));
  }

  @Test
  void startPagesGoAtOnceAndTakePlaces() throws IOException {
    link("good", 1);
    for (int i = 0; i < 3; i++) {
      seed("seed" + i);
    }
    assertEquals(List.of("seed0", "seed1", "seed2"), round(3));
    assertTrue(server.planned.isEmpty());
  }

  @Test
  void whatIsNotDueDoesNotWait() throws IOException {
    link("good", 1).setFetchTime(NOW + 1);
    link("good", 2).getMetaData().put(Nutch.WRITABLE_GENERATE_TIME_KEY, new LongWritable(NOW - 1));
    link("good", 3);
    assertEquals(List.of("good3"), round(1));
    assertEquals(List.of(1), server.planned.get(0).getWaitingList());
  }

  @Test
  void aBudgetBoundsARoundByTheFetchesBeforeRetriesAndAll() throws IOException {
    link("good", 1);
    link("good", 2).setRetriesSinceFetch(3);
    link("good", 3);
    fetched(30);
    assertEquals(3, round(50).size());
    conf.set("linkscore.budget", "max_fetches=35");
    assertEquals(2, round(50).size());
    assertFalse(waiting(50, NOW).isOver());
    conf.set("linkscore.budget", "max_fetches=33");
    assertTrue(waiting(50, NOW).isOver());
  }

  @Test
  void aLinkOfSeveralBucketsCarriesTheTicketOfTheOneItWasTakenFrom() throws IOException {
    CrawlDatum link = link("bad", 1);
    Place odd = new Place("a.test/${x}\t1", .1, "o", 2);
    Place.keep(link, List.of(new Place("bad", .9, "b", 1), odd, new Place("good", .5, "g", 3)));
    round(50);
    assertEquals(List.of("g", "b", "o"), Place.of(link).stream().map(place -> place.ticket).collect(toList()));
    assertEquals(odd.bucket, Place.of(link).get(2).bucket);
  }

  @Test
  void withoutAServerARoundTakesOfProvenBucketsAndLittleOfOthers() throws IOException {
    for (int i = 0; i < 40; i++) {
      link("proven", 100 + i);
      link("untried", 200 + i);
      link("gone", 300 + i);
    }
    for (int i = 0; i < 9; i++) {
      taken("proven", i, CrawlDatum.STATUS_DB_FETCHED, true);
      taken("gone", i, CrawlDatum.STATUS_DB_GONE, true);
    }
    fetched(42); // 60 answered: a round of 16
    server.close();
    // .5 * 160 / (160 + k) and .5 * 16 / (16 + k): ten of proven for one of untried
    List<String> urls = round(50);
    assertTrue(urls.containsAll(List.of("proven113", "untried200")), "most and some");
    assertTrue(Collections.disjoint(urls, List.of("proven115", "untried202", "gone300")));
    assertTrue(Place.isUnadvised(database.get(SITE + "proven113")));
  }

  @Test
  void linksTakenWithoutAServerCostTheirBucketTrust() throws IOException {
    for (int i = 0; i < 40; i++) {
      link("used", 100 + i);
      link("fresh", 200 + i);
    }
    for (int i = 0; i < 8; i++) {
      taken("used", i, CrawlDatum.STATUS_DB_FETCHED, false);
    }
    fetched(20);
    server.close();
    assertEquals(IntStream.range(200, 208).mapToObj(i -> "fresh" + i).collect(toList()), round(50));
  }

  @Test
  void aCrawlThatHasStoppedHasRoundsWhileStartPagesWait() throws Exception {
    link("good", 1);
    assertFalse(waiting(50, NOW).isOver());
    server.crawl = server.crawl.toBuilder().setDecision(Decision.DECISION_STOP_COVERED).build();
    assertTrue(waiting(50, NOW).isOver());
    String[] args = {folder.toString(), folder.resolve("segments").toString(), "-topN", "50"};
    Generate command = new Generate();
    command.setConf(conf);
    assertEquals(1, command.run(args), "as Nutch does when nothing waits");
    assertFalse(folder.resolve("segments").toFile().exists());
    seed("seed");
    assertFalse(waiting(50, NOW).isOver());
    for (String wrong : List.of("-topN 0", "-topN -5", "-topN many", "-topN 9999999999999999999", "-topN", "-adddays 1e9", "-adddays -1")) {
      String[] odd = (folder + " segments " + wrong).split(" ");
      String said = assertThrows(IllegalArgumentException.class, () -> command.run(odd)).getMessage();
      assertTrue(said.startsWith(odd[2] + ": must be a whole number from "), said);
    }
  }

  /** Known pages that a round fetches again: the server names six, the one of the highest number first. */
  private String again(double perDay, long now, long topN) throws IOException {
    conf.setDouble("linkscore.revisits.per.day", perDay);
    return round(topN, now).stream().sorted().collect(joining());
  }

  private void known() {
    server.revisits = true;
    IntStream.range(0, 6).forEach(i -> add("" + i, CrawlDatum.STATUS_DB_FETCHED));
    server.due = database.descendingKeySet().stream().collect(toList());
  }

  @Test
  void ofKnownPagesTheBestAreTakenAndNoMoreThanADayAllows() throws IOException {
    known();
    assertEquals("45", again(2.5, NOW, 50));
    assertEquals("", again(2.5, NOW + 1000, 50), "the next round of a day");
    assertEquals("345", again(2.5, NOW + DAY_MS, 50), "half a page was left");
  }

  @Test
  void aPageInSeveralDaysIsAPageAtOnceAndRunsThatAreFarApartMayFetchMore() throws IOException {
    known();
    assertEquals("5", again(.25, NOW, 50));
    assertEquals("", again(.25, NOW + 3 * DAY_MS, 50));
    assertEquals("5", again(.25, NOW + 4 * DAY_MS, 50));
    assertEquals("345", again(1, NOW + 7 * DAY_MS, 50));
  }

  @Test
  void whatARoundHasNoPlaceForIsLeftToTheNextAndAllThatIsDueLeavesNothing() throws IOException {
    known();
    assertEquals("45 45 5 ", again(5, NOW, 2) + " " + again(5, NOW, 2) + " " + again(5, NOW, 2) + " " + again(5, NOW, 2));
    assertEquals("012345", again(100, NOW + DAY_MS, 50));
    assertEquals("", again(100, NOW + DAY_MS + 1000, 50));
  }

  @Test
  void onlyPagesThatCameAndThatNoRoundHasAreTakenAgainAndLinksHavePlacesOfTheirOwn() throws IOException {
    known();
    database.get(SITE + 5).setStatus(CrawlDatum.STATUS_DB_GONE);
    database.get(SITE + 5).setFetchTime(NOW + 1);
    database.get(SITE + 3).getMetaData().put(Nutch.WRITABLE_GENERATE_TIME_KEY, new LongWritable(NOW - 1));
    link("good", 1);
    assertEquals("24good1", again(2, NOW, 50));
    assertEquals(2, server.planned.get(0).getN());
    assertEquals(List.of(1), server.planned.get(0).getWaitingList());
    server.close();
    assertFalse(waiting(50, NOW).known != null, "dates count while it is away");
  }
}
