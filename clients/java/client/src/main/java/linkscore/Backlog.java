package linkscore;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import linkscore.v1.Feedback;
import linkscore.v1.Page;

/**
 * What a server that is away has yet to be told: pages in the order they were fetched, up to so many bytes, of which the
 * oldest are dropped first, and what pages were worth. Not safe for use by many threads.
 */
final class Backlog {
  // Some thousand pages with their bodies: what a crawl fetches in an hour or so. Chosen, not measured.
  static final int MAX_BYTES = 64 << 20;

  private static final int MAX_REWARDS = 10_000;

  private final Deque<Kept> pages = new ArrayDeque<>();
  private final Deque<Feedback> rewards = new ArrayDeque<>();
  private final int maxBytes;
  private long bytes;

  Backlog(int maxBytes) {
    this.maxBytes = maxBytes;
  }

  /** A page, and who wants to know what the server says of it. */
  static final class Kept {
    final Page page;
    final Consumer<Result> later;

    /** How often the server answered a question, and then not this page. */
    int tries;

    Kept(Page page, Consumer<Result> later) {
      this.page = page;
      this.later = later;
    }
  }

  void add(Kept page) {
    pages.add(page);
    bytes += page.page.getSerializedSize();
    while (bytes > maxBytes) {
      first();
    }
  }

  void add(Feedback reward) {
    rewards.add(reward);
    if (rewards.size() > MAX_REWARDS) {
      rewards.remove();
    }
  }

  /** Takes the oldest page; null without one. */
  Kept first() {
    Kept oldest = pages.poll();
    bytes -= oldest == null ? 0 : oldest.page.getSerializedSize();
    return oldest;
  }

  /** Puts back what was taken and not sent. */
  void putBack(Kept page) {
    pages.addFirst(page);
    bytes += page.page.getSerializedSize();
  }

  /** Takes the oldest rewards. */
  List<Feedback> rewards(int most) {
    List<Feedback> slice = new ArrayList<>();
    while (!rewards.isEmpty() && slice.size() < most) {
      slice.add(rewards.remove());
    }
    return slice;
  }

  void putBackRewards(List<Feedback> slice) {
    for (int i = slice.size() - 1; i >= 0; i--) {
      rewards.addFirst(slice.get(i));
    }
  }

  int size() {
    return pages.size();
  }

  boolean isEmpty() {
    return pages.isEmpty() && rewards.isEmpty();
  }
}
