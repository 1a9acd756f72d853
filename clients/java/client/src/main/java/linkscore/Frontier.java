package linkscore;

import com.google.protobuf.ByteString;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;

/**
 * A queue of URLs in memory that gives the best first: one first-in-first-out queue a bucket, and one for URLs the
 * server does not know, which go before all others when they are seeds and after them when they are not. A URL is taken
 * once. Call {@link #done} when one that was taken is answered: what is under way counts when the next is chosen. Safe for
 * use by many threads; it grows with the URLs that wait.
 */
public final class Frontier {
  // How many buckets a URL that was found several times may wait in at once.
  private static final int MAX_PLACES = 4;

  private final Planner planner;
  private final int every;
  private final ReentrantLock turn = new ReentrantLock(); // of those who ask: each knows what those before it took
  private final Map<String, Deque<Item>> queues = new LinkedHashMap<>();
  private final Map<String, Double> values = new HashMap<>();
  private final Map<String, Item> waiting = new HashMap<>();
  private final Deque<Item> seeds = new ArrayDeque<>();
  private final Deque<Item> unknown = new ArrayDeque<>();
  private long numbers;
  private int since;

  /** Links that wait in each bucket, links that were taken from each and are not done, and all that are not done. */
  private final Map<String, Integer> live = new HashMap<>();

  private final Map<String, Integer> underWay = new HashMap<>();
  private int taken;

  /** What the server handed out and nobody took yet, whether that was less than there was place for. */
  private Map<String, Integer> left = Map.of();

  private boolean isShort;
  private boolean news; // something is done since it was asked

  /** An empty frontier that asks for the order of its buckets before every n-th {@link #next}. */
  public Frontier(Session session, int n) {
    this((waiting, inFlight, places) -> session.planBuckets(waiting, inFlight, places, false), n);
  }

  Frontier(Planner planner, int n) {
    this.planner = planner;
    this.every = Math.max(1, n);
  }

  /** Asks the server: links that wait, links under way, places; none while it is away. */
  interface Planner {
    Optional<Plan> plan(Map<String, Integer> waiting, Map<String, Integer> inFlight, int places);
  }

  /** Lets a URL wait ahead of every scored one. */
  public synchronized void addSeed(String url) {
    if (!waiting.containsKey(url)) {
      seeds.add(made(url));
    }
  }

  /** Lets a URL that the server said nothing about wait behind every scored one. */
  public synchronized void addUnknown(String url) {
    if (!waiting.containsKey(url)) {
      unknown.add(made(url));
    }
  }

  /** Lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too. */
  public synchronized void add(Link link) {
    add(link.url(), link.bucket(), link.bucketValue(), link.ticket());
  }

  synchronized void add(String url, String bucket, double value, ByteString ticket) {
    Item item = waiting.get(url);
    if (item == null) {
      item = made(url);
    }
    if (item.places.size() >= MAX_PLACES || item.places.containsKey(bucket)) {
      return;
    }
    item.places.put(bucket, new Place(++numbers, ticket));
    queues.computeIfAbsent(bucket, name -> new ArrayDeque<>()).add(item);
    live.merge(bucket, 1, Integer::sum);
    values.putIfAbsent(bucket, value);
  }

  /** Counts the URLs that wait. */
  public synchronized int size() {
    return waiting.size();
  }

  /**
   * Takes the URL to fetch now. There is none if none waits, or if none should be fetched before the next answer; then some
   * URL that was taken is not done. While the server is away the last order known is kept.
   */
  public Optional<Item> next() {
    turn.lock();
    try {
      rank();
      return take();
    } finally {
      turn.unlock();
    }
  }

  /** Notes that what became of a URL that was taken is known to the server, or never will be. */
  public synchronized void done(Item item) {
    news = true;
    taken--;
    if (item.from != null) {
      count(underWay, item.from, -1);
    }
  }

  /** Asks which buckets come next, without the lock: links may be added meanwhile. */
  private void rank() {
    Map<String, Integer> waiting = new LinkedHashMap<>();
    Map<String, Integer> inFlight = new HashMap<>();
    if (!isDue(waiting, inFlight)) {
      return;
    }
    Optional<Plan> plan = planner.plan(waiting, inFlight, every);
    int waits = waiting.values().stream().mapToInt(Integer::intValue).sum();
    synchronized (this) {
      plan.ifPresent(now -> values.putAll(now.values()));
      left = plan.map(now -> new HashMap<>(now.urls())).orElseGet(HashMap::new);
      isShort = plan.isPresent() && plan.get().isShort(Math.min(every, waits));
    }
  }

