package linkscore;

import java.time.Duration;
import java.util.function.LongSupplier;

/**
 * Keeps a dead server from costing a deadline for every page: after an outage it lets no call through for a while, then
 * one, and all again once that one is answered. The wait doubles with every outage in a row.
 */
public final class Breaker {
  // Long enough that a dead server costs a crawl nothing, short enough that one that was restarted is noticed.
  private static final Duration FIRST_WAIT = Duration.ofSeconds(1);
  private static final Duration LONGEST_WAIT = Duration.ofMinutes(1);

  private final LongSupplier nanoTime;
  private Duration wait = Duration.ZERO;
  private long openUntil;
  private boolean probing;

  /** A breaker on the clock of this machine. */
  public Breaker() {
    this(System::nanoTime);
  }

  Breaker(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
  }

  /** Whether a call may be made now. Whoever is let through says how it ended by {@link #done}. */
  public synchronized boolean allows() {
    if (!isBroken()) {
      return true;
    }
    if (probing || nanoTime.getAsLong() - openUntil < 0) {
      return false;
    }
    probing = true;
    return true;
  }

  /** Notes how a call ended, null if it was answered. Only an outage opens the breaker. */
  public synchronized void done(LinkscoreException error) {
    if (error != null && error.isOutage()) {
      if (probing || !isBroken()) {
        wait = longer(shorter(LONGEST_WAIT, longer(FIRST_WAIT, wait.multipliedBy(2))), error.retryAfter());
        openUntil = nanoTime.getAsLong() + wait.toNanos();
      }
    } else if (error == null || error.code() != io.grpc.Status.Code.CANCELLED) { // which says nothing of the server
      wait = Duration.ZERO;
    }
    probing = false;
  }

  /** Whether the last answer was an outage. */
  public synchronized boolean isBroken() {
    return !wait.isZero();
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }
}
