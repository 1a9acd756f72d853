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
import linkscore.v1.CrawlServiceGrpc;
import linkscore.v1.CreateCrawlRequest;
import linkscore.v1.UpdateCrawlRequest;

/**
 * A connection to a linkscore server, which tells a crawler which links to follow.
 *
 * <pre>{@code
 * try (Client client = Client.to("localhost:7411").connect()) {
 *   Crawl crawl = client.ensureCrawl("books", null);
 *   List<Link> links = Link.of(crawl.ingest(Page.newBuilder().setUrl(url).setBody(body).build()));
 * }
 * }</pre>
 *
 * <p>Keep bucket and ticket of every link with its URL. Safe for use by many threads; every call throws {@link
 * LinkscoreException}, with code CANCELLED in a thread that is interrupted.
 */
public final class Client implements AutoCloseable {
  /** Version of the client; the server's should be the same. */
  public static final String VERSION = "0.1.0";

  /** Deadline of a call unless told otherwise; calls take milliseconds. */
  public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);

  /** What the server accepts in one message: a page may have 8 MiB, a call 500 pages. */
  public static final int MAX_MESSAGE_BYTES = 64 << 20;

  // Host and port, or an address by one of gRPC's resolvers, which has a name, a colon and slashes before a path.
  private static final String TARGET = "[^/\\s]+:(?:[1-5]?\\d{1,4}|6[0-5]\\d{3})|unix:\\S+|(?:dns|ipv4|ipv6|xds):\\S+";

  private static final Metadata.Key<String> AUTHORIZATION =
      Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER);

  // UNAVAILABLE is the only status after which a call can be repeated without knowing what it does; the server takes an
  // event id twice and applies it once, so repeating IngestPages is safe.
  private static final Map<String, ?> RETRIES =
      Map.of(
          "maxAttempts", 4.0,
          "initialBackoff", "0.1s",
          "maxBackoff", "2s",
          "backoffMultiplier", 2.0,
          "retryableStatusCodes", List.of("UNAVAILABLE"));

  private final String target;
  private final ManagedChannel connection;
  private final Channel channel;

  private Client(Builder settings, ManagedChannel connection) {
    this.target = settings.target;
    this.connection = connection;
    this.channel = ClientInterceptors.intercept(connection, settings);
  }

  /** Begins a client of the server at {@code host:port}; another form is an IllegalArgumentException. */
  public static Builder to(String target) {
    if (!target.matches(TARGET)) {
      throw new IllegalArgumentException(
          "target must be host:port without a scheme, localhost:7411 for example, got \"" + target + "\"");
    }
    return new Builder(target);
  }

  String target() {
    return target;
  }

  /** Connects again at the next call: after some failures gRPC waits for a minute or two before it tries. */
  void reconnect() {
    connection.resetConnectBackoff();
  }

  /** What generated stubs are made with, for all that has no method here; token and deadline go with those calls too. */
  public Channel channel() {
    return channel;
  }

  /** A handle of a crawl that exists, by id; asks the server nothing. */
  public Crawl crawl(String id) {
    return new Crawl(channel, id.startsWith("crawls/") ? id : "crawls/" + id, null);
  }

  /**
   * Creates a crawl, or takes the one there is, which then gets what is asked for: policy, wanted, budget, examples.
   *
   * @param config null leaves all to the server, or as it is
   */
  public Crawl ensureCrawl(String id, linkscore.v1.Crawl config) {
    Crawl crawl = crawl(id);
    var asked = (config == null ? linkscore.v1.Crawl.newBuilder() : config.toBuilder()).setName(crawl.name());
    var stub = CrawlServiceGrpc.newBlockingStub(channel);
    try {
      LinkscoreException.typed(() -> stub.createCrawl(CreateCrawlRequest.newBuilder().setCrawl(asked).build()));
    } catch (LinkscoreException e) {
      if (e.code != Status.Code.ALREADY_EXISTS) {
        throw e;
      }
      LinkscoreException.typed(() -> stub.updateCrawl(UpdateCrawlRequest.newBuilder().setCrawl(asked).build()));
    }
    return crawl;
  }

  /** Ends the connection; calls under way fail. */
  @Override
  public void close() {
    connection.shutdownNow();
  }

  /** Settings of a client. */
  public static final class Builder implements ClientInterceptor {
    private final String target;
    private Duration timeout = DEFAULT_TIMEOUT;
    private volatile String token = ""; // of a file, the one read last
    private Path tokenFile;
    private ChannelCredentials credentials = InsecureChannelCredentials.create();

    private Builder(String target) {
      this.target = target;
    }

    /** Bounds every call; IllegalArgumentException if it is not above 0. */
    public Builder timeout(Duration each) {
      if (each.isNegative() || each.isZero()) {
        throw new IllegalArgumentException("must be above 0, got " + each.toMillis());
      }
      timeout = each;
      return this;
    }

    /** Sends a bearer token with every call; only over TLS, or on the loopback interface. IllegalArgumentException if it is none. */
    public Builder token(String secret) {
      if (!secret.matches("[ -~]*")) {
        throw new IllegalArgumentException("token must be one line of ASCII characters");
      }
      token = secret;
      return this;
    }

    /** Sends the token that a file holds, read at every call; while it is missing or empty the last one. */
    public Builder tokenFile(Path file) {
      tokenFile = file;
      return this;
    }

    /** Encrypts the connection and trusts the authority of a PEM file; null trusts the roots of the system. */
    public Builder tls(Path authority) throws IOException {
      var tls = TlsChannelCredentials.newBuilder();
      return credentials(authority == null ? tls.build() : tls.trustManager(authority.toFile()).build());
    }

    /** Connects with credentials of gRPC: {@link TlsChannelCredentials} with a certificate of the client, say. */
    public Builder credentials(ChannelCredentials of) {
      credentials = of;
      return this;
    }

    /** Returns the client, which connects at its first call, and again when the server was away. */
    public Client connect() {
      return new Client(
          this,
          Grpc.newChannelBuilder(target, credentials)
              .defaultServiceConfig(
                  Map.of("methodConfig", List.of(Map.of("name", List.of(Map.of()), "retryPolicy", RETRIES))))
              .enableRetry()
              .maxInboundMessageSize(MAX_MESSAGE_BYTES)
              .keepAliveTime(10, TimeUnit.SECONDS)
              .keepAliveTimeout(5, TimeUnit.SECONDS)
              .userAgent("linkscore-java/" + VERSION)
              .build());
    }

    @Override
    public <Q, A> ClientCall<Q, A> interceptCall(MethodDescriptor<Q, A> method, CallOptions options, Channel next) {
      boolean bounded = options.getDeadline() != null || !method.getType().clientSendsOneMessage();
      CallOptions ours = bounded ? options : options.withDeadlineAfter(timeout.toNanos(), TimeUnit.NANOSECONDS);
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

    private String secret() {
      if (tokenFile == null) {
        return token;
      }
      try {
        String read = Files.readString(tokenFile).replace("\uFEFF", "").trim();
        token = read.isEmpty() ? token : read;
      } catch (IOException e) {
        if (token.isEmpty()) {
          String what = "token file " + tokenFile + " cannot be read";
          throw Status.UNAUTHENTICATED.withDescription(what).withCause(e).asRuntimeException();
        }
      }
      return token;
    }
  }
}
