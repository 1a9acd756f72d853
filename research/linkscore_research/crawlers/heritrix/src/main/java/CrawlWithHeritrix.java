import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.archive.crawler.framework.CrawlController;
import org.archive.crawler.framework.CrawlJob;
import org.archive.modules.CrawlURI;
import org.archive.modules.Processor;

/**
 * Crawls a site with Heritrix, plain or in the order of a linkscore server, and prints what it fetched: {@code
 * CrawlWithHeritrix --start http://shop.example/ --fetches 500 --target localhost:7411}; {@code --proxy
 * http://127.0.0.1:8080} fetches through a proxy. Without a target the order is Heritrix's own.
 *
 * <p>The job is the profile that Heritrix gives new jobs, with one thread, no waits, no archive files, and the beans of
 * the plugin's README.
 */
public final class CrawlWithHeritrix {
  private static final String PROFILE = "/org/archive/crawler/restlet/profile-crawler-beans.cxml";
  private static final String OVERRIDES =
      String.join(
          "\n",
          "metadata.operatorContactUrl=http://example.org/",
          "crawlController.maxToeThreads=1",
          "crawlController.pauseAtStart=false",
          "preparer.preferenceEmbedHops=0",
          "fetchDns.acceptNonDnsResolves=true",
          "disposition.delayFactor=0",
          "disposition.minDelayMs=0",
          "disposition.maxDelayMs=0",
          "disposition.respectCrawlDelayUpToSeconds=0");
  private static final CountDownLatch ENOUGH = new CountDownLatch(1);
  private static int left;

  private CrawlWithHeritrix() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>(Map.of("target", "", "fetches", "500", "proxy", ""));
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    left = Integer.parseInt(options.get("fetches"));
    Path folder = Files.createTempDirectory("heritrix");
    if (!options.get("proxy").isEmpty()) {
      resolveToLoopback(folder, URI.create(options.get("start")).getHost());
    }
    Path beans = folder.resolve("crawler-beans.cxml");
    Files.writeString(beans, beans(options));
    CrawlJob job = new CrawlJob(beans.toFile());
    job.validateConfiguration();
    if (!job.hasValidApplicationContext()) {
      throw new IllegalStateException("no valid job: " + beans);
    }
    job.launch();
    while (!ENOUGH.await(200, TimeUnit.MILLISECONDS)) {
      CrawlController controller = job.getCrawlController();
      if (controller != null && controller.getState() == CrawlController.State.FINISHED) {
        break; // nothing is left
      }
    }
    if (job.getJobContext().containsBean("linkscore")) {
      System.err.println(job.getJobContext().getBean("linkscore", Processor.class).report().strip());
    }
    Runtime.getRuntime().halt(0); // Heritrix would go on with what it has in hand
  }

  /** Heritrix resolves names itself, though a proxy does: a stored site has none, so it is given one, and so is this machine. */
  private static void resolveToLoopback(Path folder, String host) throws IOException {
    String own = new String(new ProcessBuilder("hostname").start().getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 localhost " + host + " " + own);
    System.setProperty("jdk.net.hosts.file", hosts.toString());
  }

  /** The beans of a new job, changed as a user would change them: the plugin's readme says how. */
  private static String beans(Map<String, String> options) throws IOException {
    String beans;
    try (InputStream profile = CrawlJob.class.getResourceAsStream(PROFILE)) {
      beans = new String(profile.readAllBytes(), StandardCharsets.UTF_8);
    }
    String overrides = OVERRIDES;
    if (!options.get("proxy").isEmpty()) {
      URI proxy = URI.create(options.get("proxy"));
      overrides += "\nfetchHttp.httpProxyHost=" + proxy.getHost() + "\nfetchHttp.httpProxyPort=" + proxy.getPort();
    }
    beans = beans.replaceFirst("metadata\\.operatorContactUrl=.*", overrides);
    beans = beans.replace("http://example.example/example", options.get("start"));
    String printed = "<bean id=\"printed\" class=\"CrawlWithHeritrix\\$Printed\"/>\n";
    if (options.get("target").isEmpty()) {
      return beans
          .replaceFirst("<ref bean=\"warcWriter\"/>", "<ref bean=\"printed\"/>")
          .replaceFirst("<bean id=\"preparer\"", printed + "$0");
    }
    String property = "<property name=\"target\" value=\"" + options.get("target") + "\"/>";
    String two =
        "<bean id=\"linkscore\" class=\"linkscore.heritrix.LinkscoreProcessor\">" + property + "</bean>\n"
            + "<bean id=\"linkscorePrecedence\" class=\"linkscore.heritrix.LinkscorePrecedencePolicy\"/>\n";
    String policy = "<property name=\"uriPrecedencePolicy\" ref=\"linkscorePrecedence\"/>";
    return beans
        .replaceFirst("<ref bean=\"warcWriter\"/>", "<ref bean=\"printed\"/><ref bean=\"linkscore\"/>")
        .replaceFirst("<bean id=\"preparer\"[^>]*>", printed + two + "$0" + policy);
  }

  /** Prints each page that was asked for, robots.txt and names aside; there is one thread. */
  public static final class Printed extends Processor {
    @Override
    protected boolean shouldProcess(CrawlURI uri) {
      return uri.getURI().startsWith("http") && uri.getFetchStatus() > 0 && !uri.isPrerequisite();
    }

    @Override
    protected void innerProcess(CrawlURI uri) {
      if (left-- > 0) {
        System.out.println(uri.getFetchStatus() + "\t" + uri.getURI());
      } else {
        ENOUGH.countDown(); // one page late, so that what the last one was worth is sent
      }
    }
  }
}