  /** Says what is to be asked, if it is time: every few URLs, and after each answer while places are empty. */
  private synchronized boolean isDue(Map<String, Integer> waiting, Map<String, Integer> inFlight) {
    since++;
    boolean nothingNew = isShort && !news && taken > 0;
    if ((since < every && !isShort) || nothingNew || live.isEmpty()) {
      return false;
    }
    since = 0;
    news = false;
    live.keySet().stream()
        .sorted(Comparator.comparingLong(bucket -> first(queues.get(bucket)).number(bucket)))
        .forEach(bucket -> waiting.put(bucket, live.get(bucket)));
    inFlight.putAll(underWay);
    return true;
  }

  private synchronized Optional<Item> take() {
    Item item = first(seeds);
    if (item == null) {
      item = best(bucket -> left.getOrDefault(bucket, 0) > 0);
    }
    if (item == null && isShort && taken > 0) {
      return Optional.empty();
    }
    if (item == null) {
      item = best(bucket -> true);
    }
    if (item == null) {
      item = first(unknown);
    }
    if (item != null) {
      leave(item);
    }
    return Optional.ofNullable(item);
  }

  private void leave(Item item) {
    item.taken = true;
    taken++;
    waiting.remove(item.url);
    item.places.keySet().forEach(bucket -> count(live, bucket, -1));
    if (item.from != null) {
      item.ticket = item.places.get(item.from).ticket;
      count(underWay, item.from, 1);
      left.computeIfPresent(item.from, (bucket, n) -> n > 1 ? n - 1 : null);
    }
  }

  /** The URL that came first into the buckets that are worth most among those that may go. */
  private Item best(Predicate<String> mayGo) {
    Item best = null;
    String from = null;
    for (Iterator<Map.Entry<String, Deque<Item>>> it = queues.entrySet().iterator(); it.hasNext(); ) {
      var queue = it.next();
      Item head = first(queue.getValue());
      if (head == null) {
        it.remove();
      } else if (mayGo.test(queue.getKey()) && (best == null || isBetter(queue.getKey(), head, from, best))) {
        best = head;
        from = queue.getKey();
      }
    }
    if (best != null) {
      best.from = from;
    }
    return best;
  }

  private boolean isBetter(String bucket, Item head, String other, Item itsHead) {
    int worth = Double.compare(values.get(bucket), values.get(other));
    return worth > 0 || (worth == 0 && head.number(bucket) < itsHead.number(other));
  }

  private static void count(Map<String, Integer> counts, String bucket, int more) {
    counts.merge(bucket, more, (a, b) -> a + b > 0 ? a + b : null);
  }

  /** What is at the head of a queue, after what was taken from another one is dropped. */
  private static Item first(Deque<Item> queue) {
    while (!queue.isEmpty() && queue.peek().taken) {
      queue.remove();
    }
    return queue.peek();
  }

  private Item made(String url) {
    Item item = new Item(url);
    waiting.put(url, item);
    return item;
  }

  /** That of a URL in a bucket: its number among all places there were, and the ticket for the way it was found by. */
  private static final class Place {
    private final long number;
    private final ByteString ticket;

    private Place(long number, ByteString ticket) {
      this.number = number;
      this.ticket = ticket;
    }
  }

  /** A URL that waited to be fetched. */
  public static final class Item {
    private final String url;
    private final Map<String, Place> places = new HashMap<>(2); // by the bucket it waits in
    private ByteString ticket = ByteString.EMPTY;
    private boolean taken;
    private String from; // bucket it was taken from, null if from none

    private Item(String url) {
      this.url = url;
    }

    private long number(String bucket) {
      return places.get(bucket).number;
    }

    /** What to fetch. */
    public String url() {
      return url;
    }

    /** What goes back with the page: the ticket of the bucket it was taken from. */
    public ByteString ticket() {
      return ticket;
    }
  }
}
