package linkscore;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import linkscore.Backlog.Kept;
import linkscore.v1.Budget;
import linkscore.v1.CandidateLink;
import linkscore.v1.DuePage;
import linkscore.v1.Feedback;
import linkscore.v1.ItemCode;
import linkscore.v1.ItemStatus;
import linkscore.v1.Page;
import linkscore.v1.PolicySpec;

/**
 * What a crawler's plugin needs of a crawl: calls that are left out while the server is away instead of stopping the
 * crawler, and counts of what became of them. The crawl is made at the first call, and again if the server lost it.
 *
 * <p>A server that is away is asked once a second, then every five, whether it is back, from a thread of the session. What
 * it was not told waits, up to 64 MiB, and is sent when it is back, beside the crawl. Meanwhile {@link #guess} says what
 * links of a shape were last worth. It logs how it goes by {@link System.Logger} {@code linkscore}: at the start and the
 * end, once a minute, and of each outage.
 */
public final class Session implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger("linkscore");
  private static final Duration LOG_EVERY = Duration.ofMinutes(1);

  // Long enough for a server at work, short enough to be asked again soon.
  private static final Duration PROBE_TIMEOUT = Duration.ofSeconds(1);

  /** Pages the server took, failed fetches and rewards reported to it. */
  public final LongAdder pages = new LongAdder();

  public final LongAdder failed = new LongAdder();
  public final LongAdder rewards = new LongAdder();

  /** Links that had a score, that the server did not see on their page, and that came while it was away. */
  public final LongAdder scored = new LongAdder();

  public final LongAdder missed = new LongAdder();
  public final LongAdder fallback = new LongAdder();

  private final Client client;
  private final String id;
  private final PolicySpec policy;
  private final Budget budget;
  private final Allowance allowance;
  private final Shapes shapes = new Shapes();
  private final List<Runnable> whenBack = new CopyOnWriteArrayList<>();
  private final Outage outage;
  private final AtomicLong said = new AtomicLong(System.nanoTime());
  private final AtomicBoolean saidStop = new AtomicBoolean();
  private volatile boolean made;
  private volatile boolean revisits;
  private volatile LinkscoreException refusal;
  private volatile String best = "none";

  /**
   * A session that makes its calls through a client, which it closes in the end.
   *
   * @param id of the crawl; two runs of one name share what was learned
   * @param policy null leaves it to the server
   */
  public Session(Client client, String id, PolicySpec policy) {
    this(client, id, policy, null);
  }

  /**
   * A session of a crawl that ends by itself: {@link #stopped} says why, and a {@link Frontier} gives no URL beyond it.
   *
   * @param policy null leaves it to the server
   * @param budget null leaves the one the crawl has, or none
   */
  public Session(Client client, String id, PolicySpec policy, Budget budget) {
    this(client, id, policy, budget, Outage.FIRST_PAUSE);
  }

  Session(Client client, String id, PolicySpec policy, Budget budget, Duration firstPause) {
    this.client = client;
    this.id = id;
    this.policy = policy;
    this.budget = budget;
    this.allowance = new Allowance(budget);
    this.outage =
        new Outage(
            new Asked(), () -> whenBack.forEach(Runnable::run), firstPause, Backlog.MAX_BYTES);
  }

  /**
   * A session by a crawler's own configuration: {@code linkscore.target} (localhost:7411), {@code linkscore.crawl}, {@code
   * linkscore.policy} (the server's), {@code linkscore.budget} (none; {@code max_fetches=5000 enough_coverage=0.95}),
   * {@code linkscore.timeout.ms} (10000), {@code linkscore.token.file} and {@code
   * linkscore.tls.ca} (none; a PEM file, or {@code system}), {@code linkscore.required} (false; true asks the server
   * now).
   *
   * @param crawl its id unless the configuration says another
   * @param setting gives the value of a key, null without one
   * @throws IllegalArgumentException a value cannot be used, the server says so too; the message names its key
   * @throws LinkscoreException the server is required and does not answer
   */
  public static Session configured(String crawl, UnaryOperator<String> setting) {
    UnaryOperator<String> said = key -> Optional.ofNullable(setting.apply(key)).orElse("").trim();
    String target = said.apply("linkscore.target");
    Budget budget;
    Client.Builder client;
    try {
      budget = Budgets.of(said.apply("linkscore.budget"));
      client = Client.to(target.isEmpty() ? "localhost:7411" : target);
    } catch (IllegalArgumentException e) {
      throw new IllegalArgumentException("linkscore." + e.getMessage(), e);
    }
    try {
      String timeout = said.apply("linkscore.timeout.ms");
      if (!timeout.isEmpty()) {
        client.timeout(Duration.ofMillis(Long.parseLong(timeout)));
      }
      String authority = said.apply("linkscore.tls.ca");
      if (authority.equals("system")) {
        client.tls();
      } else if (!authority.isEmpty()) {
        client.tls(Path.of(authority));
      }
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("linkscore.timeout.ms must be a whole number: " + e.getMessage(), e);
    } catch (IOException e) {
      throw new IllegalArgumentException("linkscore.tls.ca cannot be read: " + e.getMessage(), e);
    }
    String tokenFile = said.apply("linkscore.token.file");
    if (!tokenFile.isEmpty()) {
      client.tokenFile(Path.of(tokenFile));
    }
    String policy = said.apply("linkscore.policy");
    String id = said.apply("linkscore.crawl");
    PolicySpec spec = policy.isEmpty() ? null : Policies.named(policy);
    Session session = new Session(client.connect(), id.isEmpty() ? crawl : id, spec, budget);
    try {
      session.start(said.apply("linkscore.required").equals("true"));
    } catch (LinkscoreException e) {
      session.close();
      throw e.isRefusal() ? new IllegalArgumentException(session.named(e), e) : e;
    }
    return session;
  }

  /**
   * Makes the crawl. A server that is away does not matter, unless it is required.
   *
   * @throws LinkscoreException it refuses what was asked for: the crawl is not to begin
   */
  public void start(boolean required) {
    try {
      make();
    } catch (LinkscoreException e) {
      if (required || e.isRefusal()) {
        throw e;
      }
      if (e.isOutage()) {
        outage.met(e, outage.over(), null);
      } else {
        refuse(e);
      }
    }
  }

  /** Says in a line which key of a configuration the server refuses. */
  private String named(LinkscoreException e) {
    if (e.code() == Status.Code.UNAUTHENTICATED || e.code() == Status.Code.PERMISSION_DENIED) {
      return "linkscore.token.file: " + e.getMessage();
    }
    if (e.violations().isEmpty()) {
      return "linkscore.crawl: " + e.getMessage();
    }
    var violation = e.violations().get(0);
    String[] field = violation.field().replaceFirst("^crawl\\.", "").split("(?=[.\\[])", 2);
    String key = field[0].equals("name") ? "crawl" : field[0];
    return "linkscore." + key + ": " + (field.length > 1 ? field[1].substring(1) + " " : "") + violation.description();
  }

  /**
   * Sends a page, or a fetch that brought none (no body); its answer, none while the server is away or if it refuses the
   * page. A page of an outage is sent when the server is back. A page that may be sent twice needs an event id of its own.
   */
  public Optional<Result> ingest(Page page) {
    return ingest(page, result -> {});
  }

  /**
   * Sends a page, as {@link #ingest(Page)}.
   *
   * @param later is told the answer if there is none now, from another thread, when the server is back
   */
  public Optional<Result> ingest(Page page, Consumer<Result> later) {
    boolean came = page.hasBody() || page.getNotModified();
    LongAdder count = came ? pages : failed;
    allowance.begin();
    Kept sent =
        new Kept(
            Crawl.completed(page),
            result -> {
              count.increment();
              counted(result).ifPresent(later);
            });
    shapes.meet(page.getUrl());
    shapes.fetched(page.getUrl(), came, outage.isAway());
    if (outage.keep(sent)) {
      return Optional.empty();
    }
    var results = call(sent, crawl -> crawl.ingest(sent.page));
    results.ifPresent(result -> count.increment());
    return results.flatMap(this::counted);
  }

  /** Reports a fetch that brought no page, as {@link Crawl#failed}. */
  public void failed(String url, int status, String reason, ByteString ticket) {
    ingest(Crawl.failure(url, status, reason, ticket));
  }

  /**
   * Reports that a page is as it was (304), in a crawl with {@code revisit}. Others would take it for one that failed, so
   * that there nothing is sent.
   */
  public Optional<Result> unchanged(Page.Builder page) {
    if (!made) {
      call(null, crawl -> crawl);
    }
    return revisits ? ingest(page.setNotModified(true).build()) : Optional.empty();
  }

  /** Says what a page was worth, in [0, 1]; kept while the server is away. */
  public void reward(String url, ByteString ticket, double worth) {
    Feedback event = Crawl.worth(url, ticket, worth);
    if (!outage.keep(event) && call(null, crawl -> reported(crawl, List.of(event))).isEmpty()) {
      outage.keep(event);
    }
  }

  /** Scores links again, as {@link Crawl#score}; none while the server is away. */
  public Optional<List<Link>> score(List<CandidateLink> links) {
    return call(null, crawl -> crawl.score(links)).map(this::learned);
  }

  /** The value of each bucket now; none while the server is away. */
  public Optional<Map<String, Double>> rankBuckets(Collection<String> buckets) {
    return call(null, crawl -> crawl.rankBuckets(buckets)).map(this::noteBest);
  }

  /** What to fetch next, as {@link Crawl#planBuckets}; none while the server is away. */
  public Optional<Plan> planBuckets(
      Map<String, Integer> waiting, Map<String, Integer> inFlight, int n, boolean fill) {
    Optional<Plan> plan = call(null, crawl -> crawl.planBuckets(waiting, inFlight, n, fill));
    plan.ifPresent(now -> noteBest(now.values()));
    return plan;
  }

  /** The known pages to fetch again, as {@link Crawl#rankRevisits}; none while the server is away or if it refuses. */
  public Optional<List<DuePage>> rankRevisits(int most) {
    return call(null, crawl -> crawl.rankRevisits(most));
  }

  /**
   * Whether the budget of the crawl lets no fetch begin beside those that were begun and are not ingested yet. If it says so
   * of none the crawl has ended. {@link Frontier#next} asks by itself.
   *
   * @param hasSeeds whether start pages wait: they may be of a site that has not stopped
   */
  public boolean isFull(int underWay, boolean hasSeeds) {
    return allowance.isFull(underWay, hasSeeds);
  }

  /**
   * Why the crawl ends by its budget: {@code linkscore_budget}, {@code linkscore_covered} or {@code linkscore_yield}; empty
   * while it goes on.
   */
  public String stopped() {
    return allowance.reason();
  }

  /** The same in a sentence. */
  public String whyStopped() {
    return allowance.why();
  }

  /** Asks the server whether the crawl has stopped, for a crawler that begins anew each round; then {@link #stopped}. */
  public String askStopped() {
    call(null, Crawl::get)
        .ifPresent(there -> allowance.heed(there.getCrawl().getDecision(), there.getCrawl().getDecisionReason()));
    return stopped();
  }

  /** What the last new link of the same shape was worth when it was scored; none if there was no such link of late. */
  public Optional<Guess> guess(String url) {
    return shapes.guess(url);
  }

  /** How far a URL of this shape can be expected to bring a page, in [0, 1]. */
  double odds(String shape) {
    return shapes.odds(shape);
  }

  int pagesOf(String shape) {
    return shapes.pages(shape);
  }

  /** Does something each time the server is back and was told what it missed, from a thread of the session. */
  public void onBack(Runnable then) {
    whenBack.add(then);
  }

  /** Whether the server is away, or has no room for pages. */
  public boolean isBroken() {
    return outage.isAway();
  }

  /** What the server last refused a call for, which a plugin may want to log; null if it refused none. */
  public LinkscoreException refusal() {
    return refusal;
  }

  /** The counts on one line, for a crawler's log. */
  @Override
  public String toString() {
    return String.format(
        "pages=%s failed=%s rewards=%s scored=%s missed=%s fallback=%s",
        pages, failed, rewards, scored, missed, fallback);
  }

  @Override
  public void close() {
    outage.close();
    client.close();
    long all = scored.sum() + missed.sum() + fallback.sum();
    LOG.log(Level.INFO, "linkscore: {0} of {1} links scored; {2}", scored.sum(), all, this);
  }

  private <T> Optional<T> call(Kept page, Function<Crawl, T> call) {
    if (outage.isAway()) {
      return Optional.empty();
    }
    sayHowItGoes();
    int before = outage.over();
    try {
      return Optional.of(onceMoreIfLost(call));
    } catch (LinkscoreException e) {
      if (e.isOutage()) {
        outage.met(e, before, page);
      } else if (e.code() != Status.Code.CANCELLED) { // which says nothing of the server
        refuse(e);
      }
      return Optional.empty();
    }
  }

  private void refuse(LinkscoreException e) {
    if (refusal == null) {
      LOG.log(Level.WARNING, "linkscore: the server refuses a call: {0}", e.getMessage());
    }
    refusal = e;
  }

  private <T> T onceMoreIfLost(Function<Crawl, T> call) {
    if (!made) {
      make();
    }
    try {
      return call.apply(client.crawl(id));
    } catch (LinkscoreException e) {
      if (e.code() != Status.Code.NOT_FOUND) {
        throw e;
      }
      return call.apply(client.ensureCrawl(id, policy, budget));
    }
  }

  private synchronized void make() {
    if (made) {
      return;
    }
    var there = client.ensureCrawl(id, policy, budget).get();
    made = true;
    revisits = there.getCrawl().hasRevisit();
    LOG.log(
        Level.INFO,
        "linkscore: server {0} at {1}, crawl {2}, policy {3}",
        there.getServerVersion(),
        client.target(),
        id,
        there.getCrawl().getPolicy().getPolicyCase().name().toLowerCase(Locale.ROOT));
  }

  private void sayHowItGoes() {
    long last = said.get();
    long now = System.nanoTime();
    if (now - last > LOG_EVERY.toNanos() && said.compareAndSet(last, now)) {
      LOG.log(Level.INFO, "linkscore: {0}; best bucket {1}", this, best);
    }
  }

  private Map<String, Double> noteBest(Map<String, Double> values) {
    values.entrySet().stream()
        .max(Map.Entry.comparingByValue())
        .ifPresent(entry -> best = String.format("%s (%.2f)", entry.getKey(), entry.getValue()));
    return values;
  }

  private List<Link> learned(List<Link> links) {
    shapes.learn(links);
    return links;
  }

  private Optional<Result> usable(Result result) {
    learned(result.links());
    return result.status().getCode() == ItemCode.ITEM_CODE_INVALID ? Optional.empty() : Optional.of(result);
  }

  /** Counts a fetch that the server knows now, unless it refused it: then the budget has to count it for ever. */
  private Optional<Result> counted(Result result) {
    if (result.status().getCode() != ItemCode.ITEM_CODE_INVALID) {
      allowance.take(result.message());
    }
    if (!stopped().isEmpty() && saidStop.compareAndSet(false, true)) {
      LOG.log(Level.INFO, "linkscore: the crawl has stopped, {0}: {1}", stopped(), whyStopped());
    }
    return usable(result);
  }

  private Boolean reported(Crawl crawl, List<Feedback> events) {
    List<ItemStatus> statuses = crawl.feedback(events);
    rewards.add(statuses.stream().filter(status -> status.getCode() != ItemCode.ITEM_CODE_INVALID).count());
    if (events.size() == 1) {
      LinkscoreException.check(statuses.get(0));
    }
    return true;
  }

  /** What is asked of the server of an outage. */
  private final class Asked implements Outage.Server {
    @Override
    public void probe() {
      client.reconnect();
      try {
        client.crawl(id).withTimeout(PROBE_TIMEOUT).get();
      } catch (LinkscoreException e) {
        if (e.code() != Status.Code.NOT_FOUND) {
          throw e;
        }
        client.ensureCrawl(id, policy, budget);
      }
    }

    @Override
    public Result ingest(Page kept) {
      return onceMoreIfLost(crawl -> crawl.ingest(kept));
    }

    @Override
    public void feedback(List<Feedback> kept) {
      onceMoreIfLost(crawl -> reported(crawl, kept));
    }
  }
}
