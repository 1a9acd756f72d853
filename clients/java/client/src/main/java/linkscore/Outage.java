package linkscore;

import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import linkscore.Backlog.Kept;
import linkscore.v1.Feedback;
import linkscore.v1.Page;

/**
 * Whether the server is away, and what is done about it. While it is, a thread of its own asks it now and then whether it
 * is back, and nothing else is asked of it. What it was not told waits in a {@link Backlog}, and is sent when it is back,
 * a page a call, beside the calls of the crawl.
 */
final class Outage implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("linkscore");

  static final Duration FIRST_PAUSE = Duration.ofSeconds(1);
  private static final Duration LONGEST_PAUSE = Duration.ofSeconds(5);

  private static final int SLICE_REWARDS = 500;

  // A page the server does not answer though it answers questions is what keeps it from answering.
  private static final int MOST_TRIES = 3;

  /** How long {@link #close} waits for what is being sent: as long as the clients of Go and Node. */
  private static final Duration LAST_WORDS = Duration.ofSeconds(30);

  private final Server server;
  private final Runnable back;
  private final Duration firstPause;
  private final Backlog backlog;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition closing = lock.newCondition();
  private Thread thread; // null unless the server is away or is being told what it missed
  private volatile boolean away;
  private volatile int over;
  private boolean closed;
  private long since;
  private volatile Duration pause; // before the next question

  /** What is asked of a server; each call throws {@link LinkscoreException}. */
  interface Server {
    /** Asks something cheap. */
    void probe();

    Result ingest(Page page);

    void feedback(List<Feedback> rewards);
  }

  /**
   * No outage yet.
   *
   * @param back what is done when the server is back and knows everything
   */
  Outage(Server server, Runnable back, Duration firstPause, int maxBytes) {
    this.server = server;
    this.back = back;
    this.firstPause = firstPause;
    this.backlog = new Backlog(maxBytes);
  }

  /** Whether no call should be made. */
  boolean isAway() {
    return away;
  }

  /** Counts the outages that are over; see {@link #met}. */
  int over() {
    return over;
  }

  /** Keeps a page for later if the server is away; says whether it is. */
  boolean keep(Kept page) {
    return keep(() -> backlog.add(page));
  }

  /** Keeps what a page was worth, as {@link #keep(Kept)}. */
  boolean keep(Feedback reward) {
    return keep(() -> backlog.add(reward));
  }

  private boolean keep(Runnable adds) {
    lock.lock();
    try {
      if (away) {
        adds.run();
      }
      return away;
    } finally {
      lock.unlock();
    }
  }

  /**
   * Notes that a call met an outage.
   *
   * @param before {@link #over} when the call began: one that began in an outage that is over says nothing of today
   * @param page what it wanted to tell, sent when the server is back; null for nothing
   */
  void met(LinkscoreException why, int before, Kept page) {
    lock.lock();
    try {
      if (before == over) {
        leave(why);
      }
      if (page != null) {
        backlog.add(page);
      }
      if (thread == null && !closed && (away || page != null)) {
        thread = new Thread(this::untilBack, "linkscore-outage");
        thread.setDaemon(true);
        thread.start();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Ends it: a server that is there by now is told what waits, as far as it takes no longer than a few seconds. */
  @Override
  public void close() {
    Thread running;
    lock.lock();
    try {
      closed = true;
      closing.signalAll();
      running = thread;
    } finally {
      lock.unlock();
    }
    try {
      if (running != null && running != Thread.currentThread()) {
        running.join(LAST_WORDS.toMillis());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    int left = locked(backlog::size);
    if (left > 0) {
      LOG.log(Level.WARNING, "linkscore: pages that the server was never told of: {0}", left);
    }
  }

  private void leave(LinkscoreException why) {
    if (away) {
      return;
    }
    away = true;
    since = System.nanoTime();
    pause = longer(firstPause, shorter(why.retryAfter(), LONGEST_PAUSE));
    String what = why.isDiskFull() ? "the server's disk is full" : "the server does not answer (" + why.getMessage() + ")";
    LOG.log(
        Level.WARNING, "linkscore: {0}: pages wait for it, and links go on by what links like them were last worth", what);
  }

  private void untilBack() {
    do {
      while (away) {
        boolean isLast = isClosedAfter(pause);
        pause = shorter(pause.multipliedBy(2), LONGEST_PAUSE);
        tryAgain();
        if (away && isLast) {
          return;
        }
      }
      tellAll();
    } while (!isOver());
  }

  private boolean isClosedAfter(Duration pause) {
    lock.lock();
    try {
      long left = pause.toNanos();
      while (!closed && left > 0) {
        left = closing.awaitNanos(left);
      }
      return closed;
    } catch (InterruptedException e) {
      return true;
    } finally {
      lock.unlock();
    }
  }

  /** Asks whether the server is back: it answers, and takes a page if one waits. */
  private void tryAgain() {
    try {
      server.probe();
    } catch (LinkscoreException e) {
      if (e.isOutage()) {
        return;
      } // an answer too: the next call says what is wrong
    }
    if (!tellAPage()) {
      return;
    }
    lock.lock();
    try {
      away = false;
      over++;
      long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - since);
      LOG.log(
          Level.INFO,
          "linkscore: the server answers again after {0} s; {1} pages are sent now",
          seconds,
          backlog.size());
    } finally {
      lock.unlock();
    }
  }

  /** Sends what waits, until the server is away again, and says then that it knows everything. */
  private void tellAll() {
    while (!locked(backlog::isEmpty)) {
      if (!tellAPage() || !tellRewards()) {
        return;
      }
    }
    back.run();
  }

  /** Sends the oldest page; false if the server is away. */
  private boolean tellAPage() {
    Kept first = locked(backlog::first);
    if (first == null) {
      return true;
    }
    Result result;
    try {
      result = server.ingest(first.page);
    } catch (LinkscoreException e) {
      boolean isPoison = e.code() == Status.Code.DEADLINE_EXCEEDED && ++first.tries >= MOST_TRIES;
      return isRefusal(e, isPoison ? () -> {} : () -> backlog.putBack(first));
    }
    first.later.accept(result);
    return true;
  }

  private boolean tellRewards() {
    List<Feedback> slice = locked(() -> backlog.rewards(SLICE_REWARDS));
    if (slice.isEmpty()) {
      return true;
    }
    try {
      server.feedback(slice);
      return true;
    } catch (LinkscoreException e) {
      return isRefusal(e, () -> backlog.putBackRewards(slice));
    }
  }

  /** Whether the server answered, if with a refusal; after an outage what was not sent waits again. */
  private boolean isRefusal(LinkscoreException why, Runnable putBack) {
    if (!why.isOutage()) {
      return true; // what comes next may not be refused
    }
    lock.lock();
    try {
      putBack.run();
      leave(why);
    } finally {
      lock.unlock();
    }
    return false;
  }

  /** Ends the thread, if nothing came meanwhile. */
  private boolean isOver() {
    return locked(
        () -> {
          if (away || !backlog.isEmpty()) {
            return false;
          }
          thread = null;
          return true;
        });
  }

  private static Duration longer(Duration a, Duration b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static Duration shorter(Duration a, Duration b) {
    return a.compareTo(b) <= 0 ? a : b;
  }

  private <T> T locked(Supplier<T> part) {
    lock.lock();
    try {
      return part.get();
    } finally {
      lock.unlock();
    }
  }
}
