package linkscore;

import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;

/**
 * Whether the server is away, and what it was not told meanwhile. A thread asks now and then whether it is back; then what
 * waits is sent, oldest first, beside the calls of the crawl: the rule of outages in docs/reference/clients.md.
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
  private final Consumer<LinkscoreException> refused;
  private final Duration firstPause;
  private final int maxBytes;
  private final Deque<Owed> owed = new ArrayDeque<>();
  private long bytes;
  private int dropped; // calls that fell out, or were given up
  private volatile LinkscoreException lost; // why the server is away; null if it is not
  private long since;
  private Thread thread; // that asks and sends, while there is something to do
  private boolean isClosed;

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

  /** {@code probe} asks something cheap, {@code changed} hears whether the server is away, {@code refused} what it refused. */
  Outage(
      Runnable probe, Consumer<Boolean> changed, Consumer<LinkscoreException> refused, Duration firstPause, int maxBytes) {
    this.probe = probe;
    this.changed = changed;
    this.refused = refused;
    this.firstPause = firstPause;
    this.maxBytes = maxBytes;
  }

  boolean isAway() {
    return lost != null;
  }

  /** Keeps a call for later if the server is away; says whether it is. */
  synchronized boolean keep(Owed call) {
    if (lost != null && call != null) {
      owed.add(call);
      bytes += call.bytes;
      while (bytes > maxBytes) {
        bytes -= owed.remove().bytes;
        dropped++;
      }
    }
    return lost != null;
  }

  /** Notes that a call met an outage; null for one that told the server nothing. */
  synchronized void met(LinkscoreException why, Owed call) {
    turn(why);
    keep(call);
    if (thread == null && !isClosed) {
      thread = new Thread(this::watch, "linkscore-outage");
      thread.setDaemon(true);
      thread.start();
    }
  }

  /** Ends it: a server that is there by now is told what waits, as far as it takes no longer than half a minute. */
  @Override
  public void close() {
    Thread last;
    synchronized (this) {
      isClosed = true;
      notifyAll();
      last = thread;
    }
    try {
      if (last != null) {
        last.join(LAST_WORDS.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      int untold = owed.size() + dropped;
      if (untold > 0) {
        LOG.log(Level.WARNING, "linkscore: pages and rewards that the server was never told of: {0}", untold);
      }
    }
  }

  /** Asks and sends until the server is there and knows all, or this was closed and it is not there. */
  private void watch() {
    Duration pause = firstPause;
    while (hasWork()) {
      LinkscoreException before = lost;
      LinkscoreException outage = null;
      if (before != null) {
        rest(Collections.max(List.of(pause, before.retryAfter())));
        pause = pause.multipliedBy(2);
        outage = failure(probe, refusal -> {});
      }
      if (outage == null) {
        outage = tellOldest();
      }
      if (outage != null || before != null) {
        turn(outage);
      }
      if (lost == null) {
        pause = firstPause;
      } else if (isClosed) {
        return;
      }
    }
  }

  private synchronized boolean hasWork() {
    if (lost == null && owed.isEmpty()) {
      thread = null;
    }
    return thread != null;
  }

  private synchronized void rest(Duration pause) {
    try {
      if (!isClosed) {
        wait(Collections.min(List.of(pause, LONGEST_PAUSE)).toMillis());
      }
    } catch (InterruptedException e) {
      isClosed = true;
    }
  }

  /** Notes that the server is away, or is there again: null. */
  private synchronized void turn(LinkscoreException why) {
    boolean wasAway = lost != null;
    lost = why;
    if (why != null && !wasAway) {
      since = System.nanoTime();
      String what = "pages wait for it, and links go on by what links like them were last worth";
      LOG.log(Level.WARNING, "linkscore: the server does not answer ({0}): {1}", why.getMessage(), what);
      changed.accept(true);
    } else if (why == null && wasAway) {
      changed.accept(false);
      long seconds = Duration.ofNanos(System.nanoTime() - since).toSeconds();
      LOG.log(Level.INFO, "linkscore: the server answers again after {0} s; {1} pages are sent now", seconds, owed.size());
    }
  }

  /** Makes the oldest call; returns the outage that it met, if it did. */
  private LinkscoreException tellOldest() {
    Owed oldest;
    synchronized (this) {
      oldest = owed.poll();
      bytes -= oldest == null ? 0 : oldest.bytes;
    }
    LinkscoreException outage = oldest == null ? null : failure(oldest.call, refused);
    if (outage != null) {
      oldest.tries += outage.code() == Status.Code.DEADLINE_EXCEEDED ? 1 : 0;
      putBack(oldest);
    }
    return outage;
  }

  private synchronized void putBack(Owed call) {
    if (call.tries >= MOST_TRIES) {
      dropped++;
      return;
    }
    owed.addFirst(call);
    bytes += call.bytes;
  }

  /** The outage that a call meets; none if it is refused, which is an answer. */
  private static LinkscoreException failure(Runnable call, Consumer<LinkscoreException> refused) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LinkscoreException why = LinkscoreException.from(e);
      if (why.isOutage()) {
        return why;
      }
      refused.accept(why);
    }
    return null;
  }
}
