package linkscore.nutch;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.PriorityQueue;
import java.util.Queue;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import linkscore.Session;
import linkscore.Settings;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.SequenceFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;
import org.apache.nutch.crawl.FetchSchedule;
import org.apache.nutch.crawl.FetchScheduleFactory;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.util.NutchConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Generates a round as a whole: {@code bin/nutch plugin scoring-linkscore linkscore.nutch.Generate CRAWLDB SEGMENTS -topN
 * 50 ...}, in place of {@code bin/nutch generate} and with its arguments.
 *
 * <p>It reads what waits in the crawl database, asks the server once which links to take, and lets Nutch's generator take
 * those. Once the crawl has stopped it ends with 1, as the generator does when nothing waits: {@code bin/crawl} stops then.
 */
public final class Generate extends Configured implements Tool {
  private static final Logger LOG = LoggerFactory.getLogger(Generate.class);
  private static final long DAY_MS = 86_400_000;
  private static final int NO_ROUND = 1; // as Nutch's generator

  // Every date has come by then, so that Nutch's generator asks the filter of each URL.
  private static final String ALL_DAYS = "36500";

  /** Runs it, with the arguments of Nutch's generator. */
  public static void main(String[] args) throws Exception {
    System.exit(ToolRunner.run(NutchConfiguration.create(), new Generate(), args));
  }

  @Override
  public int run(String[] args) throws Exception {
    if (args.length < 2) {
      return new Generator(getConf()).run(args); // which says what it wants
    }
    List<String> given = new ArrayList<>(Arrays.asList(args));
    long topN = after(given, "-topN", 1, 999_999_999);
    long now = System.currentTimeMillis() + after(given, "-adddays", 0, 0) * DAY_MS;
    Configuration conf = new Configuration(getConf());
    try (Session session = LinkscoreScoringFilter.configured(conf)) {
      Waiting waiting = new Waiting(conf, session, new Path(args[0]), topN, now);
      Round round = waiting.isOver() ? new Round(false, 0) : waiting.round();
      if (round.urls().isEmpty()) {
        LOG.info("linkscore: nothing waits, or the budget lets no round begin. {} {}", session.stopped(), session.whyStopped());
        return NO_ROUND;
      }
      round.write(conf);
      given.addAll(List.of("-topN", "" + round.urls().size())); // of an option that stands twice Nutch takes the last
      if (waiting.known != null) { // the server names them
        given.addAll(List.of("-adddays", ALL_DAYS));
      }
    }
    conf.setFloat(Generator.GENERATOR_MIN_SCORE, 0); // URLs the round does not take are below
    return new Generator(conf).run(given.toArray(String[]::new));
  }

  private static long after(List<String> args, String option, long least, long otherwise) {
    int at = args.indexOf(option);
    String text = at < 0 ? "" + otherwise : at + 1 == args.size() ? "nothing" : args.get(at + 1);
    if (!text.matches("\\d{1,9}") || Long.parseLong(text) < least) {
      throw new IllegalArgumentException(option + ": must be a whole number from " + least + " to 999999999, got " + text);
    }
    return Long.parseLong(text);
  }

  /**
   * What waits in a crawl database, and the next round of it: read once to count the links of each bucket, once to take what
   * the server advised. Of known pages that are due a round takes the best, as many as a number a day allows; each that is
   * taken keeps until when those are spent, so that a fetch which never came to the database was not spent.
   */
  static final class Waiting {
    // Bounds of RankBuckets: buckets named and links handed out in one question; and of RankRevisits.
    private static final int MAX_BUCKETS = 100_000;
    private static final int MAX_LINKS = 10_000;

    // As the server grants places to crawlers that fetch without rounds (docs/guides/many-in-flight.md).
    private static final int ANSWERS_A_LINK = 4;

    // Nutch's own default of generate.delay.
    private static final long GENERATED_MS = 604_800_000;

    // Links taken from a bucket nobody had tried that halve what it is thought to be worth while the server is away.
    private static final double TRUST = 16;

