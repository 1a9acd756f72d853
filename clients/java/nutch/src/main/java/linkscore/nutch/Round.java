package linkscore.nutch;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;

/**
 * The URLs that a round takes, best first. They go to the tasks that generate in the configuration of their job, so that
 * all of them, and one that is run again, take the same.
 */
final class Round {
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

  void takeAgain(String url) {
    take(url, AGAIN);
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
