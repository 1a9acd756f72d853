package linkscore;

import com.google.protobuf.ByteString;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import linkscore.v1.CandidateLink;

/**
 * A queue of URLs in memory that gives the best first: one first-in-first-out queue a bucket, and one for URLs the
 * server does not know, which go before all others when they are seeds and after them when they are not. A URL is taken
 * once. Call {@link #done} when one that was taken is answered: what is under way counts when the next is chosen. Safe for
 * use by many threads; it grows with the URLs that wait.
 *
 * <p>Of a crawl with a budget it gives no URL beyond it, those under way counted, and none once the crawl has stopped; see
 * {@link Session#stopped}.
 *
 * <p>While the server is away a bucket keeps the value it had, less with every URL that is taken from it, and the less the
 * more were taken before. What {@link #addUnscored} brings waits where links of its shape went last, behind those that are
 * scored. When the server is back, such URLs are scored.
 */
public final class Frontier {
  // How many buckets a URL that was found several times may wait in at once.
  private static final int MAX_PLACES = 4;

  // While the server is away, the value of a bucket counts half after so many URLs, for each that was taken before and
  // one more. Measured with all adapters (docs/reference/clients.md, rule 8).
  private static final double TRUST = 16;

  // Links that are scored in one call.
  private static final int SLICE = 500;

  private final Planner planner;
  private final int every;
  private final ReentrantLock turn = new ReentrantLock(); // of those who ask: each knows what those before it took
  private final Map<String, Deque<Item>> queues = new LinkedHashMap<>();
  private final Map<String, Double> values = new HashMap<>();
  private final Map<String, Item> waiting = new LinkedHashMap<>();
  private final Deque<Item> seeds = new ArrayDeque<>();
  private final Deque<Item> unknown = new ArrayDeque<>();

  /** URLs that wait in a bucket by a guess, behind those that are scored. */
  private final Map<String, Deque<Item>> guessed = new LinkedHashMap<>();

  /** How many URLs were taken from each bucket: until the server went away, and since; null if it is not. */
  private final Map<String, Integer> proven = new HashMap<>();

  private Map<String, Integer> since;

  /** How many of each coarse shape were taken since the server went away: links of one kind may be in a bucket each. */
  private final Map<String, Integer> sinceOfShape = new HashMap<>();

