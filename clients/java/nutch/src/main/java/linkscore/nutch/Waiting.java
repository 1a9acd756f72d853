package linkscore.nutch;

import java.io.IOException;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import linkscore.Plan;
import linkscore.Session;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;

/**
 * What waits in a crawl database: how many links of each bucket, and when the first of them were found. Of each bucket no
 * more are kept than a round may take.
 */
final class Waiting {
  // Bounds of RankBuckets: buckets named and links handed out in one question.
  private static final int MAX_BUCKETS = 100_000;
  private static final int MAX_LINKS = 10_000;

  // As the server grants places to crawlers that fetch without rounds (docs/guides/many-in-flight.md).
  private static final int ANSWERS_A_LINK = 4;

  // While the server is away the value of a bucket counts half after so many links, for each that was taken before and one
  // more: as in the frontiers of the other clients (docs/reference/clients.md, rule 8).
  static final double TRUST = 16;

  private final long topN;
  private final int most;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private long answered;
  private long fetches; // retries and all
  private long maxFetches = Long.MAX_VALUE;
  private long seeds;
  private int again;

  /** Nothing yet, for rounds of at most so many links. */
  Waiting(long topN) {
    this.topN = topN;
    most = (int) Math.min(topN, MAX_LINKS);
  }

  /** Reads a crawl database; what is not due at a time does not wait, nor do known pages if revisits are chosen by the server. */
  static Waiting read(Configuration conf, Path crawlDb, long topN, long now, Revisits revisits) throws IOException {
    Waiting waiting = new Waiting(topN);
    Due due = new Due(conf, now);
    FileSystem files = crawlDb.getFileSystem(conf);
    FileStatus[] parts = files.globStatus(new Path(crawlDb, CrawlDb.CURRENT_NAME + "/part-*/data"));
    for (FileStatus part : parts == null ? new FileStatus[0] : parts) {
      Text url = new Text();
      CrawlDatum datum = new CrawlDatum();
      try (SequenceFile.Reader rows = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part.getPath()))) {
        while (rows.next(url, datum)) {
          if (revisits != null) {
            revisits.add(url, datum, due.isFree(datum));
          }
          boolean isChosen = revisits != null && Again.isKnown(datum);
          waiting.add(datum, !isChosen && due.isDue(url, datum));
        }
      }
    }
    return waiting;
  }

  /** Counts a URL of the database. */
  void add(CrawlDatum datum, boolean isDue) {
    if (datum.getStatus() != CrawlDatum.STATUS_DB_UNFETCHED) {
      answered++;
      fetches++;
      Place.of(datum).stream().limit(1).forEach(from -> bucket(from).took(datum));
    }
    fetches += datum.getRetriesSinceFetch();
    if (!isDue) {
      return;
    }
    if (LinkscoreScoringFilter.isSeed(datum)) {
      seeds++;
      return;
    }
    for (Place place : Place.of(datum)) {
      bucket(place).add(place, most);
    }
  }

  private Bucket bucket(Place place) {
    return buckets.computeIfAbsent(place.bucket, Bucket::new);
  }

  /** Gives known pages places of the round before links. */
  Again take(Revisits revisits) {
    Again taken = revisits.take(Math.min(topN, left()));
    again = taken.size();
    return taken;
  }

  /**
   * How many URLs the next round should have: known pages that it fetches again, and links, one at first and one more for
   * every four pages answered, since what is chosen before much is known is mostly wrong; start pages all at once. No more
   * than the budget leaves.
   */
  long size() {
    return Math.min(Math.min(topN, left()), again + Math.max(seeds, Math.min(most, 1 + answered / ANSWERS_A_LINK)));
  }

  /** Bounds the fetches of all rounds; those that the database knows count. */
  void bound(long mostFetches) {
    maxFetches = mostFetches;
  }

  private int places() {
    return (int) Math.min(MAX_LINKS, size() - again - seeds);
  }

  private long left() {
    return Math.max(0, maxFetches - fetches);
  }

  /**
   * Whether the budget lets no round begin. A crawl whose sites have stopped goes on while start pages wait, which may be of
   * another site.
   *
   * @param hasStopped what the server says of the crawl
   */
  boolean isOver(boolean hasStopped) {
    return left() == 0 || (hasStopped && seeds == 0);
  }

  /** Asks the server which links to take beside the start pages; none while it is away. */
  Optional<Round> plan(Session session) {
    Map<String, Integer> counts = new LinkedHashMap<>();
    buckets.entrySet().stream()
        .filter(bucket -> bucket.getValue().links > 0)
        .sorted(Comparator.comparingLong(bucket -> bucket.getValue().oldest))
        .limit(MAX_BUCKETS)
        .forEach(bucket -> counts.put(bucket.getKey(), bucket.getValue().links));
    int places = places();
    if (places <= 0 || counts.isEmpty()) {
      return Optional.of(new Round());
    }
    return session.planBuckets(counts, Map.of(), places, true).map(this::round);
  }

  /**
   * What to take while the server is away: by the values links came with. A bucket of which few links were taken before loses
   * its value soon, one whose pages were not there has little.
   */
  Round withoutServer() {
    Round round = Round.unadvised();
    Queue<Bucket> best = new PriorityQueue<>(Comparator.comparingDouble(bucket -> -bucket.worth()));
    buckets.values().stream().filter(bucket -> bucket.links > 0).forEach(best::add);
    for (int places = places(); places > 0 && !best.isEmpty(); places--) {
      Bucket from = best.remove();
      from.taking++;
      if (from.taking < Math.min(from.links, most)) {
        best.add(from);
      }
    }
    for (Bucket bucket : buckets.values()) {
      if (bucket.taking > 0) {
        round.take(bucket.name, bucket.worth(), bucket.upTo(bucket.taking));
      }
    }
    return round;
  }

  private Round round(Plan plan) {
    Round round = new Round();
    plan.urls().forEach((bucket, n) -> round.take(bucket, plan.values().get(bucket), buckets.get(bucket).upTo(n)));
    return round;
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
      if (Place.isUnadvised(datum)) {
        unadvised++;
      } else {
        proven++;
      }
      if (datum.getStatus() == CrawlDatum.STATUS_DB_GONE) {
        failures++;
      } else {
        pages++;
      }
    }

    private double worth() {
      double half = TRUST * (1 + proven);
      double odds = (1.0 + pages) / (1 + pages + failures);
      return value * odds * half / (half + unadvised + taking);
    }

    private void add(Place place, int most) {
      long found = place.found;
      links++;
      oldest = Math.min(oldest, found);
      if (found > latest) {
        latest = found;
        value = place.value;
      }
      first.add(found);
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
