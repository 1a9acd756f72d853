package linkscore.nutch;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import linkscore.Session;

/**
 * What buckets are worth now, each asked about once in a while: a task that generates a round values thousands of URLs of
 * a few hundred buckets. Nutch keeps a filter for as long as its configuration, beyond a task, so age says what is now.
 */
final class BucketValues {
  // Longer than it takes to generate a small round, shorter than it takes to fetch one. Chosen, not measured.
  private static final Duration FRESH = Duration.ofSeconds(5);

  private final Session session;
  private final LongSupplier nanoTime;
  private final Map<String, Asked> asked = new HashMap<>();

  BucketValues(Session session, LongSupplier nanoTime) {
    this.session = session;
    this.nanoTime = nanoTime;
  }

  /** The value of a bucket; none while the server is away. */
  synchronized Optional<Double> of(String bucket) {
    long now = nanoTime.getAsLong();
    Asked known = asked.get(bucket);
    if (known == null || now - known.at > FRESH.toNanos()) {
      known = new Asked(session.rankBuckets(List.of(bucket)).map(values -> values.get(bucket)), now);
      asked.put(bucket, known);
    }
    return known.value;
  }

  private static final class Asked {
    private final Optional<Double> value;
    private final long at;

    private Asked(Optional<Double> value, long at) {
      this.value = value;
      this.at = at;
    }
  }
}
