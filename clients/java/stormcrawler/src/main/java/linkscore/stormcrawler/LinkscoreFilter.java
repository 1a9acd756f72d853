package linkscore.stormcrawler;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import linkscore.Link;
import linkscore.Session;
import linkscore.Settings;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.parse.JSoupFilter;
import org.apache.stormcrawler.parse.Outlink;
import org.apache.stormcrawler.parse.ParseResult;
import org.apache.stormcrawler.util.AbstractConfigurable;
import org.jsoup.nodes.Document;
import org.jsoup.nodes.Element;

/**
 * Sends every parsed page to a linkscore server and writes bucket, value, score and ticket into the metadata of its
 * outlinks. What orders them is {@code linkscore frontier} or, more simply, {@link LinkscoreScheduler}.
 */
public final class LinkscoreFilter extends AbstractConfigurable implements JSoupFilter {
  private static final Map<String, Session> SESSIONS = new ConcurrentHashMap<>();

  // Metadata of a URL, called alike by every adapter (docs/reference/clients.md). The bucket is empty if the server
  // answered of the page, and not of this link.
  static final String BUCKET = "linkscore.bucket";
  static final String VALUE = "linkscore.value";
  static final String SCORE = "linkscore.score";
  static final String TICKET = "linkscore.ticket";

  /** When to fetch a page again, in seconds since 1970; not there unless the crawl has {@code revisit}. */
  static final String NEXT = "linkscore.next";

  /** What a parse filter says a page was worth, in [0, 1]. */
  static final String REWARD = "linkscore.reward";

  private Session session;

  @Override
  public void configure(Map<String, Object> stormConf, JsonNode filterParams) {
    session = session(stormConf);
  }

  /** The session of a topology's configuration, shared by all components of this worker. */
  static Session session(Map<String, Object> conf) {
    String key = conf.get("linkscore.target") + " " + conf.get("linkscore.crawl");
    Map<String, String> settings = new HashMap<>();
    conf.forEach(
        (name, value) -> {
          if (name.startsWith("linkscore.") && value != null) {
            settings.put(name.substring("linkscore.".length()), value.toString());
          }
        });
    return SESSIONS.computeIfAbsent(key, made -> Session.configured("stormcrawler", settings, "report.failures"));
  }

  /** Whether the site answered that the page is as it was. */
  static boolean isUnchanged(Metadata metadata) {
    return "304".equals(metadata.getFirstValue("fetch.statusCode"));
  }

  @Override
  public void filter(String url, byte[] content, Document doc, ParseResult parse) {
    Metadata known = parse.get(url).getMetadata();
    List<Outlink> outlinks = inPageOrder(parse.getOutlinks(), doc);
    parse.setOutlinks(outlinks);
    var page =
        Page.newBuilder()
            .setUrl(url)
            .setContentType("text/html; charset=" + doc.charset().name())
            .setBody(ByteString.copyFrom(content))
            .setTicket(Settings.ticket(known.getFirstValue(TICKET)));
    for (Outlink outlink : outlinks) { // their places on the page are read from the body
      String anchor = Objects.requireNonNullElse(outlink.getAnchor(), "");
      page.addOutlinksBuilder().setUrl(outlink.getTargetURL()).setAnchorText(anchor);
    }
    Optional<PageResult> answer = session.ingest(page.build());
    known.remove(NEXT);
    answer
        .filter(PageResult::hasNextFetchTime)
        .ifPresent(said -> known.setValue(NEXT, "" + said.getNextFetchTime().getSeconds()));
    answer.ifPresentOrElse(
        said -> parse.setOutlinks(placed(outlinks, Link.of(said))), () -> outlinks.forEach(this::guess));
  }

  /** The outlinks as they stand on the page: StormCrawler has them in the order of a hash table, and the first goes first. */
  private static List<Outlink> inPageOrder(List<Outlink> outlinks, Document doc) {
    Map<String, Integer> positions = new HashMap<>();
    for (Element anchor : doc.select("a[href]")) {
      positions.putIfAbsent(withoutFragment(anchor.absUrl("href")), positions.size());
    }
    List<Outlink> sorted = new ArrayList<>(outlinks);
    int last = positions.size();
    sorted.sort(Comparator.comparingInt(link -> positions.getOrDefault(withoutFragment(link.getTargetURL()), last)));
    return sorted;
  }

  private static String withoutFragment(String url) {
    return url.split("#", 2)[0];
  }

  /** Gives a link of an outage the value of its shape, and no bucket: a frontier asks for that when the server is back. */
  private void guess(Outlink outlink) {
    session.fallback.increment();
    session.guess(outlink.getTargetURL()).ifPresent(guess -> metadata(outlink).setValue(VALUE, "" + guess.value));
  }

  private static Metadata metadata(Outlink outlink) {
    if (outlink.getMetadata() == null) {
      outlink.setMetadata(new Metadata());
    }
    return outlink.getMetadata();
  }

  /** Gives outlinks their places, and leaves those out that a setting of the crawl forbids for good. */
  private List<Outlink> placed(List<Outlink> outlinks, List<Link> links) {
    List<Outlink> kept = new ArrayList<>();
    for (int i = 0; i < outlinks.size(); i++) { // the answer has them in their order
      Link link = i < links.size() && links.get(i).usable() ? links.get(i) : null;
      Metadata metadata = metadata(outlinks.get(i));
      (link == null ? session.missed : session.scored).increment();
      metadata.setValue(BUCKET, link == null ? "" : link.bucket);
      if (link != null) {
        if (!link.isSkipped()) { // one to skip by a setting of the crawl goes last
          metadata.setValue(VALUE, Double.toString(link.bucketValue));
        }
        metadata.setValue(SCORE, Double.toString(link.score));
        metadata.setValue(TICKET, Settings.text(link.ticket));
      }
      if (link == null || !link.isDropped()) {
        kept.add(outlinks.get(i));
      }
    }
    return kept;
  }
}
