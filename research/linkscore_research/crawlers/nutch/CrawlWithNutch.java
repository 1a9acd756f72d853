import java.io.IOException;
import java.io.OutputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileUtil;
import org.apache.hadoop.io.MapFile;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.CrawlDb;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.crawl.Injector;
import org.apache.nutch.fetcher.Fetcher;
import org.apache.nutch.parse.ParseSegment;
import org.apache.nutch.util.NutchConfiguration;

/**
 * Crawls a site with Nutch, plain or in the order of a linkscore server, and prints what it fetched: {@code java -cp
 * "$NUTCH_HOME/conf:$NUTCH_HOME/lib/*" CrawlWithNutch.java --start http://shop.example/ --fetches 500 --target
 * localhost:7411}. Without a target links are in the order of scoring-opic, Nutch's default. The plugins are those of
 * {@code NUTCH_HOME} and of {@code --plugins}.
 *
 * <p>What {@code bin/crawl} does, in one virtual machine: inject once, then rounds of generate, fetch, parse, updatedb.
 */
public final class CrawlWithNutch {
  private static final String PLUGINS = "protocol-http|parse-html|urlfilter-validator|urlnormalizer-(pass|basic)|";
  private static final int TOP_N = 50; // the size that the plugin's README advises

  private final Path folder = Files.createTempDirectory("nutch");
  private final Configuration nutch = NutchConfiguration.create();
  private final boolean isOrdered;

  private CrawlWithNutch(Map<String, String> options) throws IOException {
    isOrdered = options.containsKey("target") && !options.get("target").isEmpty();
    Configuration site = new Configuration(false);
    settings(options).forEach(site::set);
    Files.createDirectories(folder.resolve("conf"));
    try (OutputStream file = Files.newOutputStream(folder.resolve("conf/nutch-site.xml"))) {
      site.writeXml(file); // for the virtual machines that generate
    }
    site.forEach(setting -> nutch.set(setting.getKey(), setting.getValue()));
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>(Map.of("fetches", "500", "plugins", "plugins", "proxy", ""));
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    CrawlWithNutch crawl = new CrawlWithNutch(options);
    try {
      crawl.crawl(options.get("start"), Integer.parseInt(options.get("fetches")));
    } finally {
      FileUtil.fullyDelete(crawl.folder.toFile());
    }
  }

  /** What a user writes into nutch-site.xml; both orders have the same, but for what orders. */
  private Map<String, String> settings(Map<String, String> options) {
    Map<String, String> settings = new HashMap<>();
    String more = Path.of(options.get("plugins")).toAbsolutePath().toString();
    settings.put("plugin.folders", System.getenv("NUTCH_HOME") + "/plugins," + more);
    settings.put("plugin.includes", PLUGINS + (isOrdered ? "scoring-linkscore" : "scoring-opic"));
    settings.put("http.agent.name", "linkscore-nutch-example");
    settings.put("db.ignore.external.links", "true");
    settings.put("db.max.outlinks.per.page", "-1");
    settings.put("db.fetch.retry.max", "1");
    settings.put("http.content.limit", "-1");
    settings.put("parser.html.outlinks.ignore_tags", "link,img,script,form,frame,iframe");
    settings.put("fetcher.server.delay", "0.0");
    settings.put("fetcher.server.min.delay", "0.0");
    settings.put("fetcher.threads.per.queue", "2");
    settings.put("mapreduce.task.io.sort.mb", "32");
    settings.put("hadoop.tmp.dir", path("tmp"));
    settings.put("mapreduce.cluster.temp.dir", path("tmp")); // the working folder, unless said
    if (isOrdered) {
      settings.put("linkscore.target", options.get("target"));
    }
    if (!options.get("proxy").isEmpty()) {
      URI proxy = URI.create(options.get("proxy"));
      settings.put("http.proxy.host", proxy.getHost());
      settings.put("http.proxy.port", "" + proxy.getPort());
    }
    return settings;
  }

  private void crawl(String start, int fetches) throws Exception {
    Files.createDirectories(folder.resolve("urls"));
    Files.writeString(folder.resolve("urls/seeds"), start + "\n");
    run(new Injector(), path("db"), path("urls"));
    int fetched = 0;
    int rounds = 0;
    for (; fetched < fetches && generate(Math.min(TOP_N, fetches - fetched)); rounds++) {
      String segment = newestSegment();
      run(new Fetcher(), segment, "-threads", "2");
      run(new ParseSegment(), segment);
      run(new CrawlDb(), path("db"), segment);
      fetched += print(segment);
    }
    System.err.println("rounds " + rounds);
  }

  private String path(String name) {
    return folder.resolve(name).toString();
  }

  private void run(Tool tool, String... arguments) throws Exception {
    if (ToolRunner.run(nutch, tool, arguments) != 0) {
      throw new IOException(tool.getClass().getSimpleName() + " failed: " + String.join(" ", arguments));
    }
  }

  /** Returns whether there is another round: Nutch's generator says 1 if nothing waits. */
  private boolean generate(int size) throws Exception {
    String[] arguments = {path("db"), path("segments"), "-noFilter", "-topN", "" + size};
    if (!isOrdered) {
      return ToolRunner.run(nutch, new Generator(), arguments) == 0;
    }
    // bin/nutch plugin scoring-linkscore linkscore.nutch.Generate
    List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(List.of("-Xmx300m", "-Dlog4j2.configurationFile=" + System.getProperty("log4j2.configurationFile", "")));
    command.addAll(List.of("-cp", path("conf") + ":" + System.getProperty("java.class.path")));
    command.addAll(List.of("org.apache.nutch.plugin.PluginRepository", "scoring-linkscore", "linkscore.nutch.Generate"));
    command.addAll(List.of(arguments));
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start().waitFor() == 0;
  }

  private String newestSegment() throws IOException {
    try (Stream<Path> segments = Files.list(folder.resolve("segments"))) {
      return Collections.max(segments.toList()).toString();
    }
  }

  /** Prints what a round fetched, in the order of URLs, and returns how many pages it were. */
  private int print(String segment) throws IOException {
    int fetched = 0;
    var files = org.apache.hadoop.fs.FileSystem.getLocal(nutch);
    for (var part : files.globStatus(new org.apache.hadoop.fs.Path(segment, "crawl_fetch/part-*"))) {
      try (MapFile.Reader pages = new MapFile.Reader(part.getPath(), nutch)) {
        Text url = new Text();
        CrawlDatum page = new CrawlDatum();
        while (pages.next(url, page)) {
          if (page.getStatus() != CrawlDatum.STATUS_LINKED) { // where a redirection leads: waits like any other
            boolean well = page.getStatus() == CrawlDatum.STATUS_FETCH_SUCCESS;
            System.out.println((well ? "200" : CrawlDatum.getStatusName(page.getStatus())) + "\t" + url);
            fetched++;
          }
        }
      }
    }
    return fetched;
  }
}
