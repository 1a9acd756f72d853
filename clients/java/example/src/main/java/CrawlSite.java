import com.google.protobuf.ByteString;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import linkscore.Client;
import linkscore.Frontier;
import linkscore.Result;
import linkscore.Session;
import linkscore.v1.Page;

/**
 * A whole crawler of one site in the order a linkscore server advises: {@code CrawlSite http://shop.example/ 500
 * localhost:7411}. Prints what it fetched; {@code -DproxyPort=8080} fetches through a proxy on this machine.
 */
public final class CrawlSite {
  private static final Pattern HREF = Pattern.compile("<a\\s[^>]*?href\\s*=\\s*[\"']([^\"']+)");

  private final Session session;
  private final Frontier frontier;
  private final HttpClient http;
  private final Set<String> fetched = new HashSet<>();

  private CrawlSite(Session session) {
    this.session = session;
    this.frontier = new Frontier(session, 1);
    Integer port = Integer.getInteger("proxyPort");
    var settings = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL);
    if (port != null) {
      settings.proxy(ProxySelector.of(new InetSocketAddress("localhost", port)));
    }
    this.http = settings.build();
  }

  public static void main(String[] arguments) throws InterruptedException {
    String target = arguments.length > 2 ? arguments[2] : "localhost:7411";
    try (Session session = new Session(Client.to(target).connect(), "example", null)) {
      new CrawlSite(session).crawl(arguments[0], Integer.parseInt(arguments[1]));
      System.err.println(session);
    }
  }

  private void crawl(String start, int fetches) throws InterruptedException {
    frontier.addSeed(start);
    for (int i = 0; i < fetches; i++) {
      Optional<Frontier.Item> next = frontier.next();
      if (next.isEmpty()) {
        return;
      }
      fetched.add(next.get().url());
      fetch(next.get());
      frontier.done(next.get());
    }
  }

  private void fetch(Frontier.Item item) throws InterruptedException {
    HttpResponse<byte[]> response;
    try {
      var request = HttpRequest.newBuilder(URI.create(item.url())).build();
      response = http.send(request, HttpResponse.BodyHandlers.ofByteArray());
    } catch (IOException | IllegalArgumentException e) {
      session.failed(item.url(), 0, e.getClass().getSimpleName(), item.ticket());
      return;
    }
    System.out.println(response.statusCode() + "\t" + item.url());
    if (response.statusCode() >= 400) {
      session.failed(item.url(), response.statusCode(), "", item.ticket());
      return;
    }
    var page =
        Page.newBuilder()
            .setUrl(item.url())
            .setFinalUrl(response.uri().toString())
            .setStatusCode(response.statusCode())
            .setContentType(response.headers().firstValue("content-type").orElse(""))
            .setBody(ByteString.copyFrom(response.body()))
            .setTicket(item.ticket());
    Optional<Result> result = session.ingest(page.build());
    result.ifPresentOrElse(this::queue, () -> queueUnscored(response));
  }

  /** Lets the links of the site wait, each in its bucket. */
  private void queue(Result result) {
    result.links().stream()
        .filter(link -> link.usable() && link.inScope() && !fetched.contains(link.url()))
        .forEach(
            link -> {
              session.scored.increment();
              frontier.add(link);
            });
  }

  /** Lets the links of a page wait behind all that is scored: the server is away. */
  private void queueUnscored(HttpResponse<byte[]> page) {
    Matcher href = HREF.matcher(new String(page.body(), StandardCharsets.UTF_8));
    while (href.find()) {
      String link = href.group(1).replace("&amp;", "&");
      try {
        URI found = page.uri().resolve(link.split("#", 2)[0]);
        if (page.uri().getHost().equals(found.getHost()) && !fetched.contains(found.toString())) {
          session.fallback.increment();
          frontier.addUnknown(found.toString());
        }
      } catch (IllegalArgumentException e) {
        continue; // no URL
      }
    }
  }
}
