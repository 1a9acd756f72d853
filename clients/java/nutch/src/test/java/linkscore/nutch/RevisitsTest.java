package linkscore.nutch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import linkscore.FakeServer;
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

/** Known pages that the server names: how many a day, over rounds, and what the tasks that generate make of them. */
class RevisitsTest {
  private static final long DAY_MS = 86_400_000;
  private static final long NOW = 100 * DAY_MS;

  @TempDir Path folder;
  private FakeServer server;
  private final Configuration conf = new Configuration(false);
  private final CrawlDatum[] known = new CrawlDatum[6];

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer();
    server.revisits = true;
    conf.set("linkscore.target", server.target());
    conf.set("io.serializations", "org.apache.hadoop.io.serializer.WritableSerialization");
    conf.set("fs.file.impl", "org.apache.hadoop.fs.LocalFileSystem");
    conf.set("fs.defaultFS", "file:///");
    conf.setInt("db.fetch.interval.max", 7_776_000);
    List<String> due = new ArrayList<>();
    for (int i = 0; i < known.length; i++) {
      known[i] = new CrawlDatum(CrawlDatum.STATUS_DB_FETCHED, 1);
      due.add(0, url(i).toString());
    }
    server.due = due;
  }

  @AfterEach
  void stop() {
    server.close();
  }

  private static Text url(int at) {
    return new Text("http://a.test/" + at);
  }

  /** The pages that a round fetches again: the server names all, the one of the highest number first. */
  private String fetched(double perDay, long now, long topN) throws IOException {
    conf.setDouble("linkscore.revisits.per.day", perDay);
    var part = new org.apache.hadoop.fs.Path(folder.resolve("current/part-r-00000").toUri());
    try (MapFile.Writer rows =
        new MapFile.Writer(conf, part, MapFile.Writer.keyClass(Text.class), SequenceFile.Writer.valueClass(CrawlDatum.class))) {
      for (int i = 0; i < known.length; i++) {
        rows.append(url(i), known[i]);
      }
    }
    Waiting waiting = new Waiting(conf, topN, now);
    waiting.askForKnown(LinkscoreScoringFilter.session(conf), false);
    waiting.read(new org.apache.hadoop.fs.Path(folder.toUri()));
    waiting.round(LinkscoreScoringFilter.session(conf)).write(conf);
    Round read = Round.read(conf);
    StringBuilder taken = new StringBuilder();
    for (int i = 0; i < known.length; i++) {
      taken.append(read.takesAgain(url(i), known[i]) ? "" + i : "");
    }
    return taken.toString();
  }

  @Test
  void theBestAreTakenAndNoMoreThanADayAllows() throws IOException {
    assertEquals("45", fetched(2.5, NOW, 50));
    assertEquals("", fetched(2.5, NOW + 1000, 50), "the next round of a day");
    assertEquals("345", fetched(2.5, NOW + DAY_MS, 50), "half a page was left");
  }

  @Test
  void aPageInSeveralDaysIsAPageAtOnceAndRunsThatAreFarApartMayFetchMore() throws IOException {
    assertEquals("5", fetched(.25, NOW, 50));
    assertEquals("", fetched(.25, NOW + 3 * DAY_MS, 50));
    assertEquals("5", fetched(.25, NOW + 4 * DAY_MS, 50));
    assertEquals("345", fetched(1, NOW + 7 * DAY_MS, 50));
  }

  @Test
  void whatARoundHasNoPlaceForIsLeftToTheNextAndAllThatIsDueLeavesNothing() throws IOException {
    assertEquals(List.of("45", "45", "5", ""), List.of(again(5, 2), again(5, 2), again(5, 2), again(5, 2)));
    assertEquals("012345", fetched(100, NOW + DAY_MS, 50));
    assertEquals("", fetched(100, NOW + DAY_MS + 1000, 50));
  }

  private String again(double perDay, long topN) throws IOException {
    return fetched(perDay, NOW, topN);
  }

  @Test
  void onlyPagesThatCameAndThatNoRoundHasAreTaken() throws IOException {
    known[5].setStatus(CrawlDatum.STATUS_DB_GONE);
    known[4].setStatus(CrawlDatum.STATUS_DB_UNFETCHED);
    known[3].getMetaData().put(Nutch.WRITABLE_GENERATE_TIME_KEY, new LongWritable(NOW - 1));
    assertEquals("2", fetched(1, NOW, 50));
  }

  @Test
  void tasksKnowWhatIsTakenAndWhatIsDueBeside() throws IOException {
    assertEquals("5", fetched(1, NOW, 50));
    LinkscoreScoringFilter filter = new LinkscoreScoringFilter();
    filter.setConf(conf);
    assertTrue(filter.generatorSortValue(url(5), known[5], 1) > 2);
    assertTrue(filter.generatorSortValue(url(4), known[4], 1) < 0, "due by its date");
    CrawlDatum link = new CrawlDatum(CrawlDatum.STATUS_DB_UNFETCHED, 1);
    link.setFetchTime(NOW);
    assertTrue(filter.generatorSortValue(url(7), link, 1) > 0);
    link.setFetchTime(NOW + 1);
    assertTrue(filter.generatorSortValue(url(7), link, 1) < 0, "tried again later");
  }
}
