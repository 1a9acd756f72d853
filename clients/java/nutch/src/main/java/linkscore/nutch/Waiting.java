package linkscore.nutch;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import linkscore.Session;
import linkscore.Settings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;
import org.apache.nutch.crawl.FetchSchedule;
import org.apache.nutch.crawl.FetchScheduleFactory;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.metadata.Nutch;

/**
 * What waits in a crawl database, and the next round of it: the database is read once to count how many links each bucket
 * has, and once to take what the server advised, of each bucket the links that were found first.
 *
 * <p>Of known pages that the server names a round takes the best, as many as a number a day allows. Each that is taken
 * keeps until when the fetches a day are spent. So the crawl database says what the next round may have, and a fetch that
 * never came there was not spent. Once all that are due are taken, what is left lapses.
 */
final class Waiting {
  // Bounds of RankBuckets: buckets named and links handed out in one question; and of RankRevisits.
  private static final int MAX_BUCKETS = 100_000;
  private static final int MAX_LINKS = 10_000;

  // As the server grants places to crawlers that fetch without rounds (docs/guides/many-in-flight.md).
  private static final int ANSWERS_A_LINK = 4;

  // Nutch's own default of generate.delay.
  private static final long GENERATED_MS = 604_800_000;

  // Links taken from a bucket nobody had tried that halve what it is thought to be worth while the server is away.
  private static final double TRUST = 16;

  private static final double DAY_MS = 86_400_000;

  private final Configuration conf;
  private final FetchSchedule schedule;
  private final Session session;
  private final Path crawlDb;
  private final long now;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private long answered;
  private long fetches; // retries and all
  private int seeds;
  private Map<String, String> known; // pages that the server names, by the form of their URL; null if dates count
  private long spent = Long.MIN_VALUE; // until when, as known pages say
  private List<String> again = List.of();
  private final int left; // places of the round: topN, less if the budget leaves less
  private final int size;

  /** Counts what waits at a time, for a round of at most so many URLs. */
  Waiting(Configuration conf, Session session, Path crawlDb, long topN, long now) throws IOException {
    this.conf = conf;
    this.schedule = FetchScheduleFactory.getFetchSchedule(conf);
    this.session = session;
    this.crawlDb = crawlDb;
    this.now = now;
    if (perDay() > 0) {
      session.rankRevisits(MAX_LINKS).ifPresent(due -> {
        known = new LinkedHashMap<>();
        due.forEach(page -> known.put(Place.form(page.getUrl()), ""));
      });
    }
    read(this::count);
    var budget = Settings.budget(conf.getTrimmed("linkscore.budget", ""));
    long allowed = budget.hasMaxFetches() ? Math.max(0, budget.getMaxFetches() - fetches) : MAX_LINKS;
    left = (int) Math.min(Math.min(topN, MAX_LINKS), allowed);
    if (known != null) {
      chooseKnown();
    }
    // One link at first: what is chosen before much is known is mostly wrong. Start pages go all at once.
    size = (int) Math.min(left, again.size() + Math.max(seeds, 1 + answered / ANSWERS_A_LINK));
  }

  private double perDay() {
    return conf.getDouble("linkscore.revisits.per.day", 0);
  }

  private void read(BiConsumer<String, CrawlDatum> row) throws IOException {
    FileSystem files = crawlDb.getFileSystem(conf);
    FileStatus[] parts = files.globStatus(new Path(crawlDb, CrawlDb.CURRENT_NAME + "/part-*/data"));
    for (FileStatus part : parts == null ? new FileStatus[0] : parts) {
      Text url = new Text();
      CrawlDatum datum = new CrawlDatum();
      try (SequenceFile.Reader rows = new SequenceFile.Reader(conf, SequenceFile.Reader.file(part.getPath()))) {
        while (rows.next(url, datum)) {
          row.accept(url.toString(), datum);
        }
      }
    }
  }

  private void count(String url, CrawlDatum datum) {
    if (datum.getStatus() != CrawlDatum.STATUS_DB_UNFETCHED) {
      answered++;
      fetches++;
      Place.of(datum).stream().limit(1).forEach(from -> bucket(from).took(datum));
    }
    fetches += datum.getRetriesSinceFetch();
    if (isKnown(datum)) {
      spent = Math.max(spent, Round.spent(datum));
      if (isFree(datum)) {
        known.computeIfPresent(Place.form(url), (form, was) -> url);
      }
    } else if (isDue(url, datum)) {
      boolean isSeed = LinkscoreScoringFilter.isSeed(datum);
      seeds += isSeed ? 1 : 0;
      (isSeed ? List.<Place>of() : Place.of(datum)).forEach(place -> bucket(place).add(place));
    }
  }

  private Bucket bucket(Place place) {
    return buckets.computeIfAbsent(place.bucket, Bucket::new);
  }

  /** Whether a page came, and the server says when to fetch it again. */
  private boolean isKnown(CrawlDatum datum) {
    byte status = datum.getStatus();
    boolean came = status == CrawlDatum.STATUS_DB_FETCHED || status == CrawlDatum.STATUS_DB_NOTMODIFIED;
    return known != null && (came || status == CrawlDatum.STATUS_DB_DUPLICATE);
  }

  /** Whether no round has it already. */
  private boolean isFree(CrawlDatum datum) {
    LongWritable taken = (LongWritable) datum.getMetaData().get(Nutch.WRITABLE_GENERATE_TIME_KEY);
    return taken == null || taken.get() < now - conf.getLong(Generator.GENERATOR_DELAY, GENERATED_MS);
  }

