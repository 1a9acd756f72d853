package linkscore.stormcrawler;

import java.util.Date;
import java.util.Optional;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.persistence.DefaultScheduler;
import org.apache.stormcrawler.persistence.Status;

/**
 * The simple way to order a crawl: a link's first fetch date says what its bucket was worth when it was found, best
 * earliest. All these dates are of January 1970, so that nothing waits. The order of links that wait stays as it was
 * when they were found; {@code linkscore frontier} has them in today's order.
 *
 * <p>Other dates are those of StormCrawler's default scheduler.
 */
public final class LinkscoreScheduler extends DefaultScheduler {
  // As the URLFRONTIER encoding of the contract: seconds 1 to 1,000,001, and behind them what has no value.
  private static final long STEPS = 1_000_000;
  private static final long UNSCORED = STEPS + 2;
  private static final long MISSED = STEPS + 3;

  @Override
  public Optional<Date> schedule(Status status, Metadata metadata) {
    return status == Status.DISCOVERED
        ? Optional.of(new Date(1000 * seconds(metadata)))
        : super.schedule(status, metadata);
  }

  private static long seconds(Metadata metadata) {
    String value = metadata.getFirstValue(Keys.VALUE);
    if (value == null) {
      return metadata.getFirstValue(Keys.BUCKET) == null ? UNSCORED : MISSED;
    }
    return 1 + Math.round((1 - Double.parseDouble(value)) * STEPS);
  }
}
