package linkscore.heritrix;

import com.google.protobuf.ByteString;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.logging.Level;
import java.util.logging.Logger;
import linkscore.Link;
import linkscore.Session;
import linkscore.Settings;
import linkscore.v1.Page;
import org.archive.crawler.framework.CrawlController;
import org.archive.crawler.framework.CrawlStatus;
import org.archive.modules.CrawlURI;
import org.archive.modules.Processor;
import org.springframework.beans.factory.annotation.Autowired;

/**
 * Sends every fetched page to a linkscore server, failed fetches too, and gives each link of the page its value and
 * ticket. A bean at the head of the disposition chain, ahead of {@code candidates}, which schedules the links.
 *
 * <p>Only navigational links (hop L, not of a {@code <link>} element) are scored; the others go last. While the server is
 * away links are scheduled by what links of their URL shape were worth last.
 */
public final class LinkscoreProcessor extends Processor {
  /** What another processor puts into the data of a URI to say what its page was worth: a Double in [0, 1]. */
  public static final String REWARD = "linkscore.reward";

  static final String VALUE = "linkscore.value";
  static final String TICKET = "linkscore.ticket";
  static final String MISSED = "linkscore.missed";

  private static final Logger LOG = Logger.getLogger(LinkscoreProcessor.class.getName());

  // A page may have 8 MiB (setting max_body_bytes of the server).
  private static final int MAX_BODY_BYTES = 8 << 20;
  private static final int FIRST_FAILURE = 400;
  private static final int NOT_MODIFIED = 304;
  // From S_DOMAIN_UNRESOLVABLE to S_TIMEOUT: no answer. Lower ones are Heritrix's own doing, robots.txt or the scope.
  private static final int LAST_NETWORK_FAILURE = -5;

  private final Map<String, String> settings = new HashMap<>();
  private final AtomicBoolean hasEnded = new AtomicBoolean();
  private Runnable end = () -> {};
  private Session session;

  /** Address of the server; localhost:7411 if not set. */
  public void setTarget(String target) {
    settings.put("target", target);
  }

  /** Further settings by their names in {@link Session#configured}: {@code budget}, {@code token.file} and the like. */
  public void setSettings(Map<String, String> further) {
    settings.putAll(further);
  }

  /** What ends the job when the crawl has stopped; Heritrix sets it. */
  @Autowired(required = false)
  public void setCrawlController(CrawlController controller) {
    end = () -> controller.requestCrawlStop(CrawlStatus.FINISHED);
  }

  @Override
  public void start() {
    if (!isRunning()) {
      session = Session.configured("heritrix", settings);
      hasEnded.set(false);
      super.start();
    }
  }

  @Override
  public void stop() {
    if (isRunning()) {
      session.close();
      super.stop();
    }
  }

  /** The counts, in the processors' report. */
  @Override
  public String report() {
    return super.report() + "  linkscore: " + session + "\n";
  }

  @Override
  protected boolean shouldProcess(CrawlURI uri) {
    boolean web = uri.getURI().startsWith("http:") || uri.getURI().startsWith("https:");
    return web && !uri.isPrerequisite() && !uri.getPathFromSeed().endsWith("P");
  }

  @Override
  protected void innerProcess(CrawlURI uri) {
    ByteString ticket = Settings.ticket((String) uri.getData().get(TICKET));
    int status = uri.getFetchStatus();
    if (status >= FIRST_FAILURE) {
      session.failed(uri.getURI(), status, "", ticket);
    } else if (status < 0 && status >= LAST_NETWORK_FAILURE) {
      session.failed(uri.getURI(), 0, "heritrix status " + status, ticket);
    } else if (status == NOT_MODIFIED) {
      session.unchanged(Page.newBuilder().setUrl(uri.getURI()).setTicket(ticket));
    } else if (status > 0 && uri.getContentType() != null && uri.getContentType().contains("html")) {
      page(uri, ticket);
    }
    Object worth = uri.getData().get(REWARD);
    if (worth instanceof Double) {
      session.reward(uri.getURI(), ticket, (Double) worth);
    }
    if (!session.stopped().isEmpty() && hasEnded.compareAndSet(false, true)) {
      end.run(); // fetches under way are finished
    }
  }

  private void page(CrawlURI uri, ByteString ticket) {
    List<CrawlURI> links = new ArrayList<>();
    for (CrawlURI link : uri.getOutLinks()) {
      if (isNavigation(link)) {
        links.add(link);
      } else {
        link.getData().put(MISSED, true);
      }
    }
    Page.Builder page =
        Page.newBuilder()
            .setUrl(uri.getURI())
            .setStatusCode(uri.getFetchStatus())
            .setContentType(uri.getContentType())
            .setTicket(ticket);
    try (InputStream in = uri.getRecorder().getContentReplayInputStream()) {
      page.setBody(ByteString.copyFrom(in.readNBytes(MAX_BODY_BYTES)));
    } catch (IOException e) {
      LOG.log(Level.WARNING, "linkscore: no body of " + uri, e);
      return;
    }
    links.forEach(link -> page.addOutlinksBuilder().setUrl(link.getURI()));
    session
        .ingest(page.build())
        .ifPresentOrElse(answer -> place(uri, links, Link.of(answer)), () -> guess(links));
  }

  /** Gives links of an outage the value links of their shape had last: Heritrix asks once, so no answer comes too late. */
  private void guess(List<CrawlURI> links) {
    session.fallback.add(links.size());
    for (CrawlURI link : links) {
      session.guess(link.getURI()).ifPresent(guess -> link.getData().put(VALUE, guess.value));
    }
  }

  /** Whether a reader could follow it: not embedded, not guessed, and not one of the head's feeds and interfaces. */
  private static boolean isNavigation(CrawlURI link) {
    return "L".equals(link.getLastHop()) && !String.valueOf(link.getViaContext()).startsWith("link");
  }

  /** Gives links their places, in their order, and takes those off the page that a setting of the crawl forbids for good. */
  private void place(CrawlURI page, List<CrawlURI> uris, List<Link> links) {
    for (int i = 0; i < uris.size(); i++) {
      Link link = i < links.size() && links.get(i).usable() ? links.get(i) : null;
      Map<String, Object> data = uris.get(i).getData();
      (link == null ? session.missed : session.scored).increment();
      if (link == null || link.isSkipped()) { // by a setting of the crawl: it goes last
        data.put(MISSED, true);
      } else {
        data.put(VALUE, link.bucketValue);
      }
      if (link != null) {
        data.put(TICKET, Settings.text(link.ticket));
      }
      if (link != null && link.isDropped()) {
        page.getOutLinks().remove(uris.get(i));
      }
    }
  }
}
