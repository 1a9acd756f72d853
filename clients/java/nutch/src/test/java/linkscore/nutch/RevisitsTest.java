package linkscore.nutch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import linkscore.Client;
import linkscore.FakeServer;
import linkscore.Session;
import linkscore.v1.DuePage;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.metadata.Nutch;
import org.junit.jupiter.api.Test;

class RevisitsTest {
  private static final long DAY_MS = 86_400_000;
  private static final long NOW = 100 * DAY_MS;

  private final Configuration conf = new Configuration(false);
  private final CrawlDatum[] known = new CrawlDatum[6];

  RevisitsTest() {
    conf.setInt("db.fetch.interval.max", 7_776_000);
    for (int i = 0; i < known.length; i++) {
      known[i] = new CrawlDatum(CrawlDatum.STATUS_DB_FETCHED, 1);
    }
  }

  private static Text url(int at) {
    return new Text("http://a.test/" + at);
  }

  /** A round at a time: the server names all pages, the one of the highest number first. */
  private Again round(double perDay, long now, long most) {
    var named = new ArrayList<DuePage>();
    for (int i = known.length - 1; i >= 0; i--) {
      named.add(DuePage.newBuilder().setUrl(url(i).toString()).build());
    }
    Revisits revisits = new Revisits(named, perDay, now, null);
    for (int i = 0; i < known.length; i++) {
      revisits.add(url(i), known[i], new Due(conf, now).isFree(known[i]));
    }
    return revisits.take(most);
  }

  private int fetched(Again again) {
    int fetched = 0;
    for (int i = 0; i < known.length; i++) {
      fetched += again.takes(url(i), known[i]) ? 1 : 0;
    }
    return fetched;
  }

  @Test
  void theBestAreTakenAndNoMoreThanADayAllows() {
    Again again = round(2.5, NOW, 50);
    assertEquals(2, again.size());
    assertTrue(again.takes(url(5), known[5]) && again.takes(url(4), known[4]));
    assertFalse(again.takes(url(3), known[3]));
    assertEquals(0, round(2.5, NOW + 1000, 50).size(), "the next round of a day");
    assertEquals(3, round(2.5, NOW + DAY_MS, 50).size(), "half a page was left");
  }

  @Test
  void runsThatAreFarApartMayFetchMore() {
    assertEquals(1, fetched(round(1, NOW, 50)));
    assertEquals(3, fetched(round(1, NOW + 3 * DAY_MS, 50)));
  }

  @Test
  void aPageInSeveralDaysIsAPageAtOnce() {
    assertEquals(1, fetched(round(.25, NOW, 50)));
    assertEquals(0, fetched(round(.25, NOW + 3 * DAY_MS, 50)));
    assertEquals(1, fetched(round(.25, NOW + 4 * DAY_MS, 50)));
  }

  @Test
  void whatARoundHasNoPlaceForIsLeftToTheNext() {
    assertEquals(2, fetched(round(5, NOW, 2)));
    assertEquals(2, fetched(round(5, NOW, 2)));
    assertEquals(1, fetched(round(5, NOW, 2)));
    assertEquals(0, fetched(round(5, NOW, 2)));
  }

  @Test
  void aRoundThatTakesAllThatIsDueLeavesNothing() {
    assertEquals(6, fetched(round(100, NOW, 50)));
    assertEquals(0, fetched(round(100, NOW + 1000, 50)));
  }

  @Test
  void onlyPagesThatCameAndThatNoRoundHasAreTaken() {
    known[5].setStatus(CrawlDatum.STATUS_DB_GONE);
    known[4].setStatus(CrawlDatum.STATUS_DB_UNFETCHED);
    known[3].getMetaData().put(Nutch.WRITABLE_GENERATE_TIME_KEY, new LongWritable(NOW - 1));
    Again again = round(1, NOW, 50);
    assertTrue(again.takes(url(2), known[2]));
    assertEquals(1, fetched(again));
  }

  @Test
  void tasksKnowWhatIsTakenAndWhatIsDueBeside() {
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    round(1, NOW, 50).write(conf);
    new Round().write(conf);
    filter.setConf(conf);
    assertTrue(filter.generatorSortValue(url(5), known[5], 1) > 2);
    assertTrue(filter.generatorSortValue(url(4), known[4], 1) < 0, "due by its date");
    CrawlDatum link = new CrawlDatum(CrawlDatum.STATUS_DB_UNFETCHED, 1);
    link.setFetchTime(NOW);
    assertTrue(filter.generatorSortValue(url(7), link, 1) > 0);
    link.setFetchTime(NOW + 1);
    assertTrue(filter.generatorSortValue(url(7), link, 1) < 0, "tried again later");
    assertNull(Again.read(new Configuration(false)));
  }

  @Test
  void datesCountUnlessTheServerIsAskedAndAnswers() throws Exception {
    FakeServer server = new FakeServer();
    try (Session session = new Session(Client.to(server.target()).connect(), "nutch", null)) {
      server.due = List.of("http://a.test/1");
      assertTrue(Revisits.ask(session, conf, 50, NOW, false).isEmpty(), "not set");
      conf.setDouble("linkscore.revisits.per.day", 2);
      assertTrue(Revisits.ask(session, conf, 50, NOW, false).isEmpty(), "a crawl without revisit");
      server.revisits = true;
      Revisits revisits = Revisits.ask(session, conf, 50, NOW, false).orElseThrow();
      revisits.add(url(1), known[1], true);
      assertEquals(1, revisits.take(50).size());
      server.close();
      assertTrue(Revisits.ask(session, conf, 50, NOW, false).isEmpty(), "away");
    }
  }
}
