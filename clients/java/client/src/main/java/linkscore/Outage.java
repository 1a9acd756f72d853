package linkscore;

import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Whether the server is away, and what is done about it. While it is, a thread of its own asks it now and then whether it
 * is back, and nothing else is asked of it. What it was not told waits, the oldest dropped beyond a bound of bytes, and is
 * sent when it is back, oldest first, beside the calls of the crawl.
 */
final class Outage implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("linkscore");

  static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  // Some thousand pages with their bodies: what a crawl fetches in an hour or so. Chosen, not measured.
  static final int MAX_BYTES = 64 << 20;

  // What the server does not answer in time though it answers questions is what keeps it from answering.
  private static final int MOST_TRIES = 3;

  // How long the end waits for what is being sent: as long as the clients of Go and Node.
  private static final Duration LAST_WORDS = Duration.ofSeconds(30);

  private final Runnable probe;
  private final Consumer<Boolean> changed;
  private final Duration firstPause;
  private final int maxBytes;
  private final Deque<Owed> owed = new ArrayDeque<>();
  private final ScheduledExecutorService thread =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread made = new Thread(task, "linkscore-outage");
            made.setDaemon(true);
            return made;
          });
  private volatile boolean away;
  private long bytes;
  private long since;
  private Duration pause; // before the next question

  /** A call that tells the server something, and throws {@link LinkscoreException} as long as it does not. */
  static final class Owed {
    private final int bytes;
    private final Runnable call;
    private int tries;

    Owed(int bytes, Runnable call) {
      this.bytes = bytes;
      this.call = call;
    }
  }

  /**
   * No outage yet.
   *
   * @param probe asks something cheap
   * @param changed is told whether the server is away, when that changes
   */
  Outage(Runnable probe, Consumer<Boolean> changed, Duration firstPause, int maxBytes) {
    this.probe = probe;
    this.changed = changed;
    this.firstPause = firstPause;
    this.maxBytes = maxBytes;
  }

  /** Whether no call should be made. */
  boolean isAway() {
    return away;
  }

  /** Keeps a call for later if the server is away; says whether it is. */
  synchronized boolean keep(Owed call) {
    if (away) {
      owed.add(call);
      bytes += call.bytes;
      while (bytes > maxBytes) {
        oldest();
      }
    }
    return away;
  }

  /** Notes that a call met an outage; null for one that told the server nothing. */
  synchronized void met(LinkscoreException why, Owed call) {
    if (!away && !thread.isShutdown()) {
      away = true;
      since = System.nanoTime();
      Duration asked = why.retryAfter().compareTo(LONGEST_PAUSE) < 0 ? why.retryAfter() : LONGEST_PAUSE;
      pause = asked.compareTo(firstPause) > 0 ? asked : firstPause;
      String what = "pages wait for it, and links go on by what links like them were last worth";
      LOG.log(Level.WARNING, "linkscore: the server does not answer ({0}): {1}", why.getMessage(), what);
      changed.accept(true);
      askLater();
    }
    if (call != null) {
      keep(call);
    }
  }

  /** Ends it: a server that is there by now is told what waits, as far as it takes no longer than a few seconds. */
  @Override
  public void close() {
    try {
      thread.submit(() -> away && tryAgain()).get(LAST_WORDS.toMillis(), TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.log(Level.WARNING, "linkscore: the end of the outage", e);
    }
    thread.shutdownNow();
    synchronized (this) {
      if (!owed.isEmpty()) {
        LOG.log(Level.WARNING, "linkscore: pages and rewards that the server was never told of: {0}", owed.size());
      }
    }
  }

  private void askLater() {
    thread.schedule(
        () -> {
          if (away && !tryAgain()) {
            waitLonger();
          }
        },
        pause.toNanos(),
        TimeUnit.NANOSECONDS);
  }

  private synchronized void waitLonger() {
    pause = pause.multipliedBy(2).compareTo(LONGEST_PAUSE) < 0 ? pause.multipliedBy(2) : LONGEST_PAUSE;
    if (!thread.isShutdown()) {
      askLater();
    }
  }

  /** Asks whether the server is back, that is, answers and takes what waits longest; then tells it everything. */
  private boolean tryAgain() {
    try {
      probe.run();
    } catch (LinkscoreException e) {
      if (e.isOutage()) {
        return false;
      } // an answer too: the next call says what is wrong
    }
    if (tellOldest() != null) {
      return false;
    }
    synchronized (this) {
      away = false;
      changed.accept(false);
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - since);
      LOG.log(Level.INFO, "linkscore: the server answers again after {0} s; {1} pages are sent now", seconds, owed.size());
    }
    while (!away && isOwing()) {
      LinkscoreException outage = tellOldest();
      if (outage != null) {
        met(outage, null);
      }
    }
    return true;
  }

  private synchronized boolean isOwing() {
    return !owed.isEmpty();
  }

  /** Makes the oldest call; returns the outage that it met, if it did. A refusal is an answer, after which it is over. */
  private LinkscoreException tellOldest() {
    Owed oldest = oldest();
    try {
      if (oldest != null) {
        oldest.call.run();
      }
    } catch (RuntimeException e) {
      LinkscoreException why = LinkscoreException.from(e);
      if (why.isOutage()) {
        putBack(oldest, why.code() == Status.Code.DEADLINE_EXCEEDED);
        return why;
      }
    }
    return null;
  }

  private synchronized Owed oldest() {
    Owed oldest = owed.poll();
    bytes -= oldest == null ? 0 : oldest.bytes;
    return oldest;
  }

  private synchronized void putBack(Owed call, boolean isLate) {
    call.tries += isLate ? 1 : 0;
    if (call.tries < MOST_TRIES) {
      owed.addFirst(call);
      bytes += call.bytes;
    }
  }
}
