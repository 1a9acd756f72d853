package linkscore.nutch;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import linkscore.Session;
import linkscore.v1.DuePage;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.net.URLFilterException;
import org.apache.nutch.net.URLFilters;

/**
 * Chooses the known pages that a round fetches again: those the server names, best first, whatever their dates in the crawl
 * database, and as many as a number a day allows.
 *
 * <p>Each page that is taken keeps until when the fetches a day are spent. So the crawl database says what the next round may
 * have, and a fetch that never came there was not spent. Once all pages that are due are taken, what is left lapses.
 */
final class Revisits {
  private static final double DAY_MS = 86_400_000;
  private static final int MAX_NAMED = 10_000; // the bound of RankRevisits

  private final double perDay;
  private final long now;
  private final URLFilters filters;
  private final Map<String, Boolean> isThere = new LinkedHashMap<>(); // by the form of the URL, best first
  private long spent = Long.MIN_VALUE; // until when, as pages say

  /** Pages that the server names, for a round at a time; null filters let all pass. */
  Revisits(List<DuePage> named, double perDay, long now, URLFilters filters) {
    this.perDay = perDay;
    this.now = now;
    this.filters = filters;
    named.forEach(page -> isThere.put(Answer.form(page.getUrl()), false));
  }

  /**
   * Asks the server, for twice as many as a round takes: some may not be in the database. None if no number a day is set, and
   * while the server is away.
   */
  static Optional<Revisits> ask(Session session, Configuration conf, long topN, long now, boolean isFiltered) {
    double perDay = conf.getDouble("linkscore.revisits.per.day", 0);
    if (perDay <= 0) {
      return Optional.empty();
    }
    URLFilters filters = isFiltered ? new URLFilters(conf) : null;
    return session
        .rankRevisits((int) Math.min(MAX_NAMED, 2 * Math.min(topN, MAX_NAMED)))
        .map(named -> new Revisits(named, perDay, now, filters));
  }

  /** Counts a URL of the database; whether no round has it already. */
  void add(Text url, CrawlDatum datum, boolean isFree) {
    spent = Math.max(spent, Again.spent(datum));
    if (isFree && Again.isKnown(datum)) {
      isThere.computeIfPresent(Answer.form(url.toString()), (form, was) -> passes(url.toString()));
    }
  }

  private boolean passes(String url) {
    try {
      return filters == null || filters.filter(url) != null;
    } catch (URLFilterException e) {
      return true; // as in Nutch's generator
    }
  }

  /** Takes the best pages that were counted, at most so many. */
  Again take(long most) {
    List<String> due = isThere.keySet().stream().filter(isThere::get).collect(Collectors.toList());
    double since = spent == Long.MIN_VALUE ? Math.max(DAY_MS, DAY_MS / perDay) : now - spent; // first for a day, or one page
    int taken = (int) Math.max(0, Math.min(Math.min(most, due.size()), since * perDay / DAY_MS));
    double until = taken == due.size() ? now : now - since + taken * DAY_MS / perDay;
    return new Again(due.subList(0, taken), now, (long) until);
  }
}
