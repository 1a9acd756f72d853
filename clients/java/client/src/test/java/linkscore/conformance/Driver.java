package linkscore.conformance;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.protobuf.ByteString;
import io.grpc.TlsChannelCredentials;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import linkscore.Client;
import linkscore.Crawl;
import linkscore.Link;
import linkscore.LinkscoreException;
import linkscore.Settings;
import linkscore.v1.Page;

/**
 * Drives the Java client through the scenarios every client passes: {@code python -m linkscore_lab.conformance java -cp ...
 * linkscore.conformance.Driver}. Reads one JSON command a line and answers with one; the lab's package conformance says
 * which there are.
 */
public final class Driver {
  private static final Gson GSON = new Gson();

  private final ScheduledExecutorService timer =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task);
            thread.setDaemon(true);
            return thread;
          });
  private Client client;

  public static void main(String[] arguments) throws IOException {
    var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    Driver driver = new Driver();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      Object told;
      try {
        told = Map.of("ok", driver.carryOut(GSON.fromJson(line, Command.class)));
      } catch (LinkscoreException e) {
        told = Map.of("error", told(e));
      }
      out.println(GSON.toJson(told));
    }
  }

  private Map<String, ?> carryOut(Command c) throws IOException {
    if (c.call.equals("connect") || c.call.equals("close")) {
      if (client != null) {
        client.close();
      }
      client = c.call.equals("connect") ? connected(c) : null;
      return Map.of();
    }
    if (c.cancel_after_ms == 0) {
      return call(c);
    }
    Thread caller = Thread.currentThread();
    timer.schedule(caller::interrupt, c.cancel_after_ms, TimeUnit.MILLISECONDS);
    try {
      return call(c);
    } finally {
      Thread.interrupted();
    }
  }

  private Map<String, ?> call(Command c) {
    Crawl crawl = client.crawl(c.crawl);
    if (c.timeout_ms > 0) {
      crawl = crawl.withTimeout(Duration.ofMillis(c.timeout_ms));
    }
    ByteString ticket = Settings.ticket(c.ticket);
    switch (c.call) {
      case "ensure":
        var config = linkscore.v1.Crawl.newBuilder();
        client.ensureCrawl(c.crawl, c.policy == null ? null : config.setPolicy(Settings.policy(c.policy)).build());
        return Map.of();
      case "ingest":
        var links = crawl.ingest(pages(c)).stream().map(result -> rows(Link.of(result)));
        return Map.of("links", links.collect(Collectors.toList()));
      case "failed":
        crawl.failed(c.url, c.status, c.error == null ? "" : c.error, ticket);
        return Map.of();
      case "rank":
        var waiting = c.buckets.stream().collect(Collectors.toMap(name -> name, name -> 1, (a, b) -> a, LinkedHashMap::new));
        return Map.of("values", crawl.rankBuckets(waiting, Map.of(), 0, false).values);
      case "reward":
        crawl.reward(c.url, ticket, c.worth);
        return Map.of();
      default:
        throw new IllegalArgumentException("no call " + c.call);
    }
  }

  private static Client connected(Command c) throws IOException {
    Client.Builder made = Client.to(c.target);
    if (c.timeout_ms > 0) {
      made.timeout(Duration.ofMillis(c.timeout_ms));
    }
    if (c.token != null) {
      made.token(c.token);
    }
    if (c.token_file != null) {
      made.tokenFile(Path.of(c.token_file));
    }
    if (c.cert != null) {
      var own = TlsChannelCredentials.newBuilder().trustManager(Path.of(c.ca).toFile());
      made.credentials(own.keyManager(Path.of(c.cert).toFile(), Path.of(c.key).toFile()).build());
    } else if (c.ca != null) {
      made.tls(Path.of(c.ca));
    }
    return made.connect();
  }

  private static List<Page> pages(Command c) {
    List<Page> made = new ArrayList<>();
    for (SaidPage said : c.pages) {
      var page = Page.newBuilder().setUrl(said.url).setStatusCode(said.status).setTicket(Settings.ticket(said.ticket));
      if (said.final_url != null) {
        page.setFinalUrl(said.final_url);
      }
      if (said.body_bytes > 0) {
        page.setBody(ByteString.copyFrom(new byte[said.body_bytes]));
      } else if (said.body != null) {
        page.setBody(ByteString.copyFromUtf8(said.body));
      }
      made.add(page.build());
    }
    return made;
  }

  private static List<JsonObject> rows(List<Link> links) {
    List<JsonObject> told = new ArrayList<>();
    for (Link link : links) {
      var row = new JsonObject();
      row.addProperty("url", link.url);
      row.addProperty("score", link.score);
      row.addProperty("bucket", link.bucket);
      row.addProperty("value", link.bucketValue);
      row.addProperty("ticket", Settings.text(link.ticket));
      row.addProperty("usable", link.usable());
      row.addProperty("in_scope", link.inScope);
      told.add(row);
    }
    return told;
  }

  private static Map<String, ?> told(LinkscoreException e) {
    var violations =
        e.violations.stream()
            .map(v -> Map.of("field", v.getField(), "description", v.getDescription()))
            .collect(Collectors.toList());
    return Map.of(
        "code", e.code.value(),
        "reason", e.reason,
        "retry_after_ms", e.retryAfter.toMillis(),
        "violations", violations,
        "metadata", e.metadata);
  }

  /** A page or link of a command; names as in JSON. */
  private static class SaidPage {
    String url;
    String final_url;
    int status;
    String body;
    int body_bytes;
    String ticket;
    String error;
  }

  private static final class Command extends SaidPage {
    String call;
    String target;
    String token;
    String token_file;
    long timeout_ms;
    long cancel_after_ms;
    String ca;
    String cert;
    String key;
    String crawl;
    String policy;
    List<SaidPage> pages;
    List<String> buckets;
    double worth;
  }
}
