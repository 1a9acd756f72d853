package linkscore;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import linkscore.v1.Decision;
import linkscore.v1.Feedback;
import linkscore.v1.Page;
import linkscore.v1.PageResult;

/**
 * What a crawler's plugin needs of a crawl: calls that are left out while the server is away instead of stopping the
 * crawler, and counts of what became of them. The crawl is made at the first call, and again if the server lost it.
 *
 * <p>What a server that is away was not told waits, up to 64 MiB, and is sent when it is back, beside the crawl. Meanwhile
 * {@link #guess} says what links were last worth. The log {@code linkscore} has start, end, each minute and each outage.
 */
public final class Session implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("linkscore");
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(1);
  private static final int MOST_REFUSALS = 20; // that are logged, each once

  // Some thousand pages with their bodies: what a crawl fetches in an hour or so. Chosen, as the tries and the last seconds.
  private static final long MAX_BYTES = 64 << 20;
  private static final int MOST_TRIES = 3;
  private static final long LAST_WORDS_S = 30;
  private static final long LONGEST_PAUSE_MS = 5_000;
  private static final Set<String> KEYS =
      Set.of(
          "target", "crawl", "policy", "wanted", "budget", "examples", "timeout.ms", "token.file", "tls.ca", "required");
  private static final Map<Decision, String> STOPS =
      Map.of(
          Decision.DECISION_STOP_YIELD, "linkscore_yield",
          Decision.DECISION_STOP_COVERED, "linkscore_covered",
          Decision.DECISION_STOP_BUDGET, "linkscore_budget");

  /** Pages the server took, failed fetches and rewards reported to it. */
  public final LongAdder pages = new LongAdder();

  public final LongAdder failed = new LongAdder();
  public final LongAdder rewards = new LongAdder();

  /** Links that had a score, that the server did not see on their page, and that came while it was away. */
  public final LongAdder scored = new LongAdder();

  public final LongAdder missed = new LongAdder();
  public final LongAdder fallback = new LongAdder();

  private final Outlook outlook = new Outlook();
  private final Client client;
  private final String id;
  private final linkscore.v1.Crawl config;
  private final Duration firstPause; // until the first probe of an outage
  private final Deque<Owed> owed = new ArrayDeque<>();
  private final ScheduledThreadPoolExecutor beside =
      new ScheduledThreadPoolExecutor(1, Session::thread, new ThreadPoolExecutor.DiscardPolicy());
  private long bytes; // of what is owed
  private int dropped; // calls that fell out, or were given up
  private volatile boolean away;
  private long since;
  private final Set<String> refusals = ConcurrentHashMap.newKeySet(); // what calls were refused with, as far as the log says
  private final AtomicBoolean made = new AtomicBoolean();
  private volatile boolean revisits;
  private volatile long heeded; // event of the answer that said last whether the crawl has stopped
  private volatile String stopped = "";
  private volatile String why = "";

  /**
   * A session of a crawl of an id, through a client that it closes in the end.
   *
   * @param config policy, wanted, budget, examples; null leaves all to the server, or as it is
   */
  public Session(Client client, String id, linkscore.v1.Crawl config) {
    this(client, id, config, Duration.ofSeconds(1));
  }

  Session(Client client, String id, linkscore.v1.Crawl config, Duration firstPause) {
    this.client = client;
    this.id = id;
    this.config = config;
    this.firstPause = firstPause;
    beside.scheduleWithFixedDelay(() -> LOG.log(Level.INFO, "linkscore: {0}", this), 1, 1, TimeUnit.MINUTES);
  }

  private static Thread thread(Runnable work) {
    Thread thread = new Thread(work, "linkscore-outage");
    thread.setDaemon(true);
    return thread;
  }

  /** A call that tells the server something, and throws {@link LinkscoreException} as long as it does not. */
  private static final class Owed {
    private final int bytes;
    private final Runnable call;
    private int tries;

    private Owed(int bytes, Runnable call) {
      this.bytes = bytes;
      this.call = call;
    }
  }

  /**
   * A session by a crawler's own configuration, of which these are all keys that begin with {@code linkscore.}, without
   * that: {@code target} (localhost:7411), {@code crawl}, {@code policy} (the server's), {@code wanted} (a query), {@code
   * budget} (none; {@code max_fetches=5000 enough_coverage=0.95}), {@code examples} (URLs, or URL=FILE, with blanks between),
   * {@code timeout.ms} (10000), {@code token.file} and {@code tls.ca} (none; a PEM file, or {@code system}), {@code
   * required} (false; true asks the server now).
   *
   * @param crawl its id unless the configuration says another
   * @param own further keys, which the crawler's plugin reads
   * @throws IllegalArgumentException a key is unknown or a value cannot be used, the server says so too; the message names it
   * @throws LinkscoreException the server is required and does not answer
   */
  public static Session configured(String crawl, Map<String, String> settings, String... own) {
    for (String key : settings.keySet()) {
      if (!KEYS.contains(key) && !List.of(own).contains(key)) {
        throw new IllegalArgumentException("linkscore." + key + ": no such setting, there are " + new TreeSet<>(KEYS));
      }
    }
    var client = Settings.read(settings, "target", Client::to).orElseGet(() -> Client.to("localhost:7411"));
    Settings.read(settings, "timeout.ms", ms -> client.timeout(Duration.ofMillis(Long.parseLong(ms))));
    Settings.read(settings, "token.file", file -> client.tokenFile(Path.of(file)));
    var config = linkscore.v1.Crawl.newBuilder();
    Settings.read(settings, "budget", text -> config.setBudget(Settings.budget(text)));
    Settings.read(settings, "policy", name -> config.setPolicy(Settings.policy(name)));
    Settings.read(settings, "wanted", query -> config.getWantedBuilder().addQueries(query));
    Settings.read(settings, "examples", texts -> config.addAllExamples(Settings.examples(texts)));
    boolean required = Settings.read(settings, "required", Settings::truth).orElse(false);
    var connected = Settings.read(settings, "tls.ca", file -> client.tls(file.equals("system") ? null : Path.of(file)).connect());
    Session session = new Session(connected.orElseGet(client::connect), Settings.read(settings, "crawl", name -> name).orElse(crawl), config.build());
    try {
      session.make();
    } catch (LinkscoreException e) { // one that is away does not matter, unless it is required
      if (required || e.isRefusal()) {
        session.close();
        throw e.isRefusal() ? new IllegalArgumentException(named(e), e) : e;
      }
      session.note(e, null);
    }
    return session;
  }

  /** Says in a line which key of a configuration the server refuses. */
  private static String named(LinkscoreException e) {
    if (e.isOutage()) {
      return "linkscore.tls.ca: does not fit the server at linkscore.target: " + e.root().getMessage();
    }
    if (e.code == Status.Code.UNAUTHENTICATED || e.code == Status.Code.PERMISSION_DENIED) {
      return "linkscore.token.file: " + e.getMessage();
    }
    if (e.violations.isEmpty()) {
      return "linkscore.crawl: " + e.getMessage();
    }
    var violation = e.violations.get(0);
    String[] field = violation.getField().replaceFirst("^crawl\\.", "").split("(?=[.\\[])", 2);
    String key = field[0].equals("name") ? "crawl" : field[0];
    return "linkscore." + key + ": " + (field.length > 1 ? field[1].substring(1) + " " : "") + violation.getDescription();
  }

  /**
   * Sends a page, or a fetch that brought none (no body); its answer, none while the server is away or if it refuses the
   * page. A page of an outage is sent when the server is back. A page that may be sent twice needs an event id of its own.
   */
  public Optional<PageResult> ingest(Page page) {
    Page sent = Crawl.completed(page);
    boolean came = page.hasBody() || page.getNotModified();
    outlook.fetched(page.getUrl(), came);
    Function<Crawl, PageResult> call =
        crawl -> {
          PageResult result = crawl.ingest(sent);
          LinkscoreException.check(result.getStatus());
          outlook.learn(Link.of(result));
          (came ? pages : failed).increment();
          if (result.hasStanding()) {
            heed(result.getEventSeq(), result.getStanding().getDecision(), result.getStanding().getReason());
          }
          return result;
        };
    return call(call, sent.getSerializedSize());
  }

  /** Reports a fetch that brought no page, as {@link Crawl#failed}. */
  public void failed(String url, int status, String reason, ByteString ticket) {
    ingest(Crawl.failure(url, status, reason, ticket));
  }

  /** Reports that a page is as it was (304), in a crawl with {@code revisit}: others would take it for one that failed. */
  public Optional<PageResult> unchanged(Page.Builder page) {
    if (!made.get()) {
      ask(crawl -> crawl);
    }
    return revisits ? ingest(page.setNotModified(true).build()) : Optional.empty();
  }

  /** Says what a page was worth, in [0, 1]; kept while the server is away. */
  public void reward(String url, ByteString ticket, double worth) {
    Feedback event = Crawl.worth(url, ticket, worth);
    Function<Crawl, Feedback> call =
        crawl -> {
          crawl.reward(event);
          rewards.increment();
          return event;
        };
    call(call, event.getSerializedSize());
  }

  /** Asks something, {@code crawl -> crawl.rankBuckets(...)} say; no answer while the server is away or if it refuses. */
  public <T> Optional<T> ask(Function<Crawl, T> question) {
    return call(question, 0);
  }

  /** Takes over what the server says of the crawl after an event: the latest, or a stop, as a server that lost it counts anew. */
  private synchronized void heed(long event, Decision decision, String sentence) {
    String stop = STOPS.getOrDefault(decision, "");
    if (!stop.isEmpty() && stopped.isEmpty()) {
      LOG.log(Level.INFO, "linkscore: the crawl has stopped, {0}: {1}", stop, sentence);
    }
    if (event >= heeded || !stop.isEmpty()) {
      heeded = Math.max(event, heeded);
      stopped = stop;
      why = sentence;
    }
  }

  /** Why the crawl ends: {@code linkscore_budget}, {@code linkscore_covered} or {@code linkscore_yield}; or empty. */
  public String stopped() {
    return stopped;
  }

  /** The same in a sentence. */
  public String whyStopped() {
    return why;
  }

  /** Asks the server whether the crawl has stopped, for a crawler that begins anew each round; then {@link #stopped}. */
  public String askStopped() {
    ask(Crawl::get).ifPresent(there -> heed(heeded, there.getCrawl().getDecision(), there.getCrawl().getDecisionReason()));
    return stopped;
  }

  /** Where links of the same shape were found last; none if there was no such link of late. */
  public Optional<Outlook.Guess> guess(String url) {
    return outlook.guess(url);
  }

  /** Whether the server is away, or has no room for pages. */
  public boolean isBroken() {
    return away;
  }

  /** The counts on one line, for a crawler's log. */
  @Override
  public String toString() {
    return String.format(
        "pages=%s failed=%s rewards=%s scored=%s missed=%s fallback=%s",
        pages, failed, rewards, scored, missed, fallback);
  }

  /** Ends it: a server that is there by now is told what waits, as far as it takes no longer than half a minute. */
  @Override
  public void close() {
    try {
      if (!beside.isShutdown()) {
        beside.submit(this::tryAgain).get(LAST_WORDS_S, TimeUnit.SECONDS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException e) {
      LOG.log(Level.DEBUG, "linkscore: the last call did not end well", e);
    }
    beside.shutdownNow();
    client.close();
    long all = scored.sum() + missed.sum() + fallback.sum();
    LOG.log(Level.INFO, "linkscore: {0} of {1} links scored; {2} not_sent={3}", scored.sum(), all, this, waits() + dropped);
  }

  /** Makes a call unless the server is away; one of some bytes tells it something, and is made again if it did not answer. */
  private <T> Optional<T> call(Function<Crawl, T> call, int bytes) {
    Owed again = bytes == 0 ? null : new Owed(bytes, () -> onceMoreIfLost(call));
    if (keep(again)) {
      return Optional.empty();
    }
    try {
      return Optional.of(onceMoreIfLost(call));
    } catch (LinkscoreException e) {
      note(e, again);
      return Optional.empty();
    }
  }

  private void note(LinkscoreException e, Owed again) {
    if (e.isOutage()) {
      met(e, again);
    } else if (e.code != Status.Code.CANCELLED && refusals.size() < MOST_REFUSALS && refusals.add(e.getMessage())) {
      LOG.log(Level.WARNING, "linkscore: the server refuses a call: {0}", e.getMessage());
    }
  }

  private <T> T onceMoreIfLost(Function<Crawl, T> call) {
    make();
    try {
      return call.apply(client.crawl(id));
    } catch (LinkscoreException e) {
      if (e.code != Status.Code.NOT_FOUND) {
        throw e;
      }
      return call.apply(client.ensureCrawl(id, config));
    }
  }

  private void make() {
    synchronized (made) { // not the lock of what waits: those who let a page wait do not wait for a server
      if (made.get()) {
        return;
      }
      var there = client.ensureCrawl(id, config).get();
      var served = there.getCrawl().getPolicy().getPolicyCase().name().toLowerCase(Locale.ROOT);
      made.set(true);
      revisits = there.getCrawl().hasRevisit();
      String text = "linkscore: server {0} at {1}, crawl {2}, policy {3}, pages of earlier runs: {4}";
      LOG.log(Level.INFO, text, there.getServerVersion(), client.target(), id, served, there.getCrawl().getPageCount());
    }
  }

  /** Asks for as little as it can; a crawl that the server lost is made by the next call. */
  private void probe() {
    client.reconnect();
    client.crawl(id).withTimeout(PROBE_TIMEOUT).get();
  }

  // The rule of outages (docs/reference/clients.md): after a call that met one none is made. Beside the crawl the server is
  // asked whether it is back, and what waits is sent, oldest first.

  /** Keeps a call for later if the server is away; says whether it is. */
  private synchronized boolean keep(Owed call) {
    if (away && call != null) {
      owed.add(call);
      bytes += call.bytes;
      while (bytes > MAX_BYTES) {
        bytes -= owed.remove().bytes;
        dropped++;
      }
    }
    return away;
  }

  /** Notes that a call met an outage; null for one that told the server nothing. */
  private synchronized void met(LinkscoreException why, Owed call) {
    boolean isNew = !away;
    away = true;
    keep(call);
    if (isNew && !beside.isShutdown()) {
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
      Optional<LinkscoreException> outage = failure(this::probe, refusal -> {}).or(this::tellOldest);
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
      oldest = owed.peek();
    }
    if (oldest == null) {
      return Optional.empty();
    }
    Optional<LinkscoreException> outage = failure(oldest.call, refusal -> note(refusal, null));
    boolean isLate = outage.filter(why -> why.code == Status.Code.DEADLINE_EXCEEDED).isPresent();
    oldest.tries += isLate ? 1 : 0;
    if (outage.isEmpty() || oldest.tries >= MOST_TRIES) {
      drop(oldest, outage.isEmpty());
    }
    return outage;
  }

  private synchronized void drop(Owed call, boolean isTold) {
    if (owed.remove(call)) {
      bytes -= call.bytes;
      dropped += isTold ? 0 : 1;
    }
  }

  /** The outage that a call meets, or the end of the session; none if it is refused, which is an answer. */
  private Optional<LinkscoreException> failure(Runnable call, Consumer<LinkscoreException> refused) {
    try {
      call.run();
    } catch (RuntimeException e) {
      LinkscoreException why = LinkscoreException.from(e);
      if (why.isOutage() || beside.isShutdown()) {
        return Optional.of(why);
      }
      refused.accept(why);
    }
    return Optional.empty();
  }
}
