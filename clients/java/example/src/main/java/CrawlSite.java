import com.google.protobuf.ByteString;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ProxySelector;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import linkscore.Client;
import linkscore.Frontier;
import linkscore.Link;
import linkscore.Session;
import linkscore.v1.Page;
import linkscore.v1.PageResult;

/**
 * A whole crawler of one site in the order a linkscore server advises: {@code CrawlSite --start http://shop.example/
 * --fetches 500 --target localhost:7411}. Prints what it fetched; {@code --proxy http://127.0.0.1:8080} fetches through a
 * proxy.
 */
public final class CrawlSite {
  private static final Pattern HREF = Pattern.compile("<a\\s[^<>]*?href\\s*=\\s*[\"']([^\"'#]+)");

  private final Session session;
  private final Frontier frontier;
  private final HttpClient http;
  private final Set<String> fetched = ConcurrentHashMap.newKeySet(); // answers may come later, from another thread

  private CrawlSite(Session session, HttpClient http) {
    this.session = session;
    this.frontier = new Frontier(session);
    this.http = http;
  }

  public static void main(String[] arguments) throws InterruptedException {
    Map<String, String> options = new HashMap<>(Map.of("target", "localhost:7411", "fetches", "500", "proxy", ""));
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    var http = HttpClient.newBuilder().followRedirects(HttpClient.Redirect.NORMAL);
    if (!options.get("proxy").isEmpty()) {
      URI proxy = URI.create(options.get("proxy"));
      http.proxy(ProxySelector.of(new InetSocketAddress(proxy.getHost(), proxy.getPort())));
    }
    try (Session session = new Session(Client.to(options.get("target")).connect(), "example", null)) {
      new CrawlSite(session, http.build()).crawl(options.get("start"), Integer.parseInt(options.get("fetches")));
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
    Optional<PageResult> result = session.ingest(page.build(), this::queue);
    result.ifPresentOrElse(this::queue, () -> queueUnscored(response));
  }

  /** Lets the links of the site wait, each in its bucket. */
  private void queue(PageResult result) {
    for (Link link : Link.of(result)) {
      if (link.usable() && link.inScope && !fetched.contains(link.url)) {
        session.scored.increment();
        frontier.add(link);
      }
    }
  }

  /** Lets the links of a page wait where links like them went: the server is away, and its answer comes later. */
  private void queueUnscored(HttpResponse<byte[]> page) {
    var href = HREF.matcher(new String(page.body(), StandardCharsets.UTF_8));
    while (href.find()) {
      try {
        URI found = page.uri().resolve(href.group(1).replace("&amp;", "&"));
        if (page.uri().getHost().equals(found.getHost()) && !fetched.contains(found.toString())) {
          session.fallback.increment();
          frontier.addUnscored(found.toString());
        }
      } catch (IllegalArgumentException e) {
        continue; // no URL
      }
    }
  }
}
