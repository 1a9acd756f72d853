package linkscore;

import com.google.protobuf.ByteString;
import io.grpc.Status;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import linkscore.v1.Page;
import linkscore.v1.PolicySpec;

/**
 * What a crawler's plugin needs of a crawl: calls that are left out while the server is away instead of stopping the
 * crawler, and counts of what became of them. The crawl is made at the first call, and again if the server lost it.
 */
public final class Session implements AutoCloseable {
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
  private final Breaker breaker = new Breaker();
  private volatile boolean made;
  private volatile LinkscoreException refusal;

  /**
   * A session that makes its calls through a client, which it closes in the end.
   *
   * @param id of the crawl; two runs of one name share what was learned
   * @param policy null leaves it to the server
   */
  public Session(Client client, String id, PolicySpec policy) {
    this.client = client;
    this.id = id;
    this.policy = policy;
  }

  /**
   * A session by a crawler's own configuration: {@code linkscore.target} (localhost:7411), {@code linkscore.crawl}, {@code
   * linkscore.policy} (the server's), {@code linkscore.timeout.ms} (10000), {@code linkscore.token.file} and {@code
   * linkscore.tls.ca} (none; a PEM file, or {@code system}).
   *
   * @param crawl its id unless the configuration says another
   * @param setting gives the value of a key, null without one
   * @throws IllegalArgumentException a value cannot be used; the message names its key
   */
  public static Session configured(String crawl, UnaryOperator<String> setting) {
    UnaryOperator<String> said = key -> Optional.ofNullable(setting.apply(key)).orElse("").trim();
    String target = said.apply("linkscore.target");
    Client.Builder client = Client.to(target.isEmpty() ? "localhost:7411" : target);
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
    return new Session(
        client.connect(), id.isEmpty() ? crawl : id, policy.isEmpty() ? null : Policies.named(policy));
  }

  /**
   * Sends a page, or a fetch that brought none (no body); its answer, none while the server is away or if it refuses the
   * page. A page that may be sent twice needs an event id of its own.
   */
  public Optional<Result> ingest(Page page) {
    var results = call(page.hasBody() ? pages : failed, crawl -> crawl.ingest(page));
    return results.filter(result -> result.status().getCode() != linkscore.v1.ItemCode.ITEM_CODE_INVALID);
  }

  /** Reports a fetch that brought no page, as {@link Crawl#failed}. */
  public void failed(String url, int status, String reason, ByteString ticket) {
    call(failed, crawl -> done(() -> crawl.failed(url, status, reason, ticket)));
  }

  /** Says what a page was worth, in [0, 1]. */
  public void reward(String url, ByteString ticket, double worth) {
    call(rewards, crawl -> done(() -> crawl.reward(url, ticket, worth)));
  }

  /** The value of each bucket now; none while the server is away. */
  public Optional<Map<String, Double>> rankBuckets(Collection<String> buckets) {
    return call(null, crawl -> crawl.rankBuckets(buckets));
  }

  /** What to fetch next, as {@link Crawl#planBuckets}; none while the server is away. */
  public Optional<Plan> planBuckets(
      Map<String, Integer> waiting, Map<String, Integer> inFlight, int n, boolean fill) {
    return call(null, crawl -> crawl.planBuckets(waiting, inFlight, n, fill));
  }

  /** Whether the last call met an outage. */
  public boolean isBroken() {
    return breaker.isBroken();
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
    client.close();
  }

  private <T> Optional<T> call(LongAdder count, Function<Crawl, T> call) {
    if (!breaker.allows()) {
      return Optional.empty();
    }
    try {
      T answer = onceMoreIfLost(call);
      breaker.done(null);
      if (count != null) {
        count.increment();
      }
      return Optional.of(answer);
    } catch (LinkscoreException e) {
      breaker.done(e);
      if (!e.isOutage()) {
        refusal = e;
      }
      return Optional.empty();
    }
  }

  private <T> T onceMoreIfLost(Function<Crawl, T> call) {
    if (!made) {
      client.ensureCrawl(id, policy);
      made = true;
    }
    try {
      return call.apply(client.crawl(id));
    } catch (LinkscoreException e) {
      if (e.code() != Status.Code.NOT_FOUND) {
        throw e;
      }
      return call.apply(client.ensureCrawl(id, policy));
    }
  }

  private static Boolean done(Runnable call) {
    call.run();
    return true;
  }
}
