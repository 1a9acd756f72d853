package linkscore;

import com.google.protobuf.ByteString;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A queue of URLs in memory that gives the best first: seeds, then one first-in-first-out queue a bucket, then URLs the
 * server does not know. A URL is taken once. Call {@link #done} when one that was taken is answered: what is under way
 * counts when the next is chosen. Of a crawl with a budget it gives no URL beyond it, see {@link Session#stopped}. While the
 * server is away links go on by the rule of outages (docs/reference/clients.md). Safe for use by many threads.
 */
public final class Frontier {
  // How many buckets a URL that was found several times may wait in at once.
  private static final int MAX_PLACES = 4;

  private final Session session;
  private final ReentrantLock turn = new ReentrantLock(); // of those who ask: each knows what those before it took
  private final Map<String, Item> waiting = new HashMap<>();
  private final Bucket seeds = new Bucket("", 0);
  private final Bucket unknown = new Bucket("", 0);
  private final Map<String, Bucket> buckets = new LinkedHashMap<>(); // those that are not empty
  private final Map<String, Integer> inFlight = new HashMap<>();
  private int taken; // and not done
  private long numbers;
  private String granted; // the bucket that the server says to take from now
  private boolean isShort; // it granted none, and that is how it is until something is done

  /** An empty frontier. */
  public Frontier(Session session) {
    this.session = session;
  }

  /** What waits in a bucket: URLs that are scored, and behind them those that are guessed to belong there. */
  private static final class Bucket {
    private final String name; // empty of what the server does not know
    private final Set<Item> scored = new LinkedHashSet<>();
    private final Set<Item> guessed = new LinkedHashSet<>();
    private double value;

    private Bucket(String name, double value) {
      this.name = name;
      this.value = value;
    }

    private Item head() {
      return (scored.isEmpty() ? guessed : scored).iterator().next();
    }

    private long age() {
      return head().places.get(this).number;
    }

    private int size() {
      return scored.size() + guessed.size();
    }
  }

  /** That of a URL in a bucket: its number among all there were, and the ticket it was given there. */
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
    private final Map<Bucket, Place> places = new HashMap<>(2); // of each bucket it waits in
    private ByteString ticket;
    private boolean isUnscored; // where it waits was guessed
    private String from; // bucket it was taken from

    private Item(String url) {
      this.url = url;
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

  /** Lets a URL wait ahead of every scored one. */
  public synchronized void addSeed(String url) {
    if (!waiting.containsKey(url)) {
      place(made(url), seeds, ByteString.EMPTY);
    }
  }

  /** Lets a URL wait that was found while the server is away, where links of its shape went last, or behind all others. */
  public synchronized void addUnscored(String url) {
    if (waiting.containsKey(url)) {
      return;
    }
    Item item = made(url);
    item.isUnscored = true;
    place(item, session.guess(url).map(like -> bucket(like.bucket, like.value)).orElse(unknown), ByteString.EMPTY);
  }

  /** Lets a scored link wait in its bucket. One that waits already, found again elsewhere, waits there too. */
  public synchronized void add(Link link) {
    Item item = waiting.containsKey(link.url) ? waiting.get(link.url) : made(link.url);
    if (item.isUnscored) { // what was guessed counts no longer
      leave(item);
      item.isUnscored = false;
    }
    Bucket there = buckets.get(link.bucket);
    if (item.places.size() < MAX_PLACES && (there == null || !item.places.containsKey(there))) {
      place(item, bucket(link.bucket, link.bucketValue), link.ticket);
    }
  }

  private Item made(String url) {
    Item item = new Item(url);
    waiting.put(url, item);
    return item;
  }

  private Bucket bucket(String name, double value) {
    return buckets.computeIfAbsent(name, made -> new Bucket(made, value));
  }

  private void place(Item item, Bucket bucket, ByteString ticket) {
    item.places.put(bucket, new Place(++numbers, ticket));
    (item.isUnscored ? bucket.guessed : bucket.scored).add(item);
  }

  /** Takes an item out of all queues. */
  private void leave(Item item) {
    for (Bucket bucket : item.places.keySet()) {
      bucket.scored.remove(item);
      bucket.guessed.remove(item);
      if (bucket.size() == 0) {
        buckets.remove(bucket.name);
      }
    }
    item.places.clear();
  }

  /** Counts the URLs that wait. */
  public synchronized int size() {
    return waiting.size();
  }

  /**
   * Takes the URL to fetch now. There is none if none waits, if the budget is spent, or if none should be fetched before the
   * next answer; then some URL that was taken is not done.
   */
  public Optional<Item> next() {
    turn.lock();
    try {
      if (isFull()) {
        return Optional.empty();
      }
      Map<String, Integer> counts = new LinkedHashMap<>();
      Map<String, Integer> underWay = new HashMap<>();
      if (isDue(counts, underWay)) { // without the lock of the queues: links may be added meanwhile
        heed(session.planBuckets(counts, underWay, 1, false));
      }
      return take();
    } finally {
      turn.unlock();
    }
  }

  private synchronized boolean isFull() {
    return !waiting.isEmpty() && session.isFull(taken, seeds.size() > 0);
  }

  /** Says what is to be asked, the bucket of the oldest link first. */
  private synchronized boolean isDue(Map<String, Integer> counts, Map<String, Integer> underWay) {
    buckets.values().stream()
        .sorted(Comparator.comparingLong(Bucket::age))
        .forEach(bucket -> counts.put(bucket.name, bucket.size()));
    underWay.putAll(inFlight);
    return !isShort && !counts.isEmpty();
  }

  private synchronized void heed(Optional<Crawl.Plan> plan) {
    plan.ifPresent(now -> buckets.values().forEach(b -> b.value = now.values.getOrDefault(b.name, b.value)));
    granted = plan.flatMap(now -> now.urls.keySet().stream().findFirst()).orElse(null);
    isShort = plan.isPresent() && granted == null && taken > 0;
  }

  private synchronized Optional<Item> take() {
    Bucket from = seeds;
    if (seeds.size() == 0) {
      from = buckets.isEmpty() ? unknown : buckets.getOrDefault(granted, best());
    }
    if (from.size() == 0 || (isShort && from != seeds)) {
      return Optional.empty();
    }
    Item item = from.head();
    item.from = from.name;
    item.ticket = item.places.get(from).ticket;
    if (!from.name.isEmpty()) {
      inFlight.merge(from.name, 1, Integer::sum);
      session.outlook.taken(from.name);
    }
    leave(item);
    waiting.remove(item.url);
    taken++;
    return Optional.of(item);
  }

  /** The bucket that is worth most; of equal ones that of the oldest link. */
  private Bucket best() {
    Map<Bucket, Double> worth = new HashMap<>();
    buckets.values().forEach(bucket -> worth.put(bucket, session.outlook.worth(bucket.name, bucket.value)));
    return worth.keySet().stream()
        .max(Comparator.<Bucket>comparingDouble(worth::get).thenComparing(Bucket::age, Comparator.reverseOrder()))
        .orElseThrow();
  }

  /** Notes that what became of a URL that was taken is known to the server, or never will be. */
  public synchronized void done(Item item) {
    isShort = false;
    taken--;
    inFlight.computeIfPresent(item.from, (bucket, n) -> n > 1 ? n - 1 : null);
  }
}
