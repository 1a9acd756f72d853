package linkscore.nutch;

import com.google.protobuf.ByteString;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;
import java.util.UUID;
import linkscore.Session;
import linkscore.Tickets;
import linkscore.v1.Page;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.crawl.Inlinks;
import org.apache.nutch.indexer.NutchDocument;
import org.apache.nutch.metadata.Nutch;
import org.apache.nutch.parse.Outlink;
import org.apache.nutch.parse.Parse;
import org.apache.nutch.parse.ParseData;
import org.apache.nutch.protocol.Content;
import org.apache.nutch.protocol.ProtocolStatus;
import org.apache.nutch.scoring.ScoringFilter;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Generates the URLs of a round in the order a linkscore server advises.
 *
 * <p>Every parsed page goes to the server with its body; each of its outlinks keeps the bucket and the ticket it was
 * given in its CrawlDatum. A round takes URLs by what their buckets are worth when it is generated, less the more links of
 * one bucket of which little is known are in it: start pages first, links the server does not know last. Failed fetches are reported when the crawl database is updated. While the server
 * is away the crawl goes on: links that waited keep the value they had, new ones come behind them.
 */
public final class LinkscoreScoringFilter implements ScoringFilter {
  /** What a parse filter sets in the parse metadata to say what a page was worth, in [0, 1]. */
  public static final String REWARD = "linkscore.reward";

  private static final Logger LOG = LoggerFactory.getLogger(LinkscoreScoringFilter.class);

  private static final Text SEED = new Text("linkscore.seed");
  private static final Text BUCKET = new Text("linkscore.bucket");
  private static final Text VALUE = new Text("linkscore.value");
  private static final Text TICKET = new Text("linkscore.ticket");
  private static final Text MISSED = new Text("linkscore.missed");
  private static final String ANSWER = "linkscore.answer";

  // Sort values, in the order of docs/clients.md: start pages, scored links (1 plus a value in [0, 1]), links that came
  // while the server was away, links it did not find on their page.
  private static final float SEEDS = 3;
  private static final float SCORED = 1;
  private static final float FALLBACK = 0.5f;
  private static final float LAST = 0;

  private static final int PAGES_A_LOG_LINE = 100;

  private Configuration conf;
  private Session session;
  private RoundValues round;

  @Override
  public void setConf(Configuration conf) {
    this.conf = conf;
    if (conf != null) {
      session = Sessions.of(conf);
      long size = conf.getLong(Generator.GENERATOR_TOP_N, Long.MAX_VALUE);
      round = new RoundValues(session, size, System::nanoTime);
    }
  }

  @Override
  public Configuration getConf() {
    return conf;
  }

  /** Marks start pages, which go first. */
  @Override
  public void injectedScore(Text url, CrawlDatum datum) {
    datum.getMetaData().put(SEED, new Text("1"));
  }

  /** A link keeps what {@link #distributeScoreToOutlinks} gave it. */
  @Override
  public void initialScore(Text url, CrawlDatum datum) {}

  @Override
  public float generatorSortValue(Text url, CrawlDatum datum, float initSort) {
    if (datum.getMetaData().containsKey(SEED)) {
      return SEEDS;
    }
    String bucket = text(datum, BUCKET);
    if (bucket == null) {
      return datum.getMetaData().containsKey(MISSED) ? LAST : FALLBACK;
    }
    double now = round.next(bucket).orElseGet(() -> valueThen(datum));
    return SCORED + (float) now;
  }

  /** Hands the ticket on to the page. */
  @Override
  public void passScoreBeforeParsing(Text url, CrawlDatum datum, Content content) {
    String ticket = text(datum, TICKET);
    if (ticket != null) {
      content.getMetadata().set(TICKET.toString(), ticket);
    }
  }

