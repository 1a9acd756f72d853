package linkscore.stormcrawler;

import java.util.Date;
import java.util.Optional;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.persistence.DefaultScheduler;
import org.apache.stormcrawler.persistence.Status;

/**
 * The simple way to order a crawl: a link's first fetch date says what its bucket was worth when it was found, best
 * earliest, in January 1970, so that nothing waits. A page that was fetched has the date that the server gave it, in a crawl
 * with {@code revisit}; others, and pages that are as they were (304), that of StormCrawler's default scheduler.
 */
public final class LinkscoreScheduler extends DefaultScheduler {
  // As the URLFRONTIER encoding of the contract: seconds 1 to 1,000,001, and behind them what has no value.
  private static final long STEPS = 1_000_000;
  private static final long UNSCORED = STEPS + 2;
  private static final long MISSED = STEPS + 3;

  @Override
  public Optional<Date> schedule(Status status, Metadata metadata) {
    if (status == Status.DISCOVERED) {
      return Optional.of(new Date(1000 * seconds(metadata)));
    }
    String next = metadata.getFirstValue(LinkscoreFilter.NEXT);
    return status == Status.FETCHED && next != null && !LinkscoreFilter.isUnchanged(metadata)
        ? Optional.of(new Date(1000 * Long.parseLong(next)))
        : super.schedule(status, metadata);
  }

  private static long seconds(Metadata metadata) {
    String value = metadata.getFirstValue(LinkscoreFilter.VALUE);
    if (value == null) {
      return metadata.getFirstValue(LinkscoreFilter.BUCKET) == null ? UNSCORED : MISSED;
    }
    return 1 + Math.round((1 - Double.parseDouble(value)) * STEPS);
  }
}
