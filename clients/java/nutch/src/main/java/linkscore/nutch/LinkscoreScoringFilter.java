package linkscore.nutch;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import linkscore.Link;
import linkscore.Session;
import linkscore.Settings;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.metadata.Metadata;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.parse.Outlink;
import org.apache.nutch.parse.Parse;
import org.apache.nutch.parse.ParseData;
import org.apache.nutch.protocol.Content;
import org.apache.nutch.protocol.ProtocolStatus;
import org.apache.nutch.scoring.AbstractScoringFilter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Generates the URLs of a round in the order a linkscore server advises.
 *
 * <p>Every parsed page goes to the server with its body; each of its outlinks keeps the buckets and the tickets it was
 * given in its CrawlDatum. {@link Generate} says which of them a round takes; without it, a round takes URLs by what their
 * buckets were worth when they were found. Start pages go first, links the server does not know last. Failed fetches are
 * reported when the crawl database is updated. While the server is away new links wait where others of their shape did.
 */
public final class LinkscoreScoringFilter extends AbstractScoringFilter {
  /** What a parse filter sets in the parse metadata to say what a page was worth, in [0, 1]. */
  public static final String REWARD = "linkscore.reward";

  private static final Logger LOG = LoggerFactory.getLogger(LinkscoreScoringFilter.class);

  /** When to fetch a page again, in seconds since 1970; to the database by {@code db.parsemeta.to.crawldb}. */
  private static final String NEXT = "linkscore.next";

  private static final Text SEED = new Text("linkscore.seed");
  private static final String TICKET = "linkscore.ticket"; // of the page, in the metadata of its content
  private static final Text MISSED = new Text("linkscore.missed");
  private static final String ANSWER = "linkscore.answer";

  // Sort values without a round: start pages, scored links (1 plus a value in [0, 1]), links that came while the server was
  // away, links it did not find on their page.
  private static final float SEEDS = 3;
  private static final float SCORED = 1;
  private static final float FALLBACK = 0.5f;
  private static final float LAST = 0;

  /** What a protocol status of Nutch was in HTTP. */
  private static final Map<Integer, Integer> HTTP =
      Map.of(ProtocolStatus.NOTFOUND, 404, ProtocolStatus.GONE, 410, ProtocolStatus.ACCESS_DENIED, 403);

  // Nutch's own default of db.fetch.interval.max: 90 days.
  private static final long LONGEST_S = 7_776_000;

  // When links were found last, in steps of which a page takes one for each of its links.
  private static final AtomicLong FOUND = new AtomicLong();
  private static final int STEPS_A_MS = 1_000;

  private static final Map<String, Session> SESSIONS = new ConcurrentHashMap<>();

  private Session session;
  private Generate.Round round;

  @Override
  public void setConf(Configuration conf) {
    super.setConf(conf);
    if (conf != null) {
      session = session(conf);
      round = Generate.Round.read(conf);
    }
  }

  /** The session of a crawl and server, shared by all tasks that run in this virtual machine. */
  static Session session(Configuration conf) {
    String key = conf.get("linkscore.target") + " " + conf.get("linkscore.crawl");
    return SESSIONS.computeIfAbsent(key, made -> configured(conf));
  }

  static Session configured(Configuration conf) {
    return Session.configured("nutch", conf.getPropsWithPrefix("linkscore."), "revisits.per.day", "round");
  }

  @Override
  public void injectedScore(Text url, CrawlDatum datum) {
    datum.getMetaData().put(SEED, new Text("1"));
  }

  static boolean isSeed(CrawlDatum datum) {
    return datum.getMetaData().containsKey(SEED);
  }

  /** Whether the server did not find a link on its page. */
  static boolean isMissed(CrawlDatum datum) {
    return datum.getMetaData().containsKey(MISSED);
  }

  @Override
  public float generatorSortValue(Text url, CrawlDatum datum, float initSort) {
    if (round != null) {
      return round.sortValue(url.toString(), datum);
    }
    if (isSeed(datum)) {
      return SEEDS;
    }
    float unscored = isMissed(datum) ? LAST : FALLBACK;
    return Place.of(datum).stream().findFirst().map(best -> SCORED + (float) best.value).orElse(unscored);
  }

  private static String ticketOf(CrawlDatum datum) {
    return Place.of(datum).stream().findFirst().map(place -> place.ticket).orElse("");
  }

  /** Hands the ticket on to the page. */
  @Override
  public void passScoreBeforeParsing(Text url, CrawlDatum datum, Content content) {
    content.getMetadata().set(TICKET, ticketOf(datum));
  }

  /** Sends the page, and keeps what the server says of its outlinks for the task that writes them. */
  @Override
  public void passScoreAfterParsing(Text url, Content content, Parse parse) {
    String segment = content.getMetadata().get(Nutch.SEGMENT_NAME_KEY);
    Metadata metadata = parse.getData().getParseMeta();
    Outlink[] outlinks = parse.getData().getOutlinks();
    Page.Builder page =
        page(segment + " " + url, url, content.getMetadata().get(TICKET))
            .setFinalUrl(content.getBaseUrl() == null ? "" : content.getBaseUrl())
            .setContentType(content.getContentType() == null ? "" : content.getContentType())
            .setBody(ByteString.copyFrom(content.getContent()));
    for (Outlink outlink : outlinks) { // their places on the page are read from the body
      page.addOutlinksBuilder().setUrl(outlink.getToUrl()).setAnchorText(outlink.getAnchor());
    }
    Optional<PageResult> answer = session.ingest(page.build());
    answer.ifPresent(result -> metadata.set(ANSWER, Place.text(outlinks, Link.of(result))));
    answer.flatMap(LinkscoreScoringFilter::next).ifPresent(next -> metadata.set(NEXT, next));
    reward(page, metadata.get(REWARD));
  }

