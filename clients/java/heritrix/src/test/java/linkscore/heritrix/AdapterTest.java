package linkscore.heritrix;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import linkscore.FakeServer;
import org.archive.io.RecordingInputStream;
import org.archive.crawler.framework.CrawlController;
import org.archive.crawler.framework.CrawlStatus;
import org.archive.modules.CrawlURI;
import org.archive.modules.extractor.Hop;
import org.archive.modules.extractor.HTMLLinkContext;
import org.archive.modules.extractor.LinkContext;
import org.archive.net.UURIFactory;
import org.archive.util.Recorder;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AdapterTest {
  private static final String PAGE = "http://a.test/";

  @TempDir Path folder;
  private FakeServer server;
  private final LinkscoreProcessor processor = new LinkscoreProcessor();
  private final LinkscorePrecedencePolicy policy = new LinkscorePrecedencePolicy();

  @BeforeEach
  void start() throws Exception {
    server = new FakeServer();
    processor.setTarget(server.target());
    processor.setSettings(Map.of("timeout.ms", "3000"));
    processor.start();
  }

  @AfterEach
  void stop() {
    processor.stop();
    server.close();
  }

  /** A URI as the disposition chain sees it: Heritrix counts the attempt when all processors are done. */
  private static CrawlURI fetched(int status) throws Exception {
    return fetched(PAGE, status);
  }

  private static CrawlURI fetched(String url, int status) throws Exception {
    CrawlURI uri = new CrawlURI(UURIFactory.getInstance(url), "L", null, LinkContext.NAVLINK_MISC);
    uri.setFetchStatus(status);
    return uri;
  }

  /** A page with a bad link, a good one, and a guess found in a script. */
  private CrawlURI page() throws Exception {
    return page(PAGE);
  }

  private CrawlURI page(String url) throws Exception {
    CrawlURI uri = fetched(url, 200);
    uri.setContentType("text/html");
    Recorder recorder = new Recorder(folder.toFile(), "page");
    String head = "HTTP/1.1 200 OK\r\n\r\n";
    byte[] message = (head + "<a href=/bad><a href=/good>").getBytes(StandardCharsets.UTF_8);
    RecordingInputStream in = (RecordingInputStream) recorder.inputWrap(new ByteArrayInputStream(message));
    in.readNBytes(head.length());
    recorder.markContentBegin();
    in.readFully();
    recorder.close();
    uri.setRecorder(recorder);
    uri.getOutLinks().add(uri.createCrawlURI(url + "bad", LinkContext.NAVLINK_MISC, Hop.NAVLINK));
    uri.getOutLinks().add(uri.createCrawlURI(url + "good", LinkContext.NAVLINK_MISC, Hop.NAVLINK));
    uri.getOutLinks().add(uri.createCrawlURI(url + "guess", LinkContext.JS_MISC, Hop.SPECULATIVE));
    uri.getOutLinks().add(uri.createCrawlURI(url + "feed", HTMLLinkContext.get("link/@href"), Hop.NAVLINK));
    return uri;
  }

  private int precedence(CrawlURI page, String path) {
    CrawlURI link =
        page.getOutLinks().stream().filter(found -> found.getURI().equals(PAGE + path)).findFirst().orElseThrow();
    policy.uriScheduled(link);
    return link.getPrecedence();
  }

  @Test
  void goodLinksComeBeforeBadOnesAndGuessesLast() throws Exception {
    CrawlURI page = page();
    processor.process(page);
    assertEquals("<a href=/bad><a href=/good>", server.pages.get(0).getBody().toStringUtf8());
    assertEquals(2, server.pages.get(0).getOutlinksCount());
    assertEquals(14, precedence(page, "good"));
    assertTrue(precedence(page, "good") < precedence(page, "bad"));
    assertEquals(120, precedence(page, "guess"));
    assertEquals(120, precedence(page, "feed"));
  }

  @Test
  void linksThatASettingForbidsForGoodAreTakenOffThePage() throws Exception {
    CrawlURI page = page("http://copies.test/");
    processor.process(page);
    assertEquals(
        List.of("guess", "feed"),
        page.getOutLinks().stream().map(link -> link.getURI().substring(19)).collect(Collectors.toList()));
  }

  @Test
  void theTicketOfALinkGoesBackWithItsPage() throws Exception {
    CrawlURI page = page();
    page.getData().put("linkscore.ticket", "dGc");
    processor.process(page);
    assertEquals("tg", server.pages.get(0).getTicket().toStringUtf8());
  }

  @Test
  void failuresAreReportedAndHeritrixsOwnDoingIsNot() throws Exception {
    for (int status : new int[] {404, -2, -9998, -5000, -50, 0}) { // the last: deferred, not tried
      processor.process(fetched(status));
    }
    assertEquals(2, server.pages.size());
    assertEquals(404, server.pages.get(0).getStatusCode());
    assertEquals("heritrix status -2", server.pages.get(1).getFetchError());
  }

  @Test
  void aPageThatIsAsItWasIsReportedToACrawlWithRevisits() throws Exception {
    processor.process(fetched(304));
    assertEquals(List.of(), server.pages);
    processor.stop();
    server.revisits = true;
    processor.start();
    processor.process(fetched(304));
    assertTrue(server.pages.get(0).getNotModified());
    assertFalse(server.pages.get(0).hasBody());
  }

  @Test
  void aRewardInTheDataIsReported() throws Exception {
    CrawlURI page = page();
    page.getData().put(LinkscoreProcessor.REWARD, 0.5);
    processor.process(page);
    assertEquals(.5, server.rewards.get(0).getReward());
  }

  @Test
  void withoutAServerLinksAreWorthWhatLinksOfTheirShapeWereLast() throws Exception {
    processor.process(page());
    server.close();
    CrawlURI page = page();
    page.getOutLinks().add(page.createCrawlURI(PAGE + "unlike/any", LinkContext.NAVLINK_MISC, Hop.NAVLINK));
    processor.process(page);
    assertEquals(14, precedence(page, "good"));
    assertEquals(119, precedence(page, "unlike/any"));
    assertEquals(120, precedence(page, "guess"));
  }

  @Test
  void seedsGoFirstAndWithoutAServerLinksWaitBehindWhatWasScored() throws Exception {
    CrawlURI seed = fetched(0);
    seed.setSeed(true);
    policy.uriScheduled(seed);
    assertEquals(1, seed.getPrecedence());
    server.close();
    CrawlURI page = page();
    processor.process(page);
    assertEquals(119, precedence(page, "good"));
    assertFalse(page.getOutLinks().isEmpty());
  }

  @Test
  void aBudgetEndsTheJobOnce() throws Exception {
    List<CrawlStatus> ends = new ArrayList<>();
    processor.setCrawlController(
        new CrawlController() {
          private static final long serialVersionUID = 1;

          @Override
          public synchronized void requestCrawlStop(CrawlStatus status) {
            ends.add(status);
          }
        });
    server.most = 2;
    processor.process(page());
    assertEquals(List.of(), ends);
    processor.process(page());
    processor.process(page());
    assertEquals(List.of(CrawlStatus.FINISHED), ends);
  }
}
