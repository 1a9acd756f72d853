package linkscore;

import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientCall;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.ForwardingClientCall.SimpleForwardingClientCall;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.Status;
import io.grpc.TlsChannelCredentials;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import linkscore.v1.Budget;
import linkscore.v1.CrawlServiceGrpc;
import linkscore.v1.CreateCrawlRequest;
import linkscore.v1.PolicySpec;
import linkscore.v1.UpdateCrawlRequest;

/**
 * A connection to a linkscore server, which tells a crawler which links to follow.
 *
 * <pre>{@code
 * try (Client client = Client.to("localhost:7411").connect()) {
 *   Crawl crawl = client.ensureCrawl("books", Policies.named("harvest"));
 *   List<Link> links = crawl.ingest(Page.newBuilder().setUrl(url).setBody(body).build()).links();
 * }
 * }</pre>
 *
 * <p>Keep the bucket and the ticket of every link with its URL: {@link Crawl#rankBuckets} says which bucket to fetch
 * from next, and the ticket goes back with the page it led to. {@link Frontier} does both for a crawler without a queue
 * of its own. Safe for use by many threads; every call throws {@link LinkscoreException}. A thread that is interrupted
 * gives up the call it waits for, with code CANCELLED.
 */
public final class Client implements AutoCloseable {
  /** Version of the client; the server's minor version should be at least this one's. */
  public static final String VERSION = "0.1.0";

  /** Deadline of a call unless told otherwise; calls take milliseconds. */
  public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

  /** What the server accepts in one message: a page may have 8 MiB, a call 500 pages. */
  public static final int MAX_MESSAGE_BYTES = 64 << 20;

  // Host and port, or an address by one of gRPC's resolvers, which has a name, a colon and slashes before a path.
  private static final Pattern TARGET =
      Pattern.compile("[^/\\s]+:\\d{1,5}|unix:\\S+|(?:dns|ipv4|ipv6|xds):\\S+");

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  // UNAVAILABLE is the only status after which a call can be repeated without knowing what it does; the server takes an
  // event id twice and applies it once, so repeating ingestPages is safe.
  private static final Map<String, ?> SERVICE_CONFIG =
      Map.of(
          "methodConfig",
          List.of(
              Map.of(
                  "name",
                  List.of(Map.of()),
                  "retryPolicy",
                  Map.of(
                      "maxAttempts", 4.0,
                      "initialBackoff", "0.1s",
                      "maxBackoff", "2s",
                      "backoffMultiplier", 2.0,
                      "retryableStatusCodes", List.of("UNAVAILABLE")))));

  private final String target;
  private final ManagedChannel connection;
  private final Channel channel;
  private final Duration timeout;

  private Client(ManagedChannel connection, Builder settings) {
    this.target = settings.target;
    this.connection = connection;
    this.channel = ClientInterceptors.intercept(connection, settings.interceptor());
    this.timeout = settings.timeout;
  }

  /**
   * Begins a client of the server at {@code host:port}.
   *
   * @throws IllegalArgumentException it is of another form: empty, a URL, or without a port
   */
  public static Builder to(String target) {
    if (!TARGET.matcher(target).matches()) {
      throw new IllegalArgumentException(
          "target must be host:port without a scheme, localhost:7411 for example, got \"" + target + "\"");
    }
    return new Builder(target);
  }

  /** What it connects to. */
  String target() {
    return target;
  }

  /** Connects again at the next call: after some failures gRPC waits for a minute or two before it tries. */
  void reconnect() {
    connection.resetConnectBackoff();
  }

  /**
   * What generated stubs are made with, for every call that has no method here; token and deadline of this client go
   * with those calls too. They throw {@link io.grpc.StatusRuntimeException}, see {@link LinkscoreException#from}.
   */
  public Channel channel() {
    return channel;
  }

  /** A handle of a crawl that exists, by id; asks the server nothing. */
  public Crawl crawl(String id) {
    return new Crawl(channel, id.startsWith("crawls/") ? id : "crawls/" + id, timeout);
  }

  /** Creates a crawl with the server's default policy, or takes the one there is, whatever its policy. */
  public Crawl ensureCrawl(String id) {
    return ensureCrawl(id, null);
  }

  /** Creates a crawl, or takes the one there is, which then serves this policy; null leaves the policy to the server. */
  public Crawl ensureCrawl(String id, PolicySpec policy) {
    return ensureCrawl(id, policy, null);
  }

