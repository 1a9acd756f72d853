package linkscore;

import com.google.protobuf.ByteString;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;

/**
 * A queue of URLs in memory that gives the best first: one first-in-first-out queue a bucket, and one for URLs the
 * server does not know, which go before all others when they are seeds and after them when they are not. A URL is taken
 * once. Safe for use by many threads; it grows with the URLs that wait.
 */
public final class Frontier {
  // How many buckets a URL that was found several times may wait in at once.
  private static final int MAX_PLACES = 4;

  private final Function<Collection<String>, Optional<Map<String, Double>>> rank;
  private final int every;
  private final Map<String, Deque<Item>> queues = new LinkedHashMap<>();
  private final Map<String, Double> values = new HashMap<>();
  private final Map<String, Item> waiting = new HashMap<>();
  private final Deque<Item> seeds = new ArrayDeque<>();
  private final Deque<Item> unknown = new ArrayDeque<>();
  private long numbers;
  private int since;

  /** An empty frontier that asks for the order of its buckets before every n-th {@link #next}. */
  public Frontier(Session session, int n) {
    this(session::rankBuckets, n);
  }

  Frontier(Function<Collection<String>, Optional<Map<String, Double>>> rank, int n) {
    this.rank = rank;
    this.every = Math.max(1, n);
  }

  /** Lets a URL wait ahead of every scored one. */
  public synchronized void addSeed(String url) {
    if (!waiting.containsKey(url)) {
      seeds.add(made(url, ByteString.EMPTY));
    }
  }

  /** Lets a URL that the server said nothing about wait behind every scored one. */
  public synchronized void addUnknown(String url) {
    if (!waiting.containsKey(url)) {
      unknown.add(made(url, ByteString.EMPTY));
    }
  }

  /** Lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too. */
  public synchronized void add(Link link) {
    add(link.url(), link.bucket(), link.bucketValue(), link.ticket());
  }

  synchronized void add(String url, String bucket, double value, ByteString ticket) {
    Item item = waiting.get(url);
    if (item == null) {
      item = made(url, ticket);
    }
    if (item.places.size() >= MAX_PLACES || item.places.contains(bucket)) {
      return;
    }
    item.places.add(bucket);
    queues.computeIfAbsent(bucket, name -> new ArrayDeque<>()).add(item);
    values.putIfAbsent(bucket, value);
  }

  /** Counts the URLs that wait. */
  public synchronized int size() {
    return waiting.size();
  }

  /** Takes the URL to fetch now; none if none waits. While the server is away the last order known is kept. */
  public Optional<Item> next() {
    List<String> due = due();
    if (!due.isEmpty()) { // outside the lock: links may be added meanwhile
      rank.apply(due).ifPresent(this::revalue);
    }
    return take();
  }

  private synchronized List<String> due() {
    if (++since < every || queues.size() < 2) {
      return List.of();
    }
    since = 0;
    return new ArrayList<>(queues.keySet());
  }

  private synchronized void revalue(Map<String, Double> now) {
    values.putAll(now);
  }

  private synchronized Optional<Item> take() {
    Item item = first(seeds);
    if (item == null) {
      item = best();
    }
    if (item == null) {
      item = first(unknown);
    }
    if (item != null) {
      item.taken = true;
      waiting.remove(item.url);
    }
    return Optional.ofNullable(item);
  }

  /** The oldest URL of the buckets that are worth most. */
  private Item best() {
    Item best = null;
    double worth = 0;
    for (Iterator<Map.Entry<String, Deque<Item>>> it = queues.entrySet().iterator(); it.hasNext(); ) {
      var queue = it.next();
      Item head = first(queue.getValue());
      if (head == null) {
        it.remove();
        continue;
      }
      double value = values.get(queue.getKey());
      if (best == null || value > worth || (value == worth && head.number < best.number)) {
        best = head;
        worth = value;
      }
    }
    return best;
  }

  /** What is at the head of a queue, after what was taken from another one is dropped. */
  private static Item first(Deque<Item> queue) {
    while (!queue.isEmpty() && queue.peek().taken) {
      queue.remove();
    }
    return queue.peek();
  }

  private Item made(String url, ByteString ticket) {
    Item item = new Item(url, ticket, ++numbers);
    waiting.put(url, item);
    return item;
  }

  /** A URL that waited to be fetched. */
  public static final class Item {
    private final String url;
    private final ByteString ticket;
    private final long number;
    private final List<String> places = new ArrayList<>(1);
    private boolean taken;

    private Item(String url, ByteString ticket, long number) {
      this.url = url;
      this.ticket = ticket;
      this.number = number;
    }

    /** What to fetch. */
    public String url() {
      return url;
    }

    /** What goes back with the page. */
    public ByteString ticket() {
      return ticket;
    }
  }
}
