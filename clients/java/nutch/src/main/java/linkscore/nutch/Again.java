package linkscore.nutch;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;

/** The known pages that a round fetches again, as the server named them; like {@link Round} in the configuration of a job. */
final class Again {
  /** For {@code -adddays}: every date has come by then, so that Nutch's generator asks the filter of each URL. */
  static final String ALL_DAYS = "36500";

  private static final String KEY = "linkscore.round.again";
  private static final Text SPENT = new Text("linkscore.spent");

  private final Set<String> urls;
  private final long now;
  private final long spent;
  private Due due;

  /** Pages by the form of their URL, for a round at a time; each keeps until when the fetches a day are spent. */
  Again(Collection<String> urls, long now, long spent) {
    this.urls = new HashSet<>(urls);
    this.now = now;
    this.spent = spent;
  }

  int size() {
    return urls.size();
  }

  /** Whether the server says when to fetch it again: a page that came. */
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

  /** Whether the round takes a page again, which then keeps what is spent. */
  boolean takes(Text url, CrawlDatum datum) {
    boolean isTaken = isKnown(datum) && urls.contains(Answer.form(url.toString()));
    if (isTaken) {
      datum.getMetaData().put(SPENT, new Text(Long.toString(spent)));
    }
    return isTaken;
  }

  /** Whether another URL is due, by its date: a link, a page that is gone. */
  boolean isDue(Text url, CrawlDatum datum) {
    return !isKnown(datum) && due.isDue(url, datum);
  }

  /** Writes them into the configuration of a job. */
  void write(Configuration conf) {
    String lines = now + "\n" + spent + "\n" + String.join("\n", urls);
    conf.set(KEY, Base64.getEncoder().encodeToString(lines.getBytes(StandardCharsets.UTF_8)));
  }

  /** Reads them back; null if the server did not name any. */
  static Again read(Configuration conf) {
    String written = conf.get(KEY);
    if (written == null) {
      return null;
    }
    List<String> lines = List.of(new String(Base64.getDecoder().decode(written), StandardCharsets.UTF_8).split("\n"));
    Again again = new Again(lines.subList(2, lines.size()), Long.parseLong(lines.get(0)), Long.parseLong(lines.get(1)));
    again.due = new Due(conf, again.now);
    return again;
  }
}