  /**
   * Creates a crawl, or takes the one there is, which then serves this policy and has this budget.
   *
   * @param policy null leaves it to the server
   * @param budget null leaves the one it has, or none
   */
  public Crawl ensureCrawl(String id, PolicySpec policy, Budget budget) {
    Crawl crawl = crawl(id);
    linkscore.v1.Crawl.Builder config = linkscore.v1.Crawl.newBuilder().setName(crawl.name());
    if (policy != null) {
      config.setPolicy(policy);
    }
    if (budget != null) {
      config.setBudget(budget);
    }
    var stub = CrawlServiceGrpc.newBlockingStub(channel);
    try {
      LinkscoreException.typed(
          () -> stub.createCrawl(CreateCrawlRequest.newBuilder().setCrawl(config).build()));
    } catch (LinkscoreException e) {
      if (e.code() != Status.Code.ALREADY_EXISTS) {
        throw e;
      }
      if (policy != null || budget != null) {
        change(crawl.get().getCrawl(), config);
      }
    }
    return crawl;
  }

  /** Gives a crawl that is there the policy and the budget it is to have. */
  private void change(linkscore.v1.Crawl there, linkscore.v1.Crawl.Builder config) {
    var change = UpdateCrawlRequest.newBuilder().setCrawl(config);
    if (config.hasPolicy() && !config.getPolicy().equals(there.getPolicy())) {
      change.getUpdateMaskBuilder().addPaths("policy");
    }
    if (config.hasBudget() && !config.getBudget().equals(there.getBudget())) {
      change.getUpdateMaskBuilder().addPaths("budget");
    }
    if (change.getUpdateMask().getPathsCount() > 0) {
      var stub = CrawlServiceGrpc.newBlockingStub(channel);
      LinkscoreException.typed(() -> stub.updateCrawl(change.build()));
    }
  }

  /** Ends the connection; calls under way fail. */
  @Override
  public void close() {
    connection.shutdownNow();
  }

  /** Settings of a client. */
  public static final class Builder {
    private final String target;
    private Duration timeout = DEFAULT_TIMEOUT;
    private volatile String token = ""; // of a file, the one read last
    private Path tokenFile;
    private ChannelCredentials credentials = InsecureChannelCredentials.create();

    private Builder(String target) {
      this.target = target;
    }

    /** Bounds every unary call; streams have no deadline. */
    public Builder timeout(Duration each) {
      timeout = each;
      return this;
    }

    /** Sends a bearer token with every call. Send it over TLS only, or on the loopback interface. */
    public Builder token(String secret) {
      token = secret;
      return this;
    }

    /**
     * Sends the bearer token that a file holds; it is read at every call, so that it may be rotated. While it is
     * missing or empty the last token is sent.
     */
    public Builder tokenFile(Path file) {
      tokenFile = file;
      return this;
    }

    /** Encrypts the connection and trusts the roots of the system. */
    public Builder tls() {
      return credentials(TlsChannelCredentials.create());
    }

    /** Encrypts the connection and trusts the authority of a PEM file. */
    public Builder tls(Path authority) throws IOException {
      return credentials(
          TlsChannelCredentials.newBuilder().trustManager(authority.toFile()).build());
    }

    /** Connects with credentials of gRPC: {@link TlsChannelCredentials} with a certificate of the client, say. */
    public Builder credentials(ChannelCredentials of) {
      credentials = of;
      return this;
    }

    /** Returns the client, which connects at its first call, and again when the server was away. */
    public Client connect() {
      ManagedChannel connection =
          Grpc.newChannelBuilder(target, credentials)
              .defaultServiceConfig(SERVICE_CONFIG)
              .enableRetry()
              .maxInboundMessageSize(MAX_MESSAGE_BYTES)
              .keepAliveTime(10, TimeUnit.SECONDS)
              .keepAliveTimeout(5, TimeUnit.SECONDS)
              .userAgent("linkscore-java/" + VERSION)
              .build();
      return new Client(connection, this);
    }

    /** Gives every unary call a deadline that begins with it, and every call the token. */
    private ClientInterceptor interceptor() {
      Duration each = timeout;
      return new ClientInterceptor() {
        @Override
        public <Q, A> ClientCall<Q, A> interceptCall(
            MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
          boolean bounded = options.getDeadline() != null || !method.getType().clientSendsOneMessage();
          CallOptions ours =
              bounded ? options : options.withDeadlineAfter(each.toNanos(), TimeUnit.NANOSECONDS);
          return new SimpleForwardingClientCall<Q, A>(next.newCall(method, ours)) {
            @Override
            public void start(Listener<A> listener, Metadata headers) {
              String secret = secret();
              if (!secret.isEmpty()) {
                headers.put(AUTHORIZATION, "Bearer " + secret);
              }
              super.start(listener, headers);
            }
          };
        }
      };
    }

    private String secret() {
      if (tokenFile == null) {
        return token;
      }
      try {
        String read = Files.readString(tokenFile).trim();
        token = read.isEmpty() ? token : read;
      } catch (IOException e) {
        if (!token.isEmpty()) {
          return token;
        }
        throw Status.UNAUTHENTICATED
            .withDescription("token file " + tokenFile + " cannot be read")
            .withCause(e)
            .asRuntimeException();
      }
      return token;
    }
  }
}