  private long numbers;
  private int asked; // URLs ago

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
    this(
        new Planner() {
          @Override
          public Optional<Plan> plan(Map<String, Integer> waiting, Map<String, Integer> inFlight, int places) {
            return session.planBuckets(waiting, inFlight, places, false);
          }

          @Override
          public Optional<Guess> guess(String url) {
            return session.guess(url);
          }

          @Override
          public double odds(String shape) {
            return session.odds(shape);
          }

          @Override
          public int pagesOf(String shape) {
            return session.pagesOf(shape);
          }

          @Override
          public Optional<List<Link>> score(List<CandidateLink> links) {
            return session.score(links);
          }

          @Override
          public boolean isFull(int underWay, boolean hasSeeds) {
            return session.isFull(underWay, hasSeeds);
          }
        },
        n);
    session.onBack(this::scoreTheRest);
  }

  Frontier(Planner planner, int n) {
    this.planner = planner;
    this.every = Math.max(1, n);
  }

  /** Asks the server: links that wait, links under way, places; none while it is away. */
  interface Planner {
    Optional<Plan> plan(Map<String, Integer> waiting, Map<String, Integer> inFlight, int places);

    /** What a link is probably worth. */
    default Optional<Guess> guess(String url) {
      return Optional.empty();
    }

    /** How far a URL of a coarse shape can be expected to bring a page. */
    default double odds(String shape) {
      return 1;
    }

    default int pagesOf(String shape) {
      return 0;
    }

    /** Scores links; none while it is away. */
    default Optional<List<Link>> score(List<CandidateLink> links) {
      return Optional.empty();
    }

    /** Whether the budget lets no fetch begin beside those under way. */
    default boolean isFull(int underWay, boolean hasSeeds) {
      return false;
    }
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

  /**
   * Lets a URL wait that was found while the server is away, where links of its shape went last, or behind every scored
   * one. When the server is back it is scored by itself, if its page was not until then.
   */
  public synchronized void addUnscored(String url) {
    if (waiting.containsKey(url)) {
      return;
    }
    Item item = made(url);
    item.isUnscored = true;
    Optional<Guess> guess = planner.guess(url);
    guess.ifPresentOrElse(
        as -> place(guessed, item, as.bucket(), as.value(), ByteString.EMPTY), () -> unknown.add(item));
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
    if (item.isUnscored) { // what was guessed counts no longer
      item.isUnscored = false;
      item.places.keySet().forEach(this::leave);
      item.places.clear();
    }
    place(queues, item, bucket, value, ticket);
  }

  private void place(Map<String, Deque<Item>> queues, Item item, String bucket, double value, ByteString ticket) {
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
   * Takes the URL to fetch now. There is none if none waits, if the budget is spent, or if none should be fetched before the
   * next answer; then some URL that was taken is not done. While the server is away the last order known is kept.
   */
  public Optional<Item> next() {
    turn.lock();
    try {
      if (isFull()) {
        return Optional.empty();
      }
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

  private synchronized boolean isFull() {
    return !waiting.isEmpty() && planner.isFull(taken, first(seeds) != null);
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
      noteWhetherAway(plan.isEmpty());
      left = plan.map(now -> new HashMap<>(now.urls())).orElseGet(HashMap::new);
      isShort = plan.isPresent() && plan.get().isShort(Math.min(every, waits));
    }
  }

  private void noteWhetherAway(boolean away) {
    if (away && since == null) {
      since = new HashMap<>();
    } else if (!away && since != null) {
      since.forEach((bucket, n) -> proven.merge(bucket, n, Integer::sum));
      since = null;
      sinceOfShape.clear();
    }
  }

  /** Says what is to be asked, if it is time: every few URLs, and after each answer while places are empty. */
  private synchronized boolean isDue(Map<String, Integer> waiting, Map<String, Integer> inFlight) {
    asked++;
    boolean nothingNew = isShort && !news && taken > 0;
    if ((asked < every && !isShort) || nothingNew || live.isEmpty()) {
      return false;
    }
    asked = 0;
    news = false;
    live.keySet().stream()
        .sorted(Comparator.comparingLong(bucket -> head(bucket).number(bucket)))
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
    item.places.keySet().forEach(this::leave);
    if (item.from != null) {
      item.ticket = item.places.get(item.from).ticket;
      count(underWay, item.from, 1);
      count(since == null ? proven : since, item.from, 1);
      if (since != null) {
        count(sinceOfShape, item.shape(), 1);
      }
      left.computeIfPresent(item.from, (bucket, n) -> n > 1 ? n - 1 : null);
    }
  }

  private void leave(String bucket) {
    count(live, bucket, -1);
    if (!live.containsKey(bucket)) {
      queues.remove(bucket);
      guessed.remove(bucket);
    }
  }

  /** The URL that came first into the buckets that are worth most among those that may go. */
  private Item best(Predicate<String> mayGo) {
    Item best = null;
    String from = null;
    for (String bucket : live.keySet()) {
      Item head = mayGo.test(bucket) ? head(bucket) : null;
      if (head != null && (best == null || isBetter(bucket, head, from, best))) {
        best = head;
        from = bucket;
      }
    }
    if (best != null) {
      best.from = from;
    }
    return best;
  }

  /** What goes next of a bucket: a URL that is scored, if there is one. */
  private Item head(String bucket) {
    Item scored = head(queues, bucket, false);
    return scored == null ? head(guessed, bucket, true) : scored;
  }

  /** The head of the queue of a bucket, after what was taken or waits elsewhere by now is dropped. */
  private static Item head(Map<String, Deque<Item>> queues, String bucket, boolean isGuess) {
    Deque<Item> queue = queues.get(bucket);
    if (queue == null) {
      return null;
    }
    while (!queue.isEmpty() && (queue.peek().taken || queue.peek().isUnscored != isGuess)) {
      queue.remove();
    }
    return queue.peek();
  }

  private boolean isBetter(String bucket, Item head, String other, Item itsHead) {
    int worth = Double.compare(value(bucket, head), value(other, itsHead));
    return worth > 0 || (worth == 0 && head.number(bucket) < itsHead.number(other));
  }

  /** What a bucket is worth as far as it is known. */
  private double value(String bucket, Item head) {
    double known = values.get(bucket);
    if (since == null) {
      return known;
    }
    double half = TRUST * (1 + Math.max(proven.getOrDefault(bucket, 0), planner.pagesOf(head.shape())));
    int taken = Math.max(since.getOrDefault(bucket, 0), sinceOfShape.getOrDefault(head.shape(), 0));
    return known * half / (half + taken) * planner.odds(head.shape());
  }

  /** Has what was found while the server was away scored by itself, as far as it still waits. */
  private void scoreTheRest() {
    List<CandidateLink> links = unscored();
    for (int from = 0; from < links.size(); from += SLICE) {
      List<CandidateLink> slice = links.subList(from, Math.min(from + SLICE, links.size()));
      planner.score(slice).ifPresent(scored -> scored.forEach(this::addIfItWaits));
    }
  }

  private synchronized List<CandidateLink> unscored() {
    return waiting.values().stream()
        .filter(item -> item.isUnscored)
        .map(item -> CandidateLink.newBuilder().setUrl(item.url).build())
        .collect(Collectors.toList());
  }

  private synchronized void addIfItWaits(Link link) {
    if (link.usable() && waiting.containsKey(link.url())) {
      add(link);
    }
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
    private String shape; // the coarse one, once somebody asked
    private boolean taken;
    private boolean isUnscored; // where it waits was guessed
    private String from; // bucket it was taken from, null if from none

    private Item(String url) {
      this.url = url;
    }

    private long number(String bucket) {
      return places.get(bucket).number;
    }

    private String shape() {
      if (shape == null) {
        shape = Shapes.of(url)[1];
      }
      return shape;
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
