package linkscore.nutch;

import static java.util.stream.Collectors.toList;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
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
  private static final long NOW = 1_000_000;

  @TempDir Path folder;
  private FakeServer server;
  private Configuration conf;
  private final TreeMap<String, CrawlDatum> database = new TreeMap<>();
  private long most = Long.MAX_VALUE;

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

  private CrawlDatum add(String url, int status) {
    CrawlDatum datum = new CrawlDatum(status, 1);
    datum.setFetchTime(NOW - 1);
    database.put(url, datum);
    return datum;
  }

  /** A link that waits, found at a time. */
  private CrawlDatum link(String bucket, long found) {
    CrawlDatum datum = add("http://a.test/" + bucket + found, CrawlDatum.STATUS_DB_UNFETCHED);
    Place.keep(datum, List.of(new Place(bucket, .5, "t", found)));
    return datum;
  }

  private void fetched(int pages) {
    for (int i = 0; i < pages; i++) {
      add("http://a.test/fetched" + i, CrawlDatum.STATUS_DB_FETCHED).setFetchTime(NOW + 1);
    }
  }

  /** What waits, after the database was written as `updatedb` does. */
  private Waiting waiting(long topN) throws IOException {
    var part = new org.apache.hadoop.fs.Path(folder.resolve("current/part-r-00000").toUri());
    try (MapFile.Writer rows =
        new MapFile.Writer(
            conf,
            part,
            MapFile.Writer.keyClass(Text.class),
            SequenceFile.Writer.valueClass(CrawlDatum.class))) {
      for (Map.Entry<String, CrawlDatum> row : database.entrySet()) {
        rows.append(new Text(row.getKey()), row.getValue());
      }
    }
    Waiting waiting = new Waiting(conf, topN, NOW);
    waiting.bound(most);
    waiting.askForKnown(LinkscoreScoringFilter.session(conf), false);
    waiting.read(new org.apache.hadoop.fs.Path(folder.toUri()));
    return waiting;
  }

  private Round round(long topN) throws IOException {
    return waiting(topN).round(LinkscoreScoringFilter.session(conf));
  }

  private static boolean takes(Round round, String bucket, long found) {
    return round.place(List.of(new Place(bucket, .5, "", found))).isPresent();
  }

  @Test
  void aRoundTakesOfEachBucketTheLinksThatWereFoundFirst() throws IOException {
    fetched(7);
    for (long found : List.of(7, 3, 5)) {
      link("good", found);
    }
    link("bad", 1);
    Round round = round(2);
    assertTrue(takes(round, "good", 3) && takes(round, "good", 5));
    assertFalse(takes(round, "good", 7) || takes(round, "bad", 1));
    assertEquals(.9, round.value("good"));
    var asked = server.planned.get(0);
    assertEquals(List.of("bad", "good"), asked.getBucketsList(), "what waits longest first");
    assertEquals(List.of(1, 3), asked.getWaitingList());
    assertEquals(2, asked.getN());
    assertTrue(asked.getFill(), "a round cannot leave places empty until the next answer");
  }

  @Test
  void roundsGrowWithThePagesThatAreAnswered() throws IOException {
    link("good", 1);
    assertEquals(1, waiting(50).size());
    fetched(30);
    assertEquals(8, waiting(50).size());
    assertEquals(5, waiting(5).size(), "and no further than topN");
    round(50);
    assertEquals(8, server.planned.get(0).getN());
  }

  @Test
  void startPagesGoAtOnceAndTakePlaces() throws IOException {
    link("good", 1);
    for (int i = 0; i < 3; i++) {
      CrawlDatum seed = add("http://a.test/seed" + i, CrawlDatum.STATUS_DB_UNFETCHED);
      seed.getMetaData().put(new Text("linkscore.seed"), new Text("1"));
    }
    assertEquals(3, waiting(50).size());
    assertFalse(takes(round(3), "good", 1), "no place is left");
    assertTrue(server.planned.isEmpty());
  }

  @Test
  void whatIsNotDueDoesNotWait() throws IOException {
    link("good", 1).setFetchTime(NOW + 1);
    link("good", 2).getMetaData().put(Nutch.WRITABLE_GENERATE_TIME_KEY, new LongWritable(NOW - 1));
    link("good", 3);
    Round round = round(1);
    assertEquals(List.of(1), server.planned.get(0).getWaitingList());
    assertTrue(takes(round, "good", 3));
  }

  @Test
  void knownPagesThatTheServerNamesTakePlacesOfTheirOwn() throws IOException {
    server.revisits = true;
    server.due = List.of("http://a.test/fetched3");
    link("good", 1);
    fetched(8);
    database.values().forEach(datum -> datum.setFetchTime(NOW - 1)); // by their dates they would wait
    assertEquals(3, waiting(50).size());
    conf.setDouble("linkscore.revisits.per.day", 1);
    Waiting waiting = waiting(50);
    assertEquals(4, waiting.size());
    assertTrue(takes(waiting.round(LinkscoreScoringFilter.session(conf)), "good", 1));
    assertEquals(List.of(1), server.planned.get(0).getWaitingList());
    assertEquals(3, server.planned.get(0).getN());
    server.close();
    assertFalse(waiting(50).isKnownNamed(), "dates count while it is away");
  }

  @Test
  void aBudgetBoundsARoundByTheFetchesBeforeRetriesAndAll() throws IOException {
    link("good", 1);
    link("good", 2).setRetriesSinceFetch(3);
    fetched(30);
    assertEquals(8, waiting(50).size());
    most = 35;
    assertEquals(2, waiting(50).size());
    assertFalse(waiting(50).isOver(false));
    most = 33;
    assertTrue(waiting(50).isOver(false));
    assertEquals(0, waiting(50).size());
  }

  @Test
  void theFilterGivesNoPlaceToWhatTheRoundDoesNotTake() {
    Round round = new Round(true, NOW);
    round.take("good", .5, 3);
    round.take("a.test/${x}\t1", .25, 5);
    round.write(conf);
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    filter.setConf(conf);
    Text url = new Text("http://a.test/");
    assertEquals(1.5f, filter.generatorSortValue(url, link("good", 3), 1));
    assertTrue(filter.generatorSortValue(url, link("good", 4), 1) < 0);
    assertTrue(filter.generatorSortValue(url, link("bad", 1), 1) < 0);
    assertEquals(1.25f, filter.generatorSortValue(url, link("a.test/${x}\t1", 5), 1));
    float unscored = filter.generatorSortValue(url, new CrawlDatum(CrawlDatum.STATUS_DB_UNFETCHED, 1), 1);
    assertTrue(unscored > 0 && unscored < 1, "fills what the round leaves");
    assertTrue(server.planned.isEmpty(), "no task asks the server");
  }

  @Test
  void aLinkOfSeveralBucketsCarriesTheTicketOfTheOneItWasTakenFrom() {
    Round round = new Round(true, NOW);
    round.take("list", .4, 9);
    round.take("menu", .1, 9);
    round.write(conf);
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    filter.setConf(conf);
    CrawlDatum link = new CrawlDatum(CrawlDatum.STATUS_DB_UNFETCHED, 1);
    Place.keep(
        link,
        List.of(
            new Place("best", .9, "b", 1), new Place("menu", .5, "m", 2), new Place("list", .2, "l", 3)));
    assertEquals("b", Place.of(link).get(0).ticket);
    assertEquals(1.4f, filter.generatorSortValue(new Text("http://a.test/"), link, 1));
    assertEquals(List.of("l", "b", "m"), Place.of(link).stream().map(place -> place.ticket).collect(toList()));
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
    Round round = round(50);
    assertFalse(round.isAdvised);
    // .5 * 160 / (160 + k) and .5 * 16 / (16 + k): ten of proven for one of untried
    assertTrue(takes(round, "proven", 113) && takes(round, "untried", 200), "most and some");
    assertFalse(takes(round, "proven", 115) || takes(round, "untried", 202) || takes(round, "gone", 300));
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
    Round round = round(50);
    assertTrue(takes(round, "fresh", 207));
    assertFalse(takes(round, "used", 100));
    round.write(conf);
    assertFalse(Round.read(conf).isAdvised);
  }

  private void taken(String bucket, long found, int status, boolean isAdvised) {
    CrawlDatum datum = link(bucket, found);
    datum.setStatus(status);
    datum.setFetchTime(NOW + 1);
    Place.of(datum).get(0).takenOf(datum, isAdvised);
  }

  @Test
  void aCrawlThatHasStoppedHasRoundsWhileStartPagesWait() throws IOException {
    link("good", 1);
    assertFalse(waiting(50).isOver(false));
    assertTrue(waiting(50).isOver(true));
    CrawlDatum seed = add("http://b.test/", CrawlDatum.STATUS_DB_UNFETCHED);
    seed.getMetaData().put(new Text("linkscore.seed"), new Text("1"));
    assertFalse(waiting(50).isOver(true));
  }

  @Test
  void theCommandEndsAsNutchDoesWhenNothingWaits() throws Exception {
    link("good", 1);
    fetched(2);
    waiting(50);
    String[] args = {folder.toString(), folder.resolve("segments").toString(), "-topN", "50"};
    conf.set("linkscore.budget", "max_fetches=2");
    Generate command = new Generate();
    command.setConf(conf);
    assertEquals(1, command.run(args));
    assertEquals(List.of(), server.planned);
    assertEquals(2, server.crawl.getBudget().getMaxFetches());
    conf.unset("linkscore.budget");
    server.crawl = server.crawl.toBuilder().setDecision(Decision.DECISION_STOP_COVERED).build();
    assertEquals(1, command.run(args));
    assertFalse(folder.resolve("segments").toFile().exists());
  }
}