  /** Sends the page, and keeps what the server says of its outlinks for the task that writes them. */
  @Override
  public void passScoreAfterParsing(Text url, Content content, Parse parse) {
    ByteString ticket = Tickets.decode(content.getMetadata().get(TICKET.toString()));
    String segment = content.getMetadata().get(Nutch.SEGMENT_NAME_KEY);
    Outlink[] outlinks = parse.getData().getOutlinks();
    Page.Builder page =
        Page.newBuilder()
            .setEventId(eventId(segment + " " + url))
            .setUrl(url.toString())
            .setFinalUrl(content.getBaseUrl() == null ? "" : content.getBaseUrl())
            .setContentType(content.getContentType() == null ? "" : content.getContentType())
            .setBody(ByteString.copyFrom(content.getContent()))
            .setTicket(ticket);
    for (Outlink outlink : outlinks) { // their places on the page are read from the body
      page.addOutlinksBuilder().setUrl(outlink.getToUrl()).setAnchorText(outlink.getAnchor());
    }
    session
        .ingest(page.build())
        .ifPresent(result -> parse.getData().getParseMeta().set(ANSWER, Answer.of(outlinks, result.links())));
    reward(url, ticket, parse.getData().getParseMeta().get(REWARD));
    if (session.pages.sum() % PAGES_A_LOG_LINE == 0) {
      LOG.info("linkscore: {}", session);
    }
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
    Map<String, Answer.Row> rows = said == null ? new HashMap<>() : Answer.read(said);
    for (Entry<Text, CrawlDatum> target : targets) {
      Answer.Row row = rows.get(Answer.form(target.getKey().toString()));
      if (said == null) {
        session.fallback.increment();
      } else if (row == null) {
        session.missed.increment();
        target.getValue().getMetaData().put(MISSED, new Text("1"));
      } else {
        session.scored.increment();
        place(target.getValue(), row.bucket, row.value, row.ticket);
      }
    }
    return adjust;
  }

  /** Reports a fetch that failed; lets a link that was found again wait where it is worth most. */
  @Override
  public void updateDbScore(Text url, CrawlDatum old, CrawlDatum datum, List<CrawlDatum> inlinked) {
    round.renew();
    if (old != null && failedNow(old, datum)) {
      session.ingest(failure(url, datum));
    }
    if (datum.getStatus() == CrawlDatum.STATUS_DB_UNFETCHED) {
      for (CrawlDatum link : inlinked) {
        String bucket = text(link, BUCKET);
        if (bucket != null && (text(datum, BUCKET) == null || valueThen(link) > valueThen(datum))) {
          place(datum, bucket, String.valueOf(valueThen(link)), text(link, TICKET));
        }
      }
    }
  }

  @Override
  public float indexerScore(
      Text url,
      NutchDocument doc,
      CrawlDatum dbDatum,
      CrawlDatum fetchDatum,
      Parse parse,
      Inlinks inlinks,
      float initScore) {
    return initScore;
  }

  private void reward(Text url, ByteString ticket, String worth) {
    if (worth == null) {
      return;
    }
    try {
      session.reward(url.toString(), ticket, Double.parseDouble(worth));
    } catch (NumberFormatException e) {
      LOG.warn("linkscore: {} of {} is no number: {}", REWARD, url, worth);
    }
  }

  private static void place(CrawlDatum datum, String bucket, String value, String ticket) {
    datum.getMetaData().put(BUCKET, new Text(bucket));
    datum.getMetaData().put(VALUE, new Text(value));
    datum.getMetaData().put(TICKET, new Text(ticket == null ? "" : ticket));
    datum.getMetaData().remove(MISSED);
    datum.setScore(Float.parseFloat(value));
  }

  /** Whether this update, and not an earlier one, brought the news that a fetch failed. */
  private static boolean failedNow(CrawlDatum old, CrawlDatum datum) {
    boolean gone =
        datum.getStatus() == CrawlDatum.STATUS_DB_GONE && old.getStatus() != CrawlDatum.STATUS_DB_GONE;
    return gone || datum.getRetriesSinceFetch() > old.getRetriesSinceFetch();
  }

  private static Page failure(Text url, CrawlDatum datum) {
    Writable said = datum.getMetaData().get(Nutch.WRITABLE_PROTO_STATUS_KEY);
    int protocol = said instanceof ProtocolStatus ? ((ProtocolStatus) said).getCode() : ProtocolStatus.NOTFOUND;
    int status = httpStatus(protocol);
    return Page.newBuilder()
        .setEventId(eventId("failed " + url + " " + datum.getFetchTime()))
        .setUrl(url.toString())
        .setStatusCode(status)
        .setFetchError(status == 0 ? "nutch status " + protocol : "")
        .setTicket(Tickets.decode(text(datum, TICKET)))
        .build();
  }

  private static int httpStatus(int protocol) {
    switch (protocol) {
      case ProtocolStatus.NOTFOUND:
        return 404;
      case ProtocolStatus.GONE:
        return 410;
      case ProtocolStatus.ACCESS_DENIED:
        return 403;
      default:
        return 0;
    }
  }

  /** The same for the same fetch, because Hadoop runs a task again that failed. */
  private static String eventId(String of) {
    return UUID.nameUUIDFromBytes(of.getBytes(StandardCharsets.UTF_8)).toString();
  }

  private static double valueThen(CrawlDatum datum) {
    String value = text(datum, VALUE);
    return value == null ? 0 : Double.parseDouble(value);
  }

  private static String text(CrawlDatum datum, Text key) {
    Writable value = datum.getMetaData().get(key);
    return value == null ? null : value.toString();
  }
}
