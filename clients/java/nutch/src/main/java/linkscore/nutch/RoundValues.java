package linkscore.nutch;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongSupplier;
import linkscore.Session;

/**
 * What the links of a round are worth, in the order a task asks: the k-th of its bucket as if the others before it were
 * under way. So a round takes many links of a bucket that is known to be good, and few of each that little is known of.
 *
 * <p>The server is asked at 0, 1, 2, 4, 8, ... links of a bucket; those between count as the last one asked about, those
 * beyond the size of the round are not chosen anyway.
 */
final class RoundValues {
  // A pause between two links after which a new round begins: no task that generates waits so long from one link to the
  // next, and a round takes longer. Nutch keeps a filter beyond a task. Chosen, not measured.
  private static final Duration PAUSE = Duration.ofSeconds(5);

  private final Session session;
  private final long size;
  private final LongSupplier nanoTime;
  private final Map<String, Bucket> buckets = new HashMap<>();
  private long last;

  /** Values for rounds of so many links. */
  RoundValues(Session session, long size, LongSupplier nanoTime) {
    this.session = session;
    this.size = size;
    this.nanoTime = nanoTime;
    this.last = nanoTime.getAsLong();
  }

  /** The value of the next link of the bucket of a place; while the server is away what it was, less with each link. */
  synchronized double next(Place place) {
    String bucket = place.bucket;
    if (nanoTime.getAsLong() - last > PAUSE.toNanos()) {
      buckets.clear();
    }
    Bucket known = buckets.computeIfAbsent(bucket, name -> new Bucket());
    if (known.links < size && Long.bitCount(known.links) <= 1) { // none, or a power of two
      known.value = valued(bucket, known.links);
    }
    long before = known.links++;
    last = nanoTime.getAsLong(); // the wait for an answer is no pause
    return known.value.orElse(place.value * Waiting.TRUST / (Waiting.TRUST + before));
  }

  /** Begins a new round: what was learned since is asked for. */
  synchronized void renew() {
    buckets.clear();
  }

  private Optional<Double> valued(String bucket, long before) {
    Map<String, Integer> underWay = before == 0 ? Map.of() : Map.of(bucket, (int) before);
    return session.planBuckets(Map.of(bucket, 1), underWay, 0, true).map(plan -> plan.values().get(bucket));
  }

  private static final class Bucket {
    private long links;
    private Optional<Double> value = Optional.empty();
  }
}
