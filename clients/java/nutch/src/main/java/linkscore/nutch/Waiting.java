package linkscore.nutch;

import java.io.IOException;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.stream.Collectors;
import linkscore.Outlook;
import linkscore.Session;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;
import org.apache.nutch.net.URLFilterException;
import org.apache.nutch.net.URLFilters;

/**
 * What waits in a crawl database: how many links of each bucket, and when the first of them were found; and which known
 * pages the server names to fetch again. Of each bucket no more are kept than a round may take.
 *
 * <p>Of known pages a round takes the best, as many as a number a day allows. Each that is taken keeps until when the
 * fetches a day are spent. So the crawl database says what the next round may have, and a fetch that never came there was
 * not spent. Once all that are due are taken, what is left lapses.
 */
final class Waiting {
  // Bounds of RankBuckets: buckets named and links handed out in one question; and of RankRevisits.
  private static final int MAX_BUCKETS = 100_000;
  private static final int MAX_LINKS = 10_000;

  // As the server grants places to crawlers that fetch without rounds (docs/guides/many-in-flight.md).
  private static final int ANSWERS_A_LINK = 4;

  private static final double DAY_MS = 86_400_000;

  private final Configuration conf;
  private final long topN;
  private final long now;
  private final int most;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private long answered;
  private long fetches; // retries and all
  private long maxFetches = Long.MAX_VALUE;
  private long seeds;

  private Map<String, Boolean> named; // known pages by the form of their URL, best first: whether one may go now
  private URLFilters filters;
  private long spent = Long.MIN_VALUE; // until when, as known pages say
  private List<String> again = List.of();
  private long spentUntil;

  /** Nothing yet, for rounds of at most so many links at a time. */
  Waiting(Configuration conf, long topN, long now) {
    this.conf = conf;
    this.topN = topN;
    this.now = now;
    most = (int) Math.min(topN, MAX_LINKS);
  }

  /**
   * Asks the server which known pages to fetch again, for twice as many as a round takes: some may not be in the database.
   * They go by their dates if no number a day is set, and while the server is away.
   */
  void askForKnown(Session session, boolean isFiltered) {
    if (perDay() > 0) {
      filters = isFiltered ? new URLFilters(conf) : null;
      session
          .rankRevisits((int) Math.min(MAX_LINKS, 2L * most))
          .ifPresent(
              pages -> {
                named = new LinkedHashMap<>();
                pages.forEach(page -> named.put(Place.form(page.getUrl()), false));
              });
    }
  }

  private double perDay() {
    return conf.getDouble("linkscore.revisits.per.day", 0);
  }

