import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
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
  private static final CountDownLatch ENOUGH = new CountDownLatch(1);
  private static int left;

  private CrawlWithHeritrix() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = options(arguments);
    String target = options.getOrDefault("target", "");
    left = Integer.parseInt(options.getOrDefault("fetches", "500"));
    Path folder = Files.createTempDirectory("heritrix");
    if (!options.getOrDefault("proxy", "").isEmpty()) {
      resolveToLoopback(folder, URI.create(options.get("start")).getHost());
    }
    Path beans = folder.resolve("crawler-beans.cxml");
    Files.writeString(beans, beans(options, target));
    CrawlJob job = new CrawlJob(beans.toFile());
    job.validateConfiguration();
    if (!job.hasValidApplicationContext()) {
      throw new IllegalStateException("no valid job: " + beans);
    }
    job.launch();
    await(job);
    String last = target.isEmpty() ? "Heritrix's own order" : report(job);
    System.err.println(last);
    Runtime.getRuntime().halt(0); // Heritrix would go on with what it has in hand
  }

  /** The counts of the plugin. */
  private static String report(CrawlJob job) {
    return ((Processor) job.getJobContext().getBean("linkscore")).report().strip();
  }

  private static Map<String, String> options(String[] arguments) {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    return options;
  }

  /** Heritrix resolves names itself, though a proxy does: a stored site has none, so it is given one, and so is this machine. */
  private static void resolveToLoopback(Path folder, String host) throws IOException {
    String own = new String(new ProcessBuilder("hostname").start().getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    Path hosts = Files.writeString(folder.resolve("hosts"), "127.0.0.1 localhost " + host + " " + own);
    System.setProperty("jdk.net.hosts.file", hosts.toString());
  }

  /** The beans of a new job, changed as a user would change them. */
  private static String beans(Map<String, String> options, String target) throws IOException {
    String beans;
    try (InputStream profile = CrawlJob.class.getResourceAsStream(PROFILE)) {
      beans = new String(profile.readAllBytes(), StandardCharsets.UTF_8);
    }
    beans = beans.replaceFirst("metadata\\.operatorContactUrl=.*", overrides(options.getOrDefault("proxy", "")));
    beans = beans.replace("http://example.example/example", options.get("start"));
    String first = target.isEmpty() ? "" : "<ref bean=\"linkscore\"/>";
    beans = beans.replaceFirst("<ref bean=\"warcWriter\"/>", "<ref bean=\"printed\"/>" + first);
    beans = beans.replaceFirst("<bean id=\"preparer\"", bean("printed", Printed.class.getName(), "") + "$0");
    return target.isEmpty() ? beans : ordered(beans, target);
  }

  private static String overrides(String proxy) {
    String overrides =
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
    if (proxy.isEmpty()) {
      return overrides;
    }
    URI address = URI.create(proxy);
    return overrides + "\nfetchHttp.httpProxyHost=" + address.getHost() + "\nfetchHttp.httpProxyPort=" + address.getPort();
  }

  /** The two beans of the README, and what uses the policy. */
  private static String ordered(String beans, String target) {
    String property = "<property name=\"target\" value=\"" + target + "\"/>";
    String two =
        bean("linkscore", "linkscore.heritrix.LinkscoreProcessor", property)
            + bean("linkscorePrecedence", "linkscore.heritrix.LinkscorePrecedencePolicy", "");
    String policy = "<property name=\"uriPrecedencePolicy\" ref=\"linkscorePrecedence\"/>";
    return beans.replaceFirst("<bean id=\"preparer\"[^>]*>", two + "$0" + policy);
  }

  private static String bean(String id, String type, String properties) {
    return "<bean id=\"" + id + "\" class=\"" + type.replace("$", "\\$") + "\">" + properties + "</bean>\n";
  }

  /** Returns when enough is fetched, or nothing is left. */
  private static void await(CrawlJob job) throws InterruptedException {
    boolean begun = false;
    while (!ENOUGH.await(200, java.util.concurrent.TimeUnit.MILLISECONDS)) {
      CrawlController controller = job.getCrawlController();
      begun |= controller != null && controller.isRunning();
      if (begun && controller.getState() == CrawlController.State.FINISHED) {
        return;
      }
    }
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
