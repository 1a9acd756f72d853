package linkscore.nutch;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.FetchSchedule;
import org.apache.nutch.crawl.FetchScheduleFactory;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.metadata.Nutch;

/**
 * What a round takes: of each bucket the links that were found first, up to a last one, and the known pages that the server
 * names, if it was asked. It goes to the tasks that generate in the configuration of their job, so that all of them, and
 * one that is run again, take the same.
 */
final class Round {
  private static final String KEY = "linkscore.round";
  private static final Text SPENT = new Text("linkscore.spent");

  // How long a generated URL waits for its update before it is generated again; Nutch's own default.
  private static final long GENERATED_MS = 604_800_000;

  /** Whether the server said what to take. */
  final boolean isAdvised;

  private final long now;
  private final Map<String, Double> values = new HashMap<>();
  private final Map<String, Long> lasts = new HashMap<>();

  /** Known pages by the form of their URL; null if they go by their dates. */
  private Set<String> known;

  /** Until when the fetches a day are spent: each page that is taken again keeps it. */
  private long spent;

  private Configuration conf;

  Round(boolean isAdvised, long now) {
    this.isAdvised = isAdvised;
    this.now = now;
  }

  /** Takes the links of a bucket that were found no later than the last one, each worth so much. */
  void take(String bucket, double value, long last) {
    values.put(bucket, value);
    lasts.put(bucket, last);
  }

  /** Takes known pages again, whatever their dates, by the form of their URL. */
  void takeAgain(List<String> urls, long spentUntil) {
    known = new HashSet<>(urls);
    spent = spentUntil;
  }

  /** The place the round takes a link from, the best if there are several. */
  Optional<Place> place(List<Place> places) {
    return places.stream()
        .filter(place -> place.found <= lasts.getOrDefault(place.bucket, Long.MIN_VALUE))
        .max(Comparator.comparingDouble(place -> value(place.bucket)));
  }

  /** The value of a bucket the round takes links of. */
  double value(String bucket) {
    return values.get(bucket);
  }

  /** Whether the round takes a known page again, which then keeps what is spent. */
  boolean takesAgain(Text url, CrawlDatum datum) {
    boolean isTaken = known != null && isKnown(datum) && known.contains(Place.form(url.toString()));
    if (isTaken) {
      datum.getMetaData().put(SPENT, new Text(Long.toString(spent)));
    }
    return isTaken;
  }

  /** Whether the date of another URL has come: Nutch was told that all have if the server names known pages. */
  boolean isDue(Text url, CrawlDatum datum) {
    return known == null || (!isKnown(datum) && isDue(conf, url, datum, now));
  }

  /** Whether a page came: the server says when to fetch it again. */
  static boolean isKnown(CrawlDatum datum) {
    byte status = datum.getStatus();
    return status == CrawlDatum.STATUS_DB_FETCHED
        || status == CrawlDatum.STATUS_DB_NOTMODIFIED
        || status == CrawlDatum.STATUS_DB_DUPLICATE;
  }

  /** Until when the fetches a day are spent, as a page has it. */
  static long spent(CrawlDatum datum) {
    Writable spent = datum.getMetaData().get(SPENT);
    return spent == null ? Long.MIN_VALUE : Long.parseLong(spent.toString());
  }

  /** Whether Nutch's generator would take a URL at a time: by its schedule, and by what was generated before. */
  static boolean isDue(Configuration conf, Text url, CrawlDatum datum, long now) {
    FetchSchedule schedule = FetchScheduleFactory.getFetchSchedule(conf);
    return isFree(conf, datum, now) && schedule.shouldFetch(url, datum, now);
  }

  /** Whether no round has it already. */
  static boolean isFree(Configuration conf, CrawlDatum datum, long now) {
    LongWritable taken = (LongWritable) datum.getMetaData().get(Nutch.WRITABLE_GENERATE_TIME_KEY);
    return taken == null || taken.get() < now - conf.getLong(Generator.GENERATOR_DELAY, GENERATED_MS);
  }

  /** Writes the round into the configuration of a job: a head, then a line a bucket, then a line a known page. */
  void write(Configuration to) {
    List<String> lines = new ArrayList<>();
    lines.add(isAdvised + "\t" + now + "\t" + spent + "\t" + (known != null) + "\t" + values.size());
    values.forEach((bucket, value) -> lines.add(value + "\t" + lasts.get(bucket) + "\t" + bucket));
    lines.addAll(known == null ? Set.of() : known);
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
    String[] lines = new String(Base64.getDecoder().decode(written), StandardCharsets.UTF_8).split("\n");
    String[] head = lines[0].split("\t");
    Round round = new Round(Boolean.parseBoolean(head[0]), Long.parseLong(head[1]));
    round.conf = from;
    int buckets = Integer.parseInt(head[4]);
    for (String line : List.of(lines).subList(1, 1 + buckets)) {
      String[] parts = line.split("\t", 3);
      round.take(parts[2], Double.parseDouble(parts[0]), Long.parseLong(parts[1]));
    }
    if (Boolean.parseBoolean(head[3])) {
      round.takeAgain(List.of(lines).subList(1 + buckets, lines.length), Long.parseLong(head[2]));
    }
    return round;
  }
}
