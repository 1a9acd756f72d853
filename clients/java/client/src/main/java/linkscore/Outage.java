package linkscore;

import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/**
 * Whether the server is away, and what it was not told meanwhile. A thread asks now and then whether it is back; then what
 * waits is sent, oldest first, beside the calls of the crawl: the rule of outages in docs/reference/clients.md.
 */
final class Outage implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("linkscore");

  static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final long LONGEST_PAUSE_MS = 5_000;

  // Some thousand pages with their bodies: what a crawl fetches in an hour or so. Chosen, as the tries and the last seconds.
  static final int MAX_BYTES = 64 << 20;
  private static final int MOST_TRIES = 3;
  private static final long LAST_WORDS_S = 30;

  private final Runnable probe;
  private final Consumer<LinkscoreException> refused;
  private final Duration firstPause;
  private final int maxBytes;
  private final Deque<Owed> owed = new ArrayDeque<>();
  private final ScheduledThreadPoolExecutor beside =
      new ScheduledThreadPoolExecutor(1, Outage::thread, new ThreadPoolExecutor.DiscardPolicy());
  private long bytes;
  private int dropped; // calls that fell out, or were given up
  private volatile boolean away;
  private long since;

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

  /** {@code probe} asks something cheap, {@code refused} hears what the server refused of what waited. */
  Outage(Runnable probe, Consumer<LinkscoreException> refused, Duration firstPause, int maxBytes) {
    this.probe = probe;
    this.refused = refused;
    this.firstPause = firstPause;
    this.maxBytes = maxBytes;
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "linkscore-outage");
    thread.setDaemon(true);
    return thread;
  }

  boolean isAway() {
    return away;
  }

  /** Keeps a call for later if the server is away; says whether it is. */
  synchronized boolean keep(Owed call) {
    if (away && call != null) {
      owed.add(call);
      bytes += call.bytes;
      while (bytes > maxBytes) {
        bytes -= owed.remove().bytes;
        dropped++;
      }
    }
    return away;
  }

  /** Notes that a call met an outage; null for one that told the server nothing. */
  synchronized void met(LinkscoreException why, Owed call) {
    boolean isNew = !away;
    away = true;
    keep(call);
    if (isNew) {
      since = System.nanoTime();
      String what = "pages wait for it, and links go on by what links like them were last worth";
      LOG.log(Level.WARNING, "linkscore: the server does not answer ({0}): {1}", why.getMessage(), what);
      askIn(firstPause.toMillis(), why);
    }
  }

  private void askIn(long pause, LinkscoreException why) {
    long wait = Math.min(Math.max(pause, why.retryAfter.toMillis()), LONGEST_PAUSE_MS);
    Runnable ask = () -> tryAgain().ifPresent(still -> askIn(2 * wait, still));
    beside.schedule(ask, wait, TimeUnit.MILLISECONDS);
  }

  /** Asks whether the server is back, and tells it everything then; the outage, if it goes on. */
  private Optional<LinkscoreException> tryAgain() {
    if (away) {
      Optional<LinkscoreException> outage = failure(probe, refusal -> {}).or(this::tellOldest);
      if (outage.isPresent()) {
        return outage;
      }
      back();
    }
    while (!away && waits() > 0) {
      tellOldest().ifPresent(outage -> met(outage, null));
    }
    return Optional.empty();
  }

  private synchronized int waits() {
    return owed.size();
  }

  private synchronized void back() {
    away = false;
    long seconds = Duration.ofNanos(System.nanoTime() - since).toSeconds();
    LOG.log(Level.INFO, "linkscore: the server answers again after {0} s; {1} pages are sent now", seconds, owed.size());
  }

  /** Makes the oldest call; returns the outage that it met, if it did. */
  private Optional<LinkscoreException> tellOldest() {
    Owed oldest;
    synchronized (this) {
      oldest = owed.poll();
      bytes -= oldest == null ? 0 : oldest.bytes;
    }
    Optional<LinkscoreException> outage = oldest == null ? Optional.empty() : failure(oldest.call, refused);
    outage.ifPresent(why -> putBack(oldest, why));
    return outage;
  }

  private synchronized void putBack(Owed call, LinkscoreException why) {
    call.tries += why.code == Status.Code.DEADLINE_EXCEEDED ? 1 : 0;
    if (call.tries >= MOST_TRIES) {
      dropped++;
    } else {
      owed.addFirst(call);
      bytes += call.bytes;
    }
  }

  /** The outage that a call meets; none if it is refused, which is an answer. */
  private static Optional<LinkscoreException> failure(Runnable call, Consumer<LinkscoreException> refused) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LinkscoreException why = LinkscoreException.from(e);
      if (why.isOutage()) {
        return Optional.of(why);
      }
      refused.accept(why);
    }
    return Optional.empty();
  }

  /** Ends it: a server that is there by now is told what waits, as far as it takes no longer than half a minute. */
  @Override
  public void close() {
    if (beside.isShutdown()) {
      return;
    }
    try {
      beside.submit(this::tryAgain).get(LAST_WORDS_S, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.log(Level.DEBUG, "linkscore: the last call did not end well", e);
    }
    beside.shutdownNow();
    int untold = waits() + dropped;
    if (untold > 0) {
      LOG.log(Level.WARNING, "linkscore: pages and rewards that the server was never told of: {0}", untold);
    }
  }
}