  private void reward(Page.Builder page, String worth) {
    try {
      if (worth != null) {
        session.reward(page.getUrl(), page.getTicket(), Double.parseDouble(worth));
      }
    } catch (NumberFormatException e) {
      LOG.warn("linkscore: {} of {} is no number: {}", REWARD, page.getUrl(), worth);
    }
  }

  private static Optional<String> next(PageResult result) {
    return Optional.of(result).filter(PageResult::hasNextFetchTime).map(it -> "" + it.getNextFetchTime().getSeconds());
  }

  /** Gives each outlink its bucket, ticket and value. */
  @Override
  public CrawlDatum distributeScoreToOutlinks(
      Text fromUrl,
      ParseData parseData,
      Collection<Entry<Text, CrawlDatum>> targets,
      CrawlDatum adjust,
      int allCount) {
    String said = parseData.getParseMeta().get(ANSWER);
    parseData.getParseMeta().remove(ANSWER);
    long now = now(allCount);
    Map<String, List<Place>> found = said == null ? Map.of() : Place.found(said, now);
    for (Entry<Text, CrawlDatum> target : targets) {
      String url = target.getKey().toString();
      List<Place> places = found.get(Place.form(url));
      if (said == null) { // an outage: it waits where links of its shape went last
        session.fallback.increment();
        session.guess(url).ifPresent(
            like -> Place.keep(target.getValue(), List.of(new Place(like.bucket, like.value, "", now))));
      } else if (places == null) {
        session.missed.increment();
        target.getValue().getMetaData().put(MISSED, new Text("1"));
      } else {
        session.scored.increment();
        Place.keep(target.getValue(), places);
      }
    }
    return adjust;
  }

  /** The time as steps, later than all links found before; a page with so many links takes as many. */
  private static long now(int links) {
    long now = System.currentTimeMillis() * STEPS_A_MS;
    return FOUND.accumulateAndGet(links, (last, n) -> Math.max(last, now) + n) - links;
  }

  /** Reports what brought no page, dates what did, and lets a link that was found again wait where that was, too. */
  @Override
  public void updateDbScore(Text url, CrawlDatum old, CrawlDatum datum, List<CrawlDatum> inlinked) {
    if (old != null && failedNow(old, datum)) {
      int protocol = protocolOf(datum);
      int status = HTTP.getOrDefault(protocol, 0);
      Page.Builder page = page("failed " + url + " " + datum.getFetchTime(), url, ticketOf(datum));
      session.ingest(page.setStatusCode(status).setFetchError(status == 0 ? "nutch status " + protocol : "").build());
    }
    if (old != null && unchangedNow(old, datum)) {
      session
          .unchanged(page("unchanged " + url + " " + datum.getFetchTime(), url, ticketOf(datum)))
          .flatMap(LinkscoreScoringFilter::next)
          .ifPresent(next -> datum.getMetaData().put(new Text(NEXT), new Text(next)));
    }
    setFetchTime(datum);
    List<Place> places = Place.of(datum);
    int before = places.size();
    inlinked.forEach(link -> places.addAll(Place.of(link)));
    if (datum.getStatus() == CrawlDatum.STATUS_DB_UNFETCHED && places.size() > before) {
      Place.keep(datum, places);
      datum.getMetaData().remove(MISSED);
    }
  }

  /** Gives a page the server's date, once an answer; Nutch fetches at once what is due later than its longest interval. */
  private void setFetchTime(CrawlDatum datum) {
    Writable next = datum.getMetaData().remove(new Text(NEXT));
    int status = datum.getStatus();
    if (next != null && (status == CrawlDatum.STATUS_DB_FETCHED || status == CrawlDatum.STATUS_DB_NOTMODIFIED)) {
      long latest = System.currentTimeMillis() + 1000 * getConf().getLong("db.fetch.interval.max", LONGEST_S);
      datum.setFetchTime(Math.min(1000 * Long.parseLong(next.toString()), latest));
    }
  }

  /** Whether this update, and not an earlier one, brought the news that a fetch failed. */
  private static boolean failedNow(CrawlDatum old, CrawlDatum datum) {
    boolean gone =
        datum.getStatus() == CrawlDatum.STATUS_DB_GONE && old.getStatus() != CrawlDatum.STATUS_DB_GONE;
    return gone || datum.getRetriesSinceFetch() > old.getRetriesSinceFetch();
  }

  /** Whether this update brought the news that a site answered 304; of a page that came, parsing has sent the body. */
  private static boolean unchangedNow(CrawlDatum old, CrawlDatum datum) {
    return datum.getStatus() == CrawlDatum.STATUS_DB_NOTMODIFIED
        && protocolOf(datum) == ProtocolStatus.NOTMODIFIED
        && datum.getFetchTime() != old.getFetchTime();
  }

  /** A page whose event id is the same for the same fetch, because Hadoop runs a task again that failed. */
  private static Page.Builder page(String event, Text url, String ticket) {
    String id = UUID.nameUUIDFromBytes(event.getBytes(StandardCharsets.UTF_8)).toString();
    return Page.newBuilder().setEventId(id).setUrl(url.toString()).setTicket(Settings.ticket(ticket));
  }

  private static int protocolOf(CrawlDatum datum) {
    Writable said = datum.getMetaData().get(Nutch.WRITABLE_PROTO_STATUS_KEY);
    return said instanceof ProtocolStatus ? ((ProtocolStatus) said).getCode() : ProtocolStatus.NOTFOUND;
  }
}