  /** Reads a crawl database. */
  void read(Path crawlDb) throws IOException {
    FileSystem files = crawlDb.getFileSystem(conf);
    FileStatus[] parts = files.globStatus(new Path(crawlDb, CrawlDb.CURRENT_NAME + "/part-*/data"));
    for (FileStatus part : parts == null ? new FileStatus[0] : parts) {
      Text url = new Text();
      CrawlDatum datum = new CrawlDatum();
      try (SequenceFile.Reader rows = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part.getPath()))) {
        while (rows.next(url, datum)) {
          add(url, datum);
        }
      }
    }
    chooseKnown();
  }

  /** Counts a URL of the database. */
  private void add(Text url, CrawlDatum datum) {
    if (datum.getStatus() != CrawlDatum.STATUS_DB_UNFETCHED) {
      answered++;
      fetches++;
      Place.of(datum).stream().limit(1).forEach(from -> bucket(from).took(datum));
    }
    fetches += datum.getRetriesSinceFetch();
    if (named != null && Round.isKnown(datum)) {
      spent = Math.max(spent, Round.spent(datum));
      if (Round.isFree(conf, datum, now)) {
        named.computeIfPresent(Place.form(url.toString()), (form, was) -> passes(url.toString()));
      }
    } else if (Round.isDue(conf, url, datum, now)) {
      boolean isSeed = LinkscoreScoringFilter.isSeed(datum);
      seeds += isSeed ? 1 : 0;
      (isSeed ? List.<Place>of() : Place.of(datum)).forEach(place -> bucket(place).add(place, most));
    }
  }

  private Bucket bucket(Place place) {
    return buckets.computeIfAbsent(place.bucket, Bucket::new);
  }

  private boolean passes(String url) {
    try {
      return filters == null || filters.filter(url) != null;
    } catch (URLFilterException e) {
      return true; // as in Nutch's generator
    }
  }

  /** Gives known pages places of the round before links. */
  private void chooseKnown() {
    if (named == null) {
      return;
    }
    List<String> due = named.keySet().stream().filter(named::get).collect(Collectors.toList());
    double perDay = perDay();
    double since = spent == Long.MIN_VALUE ? Math.max(DAY_MS, DAY_MS / perDay) : now - spent; // first for a day, or one page
    int taken = (int) Math.max(0, Math.min(Math.min(Math.min(topN, left()), due.size()), since * perDay / DAY_MS));
    again = due.subList(0, taken);
    spentUntil = (long) (taken == due.size() ? now : now - since + taken * DAY_MS / perDay);
  }

  /** Whether the server names the known pages to fetch again. */
  boolean isKnownNamed() {
    return named != null;
  }

  /**
   * How many URLs the next round should have: known pages that it fetches again, and links, one at first and one more for
   * every four pages answered, since what is chosen before much is known is mostly wrong; start pages all at once. No more
   * than the budget leaves.
   */
  long size() {
    long links = Math.max(seeds, Math.min(most, 1 + answered / ANSWERS_A_LINK));
    return Math.min(Math.min(topN, left()), again.size() + links);
  }

  /** Bounds the fetches of all rounds; those that the database knows count. */
  void bound(long mostFetches) {
    maxFetches = mostFetches;
  }

  private int places() {
    return (int) Math.min(MAX_LINKS, size() - again.size() - seeds);
  }

  private long left() {
    return Math.max(0, maxFetches - fetches);
  }

  /**
   * Whether the budget lets no round begin. A crawl whose sites have stopped goes on while start pages wait, which may be of
   * another site.
   *
   * @param hasStopped whether the server says that the crawl has stopped
   */
  boolean isOver(boolean hasStopped) {
    return left() == 0 || (hasStopped && seeds == 0);
  }

  /** The next round: asks the server what to take, and goes by what links came with while it is away. */
  Round round(Session session) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    buckets.values().stream()
        .filter(bucket -> bucket.links > 0)
        .sorted(Comparator.comparingLong(bucket -> bucket.oldest))
        .limit(MAX_BUCKETS)
        .forEach(bucket -> counts.put(bucket.name, bucket.links));
    Round round;
    if (places() <= 0 || counts.isEmpty()) {
      round = new Round(true, now);
    } else {
      Optional<linkscore.Crawl.Plan> plan = session.planBuckets(counts, Map.of(), places(), true);
      round = new Round(plan.isPresent(), now);
      plan.ifPresentOrElse(
          advice -> advice.urls.forEach((name, n) -> take(round, name, advice.values.get(name), n)),
          () -> takeWithoutServer(round));
    }
    if (named != null) {
      round.takeAgain(again, spentUntil);
    }
    return round;
  }

  private void take(Round round, String name, double value, int links) {
    round.take(name, value, buckets.get(name).upTo(links));
  }

  /** A bucket of which few links were taken before loses its value soon, one whose pages were not there has little. */
  private void takeWithoutServer(Round round) {
    Queue<Bucket> best = new PriorityQueue<>(Comparator.comparingDouble(bucket -> -bucket.worth()));
    buckets.values().stream().filter(bucket -> bucket.links > 0).forEach(best::add);
    for (int places = places(); places > 0 && !best.isEmpty(); places--) {
      Bucket from = best.remove();
      from.taking++;
      if (from.taking < Math.min(from.links, most)) {
        best.add(from);
      }
    }
    buckets.values().stream()
        .filter(bucket -> bucket.taking > 0)
        .forEach(bucket -> take(round, bucket.name, bucket.worth(), bucket.taking));
  }

  private static final class Bucket {
    private final Queue<Long> first = new PriorityQueue<>(Collections.reverseOrder()); // latest of them on top
    private final String name;
    private long oldest = Long.MAX_VALUE;
    private long latest = -1;
    private double value; // that of the link found last
    private int links;
    private int taking;

    /** Links that were taken: on advice and while the server was away; and those of both that brought a page, or not. */
    private int proven;

    private int unadvised;
    private int pages;
    private int failures;

    private Bucket(String name) {
      this.name = name;
    }

    private void took(CrawlDatum datum) {
      boolean isUnadvised = Place.isUnadvised(datum);
      boolean isGone = datum.getStatus() == CrawlDatum.STATUS_DB_GONE;
      unadvised += isUnadvised ? 1 : 0;
      proven += isUnadvised ? 0 : 1;
      failures += isGone ? 1 : 0;
      pages += isGone ? 0 : 1;
    }

    private double worth() {
      return Outlook.faded(value, (1.0 + pages) / (1 + pages + failures), proven, unadvised + taking);
    }

    private void add(Place place, int most) {
      links++;
      oldest = Math.min(oldest, place.found);
      if (place.found > latest) {
        latest = place.found;
        value = place.value;
      }
      first.add(place.found);
      if (first.size() > most) {
        first.remove();
      }
    }

    /** When the n-th link was found; it is called once. */
    private long upTo(int n) {
      while (first.size() > n) {
        first.remove();
      }
      return first.element();
    }
  }
}