    private final Configuration conf;
    private final FetchSchedule schedule;
    private final Session session;
    private final Path crawlDb;
    private final long now;
    private final double perDay; // known pages to fetch again
    private final Map<String, Bucket> buckets = new HashMap<>();
    private long answered;
    private long fetches; // retries and all
    private int seeds;
    Map<String, String> known; // pages that the server names, by the form of their URL; null if dates count
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
      this.perDay = conf.getDouble("linkscore.revisits.per.day", 0);
      if (perDay > 0) {
        session.ask(crawl -> crawl.rankRevisits(MAX_LINKS)).ifPresent(due -> {
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
      double since = spent == Long.MIN_VALUE ? Math.max(DAY_MS, DAY_MS / perDay) : now - spent; // first for a day, or one page
      int taken = (int) Math.max(0, Math.min(Math.min(left, known.size()), since * perDay / DAY_MS));
      again = List.copyOf(known.values()).subList(0, taken);
      spent = (long) (taken == known.size() ? now : now - since + taken * DAY_MS / perDay);
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
        Optional<linkscore.Crawl.Plan> plan = session.ask(crawl -> crawl.rankBuckets(counts, Map.of(), places, true));
        isAdvised = plan.isPresent();
        plan.ifPresentOrElse(
            advice -> {
              advice.values.forEach((name, value) -> buckets.get(name).value = value);
              advice.urls.forEach((name, n) -> buckets.get(name).given = n);
            },
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
      again.forEach(url -> round.take(url, Round.AGAIN));
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

  /**
   * The URLs that a round takes, best first. They go to the tasks that generate in the configuration of their job, so that
   * all of them, and one that is run again, take the same.
   */
  static final class Round {
    private static final String KEY = "linkscore.round";
    private static final String AGAIN = "\t"; // no bucket has this name
    private static final Text SPENT = new Text("linkscore.spent");

    // Of a URL that a later round takes; Nutch's generator leaves out what is below 0.
    private static final float NOT_NOW = -1;

    private final boolean isAdvised; // whether the server said what to take
    private final long spent; // until when the fetches of known pages a day are spent: each that is taken keeps it
    private final Map<String, Integer> places = new LinkedHashMap<>(); // of URLs, in their order
    private final List<String> buckets = new ArrayList<>(); // in which each place was taken

    Round(boolean isAdvised, long spent) {
      this.isAdvised = isAdvised;
      this.spent = spent;
    }

    /** Takes a URL from a bucket, unless it is taken already; from none if its name is empty. */
    void take(String url, String bucket) {
      if (places.putIfAbsent(url, buckets.size()) == null) {
        buckets.add(bucket);
      }
    }

    Set<String> urls() {
      return places.keySet();
    }

    /** Says how early a URL goes, and lets it remember where it was taken from. */
    float sortValue(String url, CrawlDatum datum) {
      Integer at = places.get(url);
      if (at == null) {
        return NOT_NOW;
      }
      String bucket = buckets.get(at);
      if (bucket.equals(AGAIN)) {
        datum.getMetaData().put(SPENT, new Text(Long.toString(spent)));
      }
      Place.of(datum).stream().filter(place -> place.bucket.equals(bucket)).forEach(place -> place.takenOf(datum, isAdvised));
      return buckets.size() - at;
    }

    /** Until when the fetches a day are spent, as a page has it. */
    static long spent(CrawlDatum datum) {
      Writable spent = datum.getMetaData().get(SPENT);
      return spent == null ? Long.MIN_VALUE : Long.parseLong(spent.toString());
    }

    /** Writes the round into the configuration of a job: a head, then a line a URL. */
    void write(Configuration to) {
      List<String> lines = new ArrayList<>(List.of(isAdvised + "\t" + spent));
      places.forEach((url, place) -> lines.add(url + "\t" + buckets.get(place)));
      // In base64, because Hadoop replaces variables in values and keeps them as XML.
      byte[] text = String.join("\n", lines).getBytes(StandardCharsets.UTF_8);
      to.set(KEY, Base64.getEncoder().encodeToString(text));
    }

    /** Reads it back; null if the job was started without one. */
    static Round read(Configuration from) {
      String written = from.get(KEY);
      if (written == null) {
        return null;
      }
      List<String> lines = List.of(new String(Base64.getDecoder().decode(written), StandardCharsets.UTF_8).split("\n"));
      String[] head = lines.get(0).split("\t");
      Round round = new Round(Boolean.parseBoolean(head[0]), Long.parseLong(head[1]));
      for (String line : lines.subList(1, lines.size())) {
        String[] parts = line.split("\t", 2);
        round.take(parts[0], parts[1]);
      }
      return round;
    }
  }
}