  /** Whether Nutch's generator would take a URL: by its schedule, and by what was generated before. */
  private boolean isDue(String url, CrawlDatum datum) {
    return isFree(datum) && schedule.shouldFetch(new Text(url), datum, now);
  }

  private void chooseKnown() {
    known.values().removeIf(String::isEmpty); // not in the database
    double perDay = perDay();
    double since = spent == Long.MIN_VALUE ? Math.max(DAY_MS, DAY_MS / perDay) : now - spent; // first for a day, or one page
    int taken = (int) Math.max(0, Math.min(Math.min(left, known.size()), since * perDay / DAY_MS));
    again = List.copyOf(known.values()).subList(0, taken);
    spent = (long) (taken == known.size() ? now : now - since + taken * DAY_MS / perDay);
  }

  /** Whether the server names the known pages to fetch again. */
  boolean isKnownNamed() {
    return known != null;
  }

  /** Whether the budget lets no round begin; start pages may be of a site that has not stopped. */
  boolean isOver() {
    return left == 0 || (seeds == 0 && !session.askStopped().isEmpty());
  }

  /** The next round: asks the server what to take, and goes by what links came with while it is away. */
  Round round() throws IOException {
    int places = size - again.size() - seeds;
    List<Bucket> waiting = new ArrayList<>(buckets.values());
    waiting.removeIf(bucket -> bucket.links == 0);
    waiting.sort(Comparator.comparingLong(bucket -> bucket.oldest));
    boolean isAdvised = true;
    if (places > 0 && !waiting.isEmpty()) {
      Map<String, Integer> counts = new LinkedHashMap<>();
      waiting.stream().limit(MAX_BUCKETS).forEach(bucket -> counts.put(bucket.name, bucket.links));
      Optional<linkscore.Crawl.Plan> plan = session.planBuckets(counts, Map.of(), places, true);
      isAdvised = plan.isPresent();
      plan.ifPresentOrElse(
          advice -> advice.urls.forEach((name, n) -> buckets.get(name).give(n, advice.values.get(name))),
          () -> share(waiting, places));
    }
    Round round = new Round(isAdvised, spent);
    fill(round);
    return round;
  }

  /** A bucket of which few links were taken before loses its value soon, one whose pages were not there has little. */
  private static void share(List<Bucket> waiting, int places) {
    Queue<Bucket> best = new PriorityQueue<>(Comparator.comparingDouble(bucket -> -bucket.worth()));
    best.addAll(waiting);
    for (int i = 0; i < places && !best.isEmpty(); i++) {
      Bucket from = best.remove();
      from.given++;
      if (from.given < from.links) {
        best.add(from);
      }
    }
    waiting.forEach(bucket -> bucket.value = bucket.worth());
  }

  /** Takes start pages, known pages, the links of each bucket, and then what has none, in the order of the database. */
  private void fill(Round round) throws IOException {
    List<String> start = new ArrayList<>();
    List<String> fallback = new ArrayList<>();
    List<String> missed = new ArrayList<>();
    read((url, datum) -> {
      if (isKnown(datum) || !isDue(url, datum)) {
        return;
      }
      List<Place> places = Place.of(datum);
      if (LinkscoreScoringFilter.isSeed(datum)) {
        start.add(url);
      } else if (places.isEmpty()) {
        List<String> last = LinkscoreScoringFilter.isMissed(datum) ? missed : fallback;
        if (last.size() < size) {
          last.add(url);
        }
      } else {
        places.forEach(place -> bucket(place).found(url, place.found));
      }
    });
    start.stream().limit(size).forEach(url -> round.take(url, ""));
    again.forEach(round::takeAgain);
    buckets.values().stream()
        .sorted(Comparator.comparingDouble(bucket -> -bucket.value))
        .forEach(bucket -> bucket.taken().forEach(url -> round.take(url, bucket.name)));
    for (List<String> last : List.of(fallback, missed)) {
      last.stream().limit(Math.max(0, size - round.urls().size())).forEach(url -> round.take(url, ""));
    }
  }

  private static final class Bucket {
    private final String name;
    private long oldest = Long.MAX_VALUE;
    private long latest = -1;
    private double value; // that of the link found last, or as the server says
    private int links;
    private int given; // places of the round
    private final Queue<Map.Entry<Long, String>> first = new PriorityQueue<>(Map.Entry.<Long, String>comparingByKey().reversed());

    /** Links that were taken: on advice and while the server was away; and those of both that brought a page, or not. */
    private int proven;

    private int unadvised;
    private int pages;
    private int failures;

    private Bucket(String name) {
      this.name = name;
    }

    private void took(CrawlDatum datum) {
      int isUnadvised = Place.isUnadvised(datum) ? 1 : 0;
      int isGone = datum.getStatus() == CrawlDatum.STATUS_DB_GONE ? 1 : 0;
      unadvised += isUnadvised;
      proven += 1 - isUnadvised;
      failures += isGone;
      pages += 1 - isGone;
    }

    private double worth() {
      double odds = (1.0 + pages) / (1 + pages + failures);
      double half = TRUST * (1 + proven);
      return value * odds * half / (half + unadvised + given);
    }

    private void add(Place place) {
      links++;
      oldest = Math.min(oldest, place.found);
      if (place.found > latest) {
        latest = place.found;
        value = place.value;
      }
    }

    private void give(int places, double worth) {
      given = places;
      value = worth;
    }

    /** Keeps a link if it is of those that were found first. */
    private void found(String url, long at) {
      first.add(Map.entry(at, url));
      if (first.size() > given) {
        first.remove();
      }
    }

    private Stream<String> taken() {
      return first.stream().sorted(Map.Entry.comparingByKey()).map(Map.Entry::getValue);
    }
  }
}
