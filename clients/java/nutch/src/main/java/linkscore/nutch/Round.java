package linkscore.nutch;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;

/**
 * The URLs of a round, in their order. The tasks that generate it have it in the configuration of their job, so that all of
 * them, and one that is run again, take the same.
 */
final class Round {
  private static final String KEY = "linkscore.round";
  private static final String AGAIN = "\t"; // begins the line of a known page
  private static final Text SPENT = new Text("linkscore.spent");

  // Of a URL that a later round takes; Nutch's generator leaves out what is below 0.
  private static final float NOT_NOW = -1;

  private final long spent; // until when the fetches of known pages a day are spent: each that is taken keeps it
  private final List<String> urls = new ArrayList<>();
  private final Map<String, Integer> places = new HashMap<>();
  private final Set<String> again = new HashSet<>();

  Round(long spent) {
    this.spent = spent;
  }

  /** Takes a URL, unless it is taken already. */
  void take(String url) {
    if (places.putIfAbsent(url, urls.size()) == null) {
      urls.add(url);
    }
  }

  void takeAgain(String url) {
    take(url);
    again.add(url);
  }

  List<String> urls() {
    return urls;
  }

  /** Says how early a URL goes. */
  float sortValue(String url, CrawlDatum datum) {
    if (again.contains(url)) {
      datum.getMetaData().put(SPENT, new Text(Long.toString(spent)));
    }
    Integer place = places.get(url);
    return place == null ? NOT_NOW : urls.size() - place;
  }

  /** Until when the fetches a day are spent, as a page has it. */
  static long spent(CrawlDatum datum) {
    Writable spent = datum.getMetaData().get(SPENT);
    return spent == null ? Long.MIN_VALUE : Long.parseLong(spent.toString());
  }

  /** Writes the round into the configuration of a job: a head, then a line a URL. */
  void write(Configuration to) {
    List<String> lines = new ArrayList<>(List.of("" + spent));
    urls.forEach(url -> lines.add((again.contains(url) ? AGAIN : "") + url));
    // In base64, because Hadoop replaces variables in values and keeps them as XML.
    to.set(KEY, Base64.getEncoder().encodeToString(String.join("\n", lines).getBytes(StandardCharsets.UTF_8)));
  }

  /** Reads it back; null if the job was started without one. */
  static Round read(Configuration from) {
    String written = from.get(KEY);
    if (written == null) {
      return null;
    }
    List<String> lines = List.of(new String(Base64.getDecoder().decode(written), StandardCharsets.UTF_8).split("\n"));
    Round round = new Round(Long.parseLong(lines.get(0)));
    for (String line : lines.subList(1, lines.size())) {
      if (line.startsWith(AGAIN)) {
        round.takeAgain(line.substring(AGAIN.length()));
      } else {
        round.take(line);
      }
    }
    return round;
  }
}
