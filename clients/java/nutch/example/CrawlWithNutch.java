import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.hadoop.conf.Configuration;
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
 * <p>What {@code bin/crawl} does, in one virtual machine: inject once, then rounds of generate, fetch, parse, updatedb. With
 * {@code --folder} a crawl is kept, and goes on when it is run again; {@code --adddays} as for {@code bin/nutch generate}.
 * With {@code --revisits} the server names so many known pages a day to fetch again.
 */
public final class CrawlWithNutch {
  private static final String PLUGINS = "protocol-http|parse-html|urlfilter-validator|urlnormalizer-(pass|basic)|";
  private static final int TOP_N = 50; // the size that the plugin's README advises

  private final Path folder;
  private final Configuration nutch;
  private final boolean ordered;
  private final String addDays;

  private CrawlWithNutch(Path folder, Configuration nutch, boolean ordered, String addDays) {
    this.folder = folder;
    this.nutch = nutch;
    this.ordered = ordered;
    this.addDays = addDays;
  }

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = options(arguments);
    String kept = options.getOrDefault("folder", "");
    Path folder = kept.isEmpty() ? Files.createTempDirectory("nutch") : Path.of(kept).toAbsolutePath();
    String target = options.getOrDefault("target", "");
    Configuration site = new Configuration(false);
    settings(options, target).forEach(site::set);
    site.set("hadoop.tmp.dir", folder.resolve("tmp").toString());
    site.set("mapreduce.cluster.temp.dir", folder.resolve("tmp").toString()); // the working folder, unless said
    Files.createDirectories(folder.resolve("conf"));
    try (OutputStream file = Files.newOutputStream(folder.resolve("conf/nutch-site.xml"))) {
      site.writeXml(file); // for the virtual machines that generate
    }
    Configuration nutch = NutchConfiguration.create();
    site.forEach(setting -> nutch.set(setting.getKey(), setting.getValue()));
    try {
      new CrawlWithNutch(folder, nutch, !target.isEmpty(), options.getOrDefault("adddays", "0"))
          .crawl(options.get("start"), Integer.parseInt(options.getOrDefault("fetches", "500")));
    } finally {
      if (kept.isEmpty()) {
        delete(folder);
      }
    }
  }

  private static Map<String, String> options(String[] arguments) {
    Map<String, String> options = new HashMap<>();
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    return options;
  }

  /** What a user writes into nutch-site.xml; both orders have the same, but for what orders. */
  private static Map<String, String> settings(Map<String, String> options, String target) {
    Map<String, String> settings = new HashMap<>();
    Path more = Path.of(options.getOrDefault("plugins", "plugins")).toAbsolutePath();
    settings.put("plugin.folders", System.getenv("NUTCH_HOME") + "/plugins," + more);
    settings.put("plugin.includes", PLUGINS + (target.isEmpty() ? "scoring-opic" : "scoring-linkscore"));
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
    if (!target.isEmpty()) {
      settings.put("linkscore.target", target);
      settings.put("db.parsemeta.to.crawldb", "linkscore.next");
      settings.put("db.fetch.interval.max", "31536000"); // the longest interval of a crawl with revisits
    }
    if (options.containsKey("revisits")) {
      settings.put("linkscore.revisits.per.day", options.get("revisits"));
    }
    String proxy = options.getOrDefault("proxy", "");
    if (!proxy.isEmpty()) {
      String[] parts = proxy.replaceFirst("^https?://", "").split("[:/]");
      settings.put("http.proxy.host", parts[0]);
      settings.put("http.proxy.port", parts[1]);
    }
    return settings;
  }

  private void crawl(String start, int fetches) throws Exception {
    if (!Files.exists(folder.resolve("db"))) {
      Files.createDirectories(folder.resolve("urls"));
      Files.writeString(folder.resolve("urls/seeds"), start + "\n");
      run(new Injector(), path("db"), path("urls"));
    }
    int fetched = 0;
    int rounds = 0;
    while (fetched < fetches && generate(Math.min(TOP_N, fetches - fetched))) {
      String segment = newestSegment().toString();
      run(new Fetcher(), segment, "-threads", "2");
      run(new ParseSegment(), segment);
      run(new CrawlDb(), path("db"), segment);
      fetched += print(segment);
      rounds++;
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
    List<String> arguments = new ArrayList<>(List.of(path("db"), path("segments"), "-noFilter", "-topN", "" + size, "-adddays", addDays));
    if (!ordered) {
      return ToolRunner.run(nutch, new Generator(), arguments.toArray(String[]::new)) == 0;
    }
    // bin/nutch plugin scoring-linkscore linkscore.nutch.Generate
    List<String> command = new ArrayList<>(List.of(ProcessHandle.current().info().command().orElse("java")));
    command.addAll(List.of("-Xmx300m", "-Dlog4j2.configurationFile=" + System.getProperty("log4j2.configurationFile", "")));
    command.addAll(List.of("-cp", path("conf") + ":" + System.getProperty("java.class.path")));
    command.addAll(List.of("org.apache.nutch.plugin.PluginRepository", "scoring-linkscore", "linkscore.nutch.Generate"));
    command.addAll(arguments);
    return new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start().waitFor() == 0;
  }

  private Path newestSegment() throws IOException {
    try (Stream<Path> segments = Files.list(folder.resolve("segments"))) {
      return Collections.max(segments.toList());
    }
  }

  /** Prints what a round fetched, in the order of URLs, and returns how many pages it were. */
  private int print(String segment) throws IOException {
    int fetched = 0;
    for (String part : Arrays.asList(Path.of(segment, "crawl_fetch").toFile().list())) {
      if (!part.startsWith("part-")) {
        continue;
      }
      var file = new org.apache.hadoop.fs.Path(segment + "/crawl_fetch/" + part);
      try (MapFile.Reader pages = new MapFile.Reader(file, nutch)) {
        Text url = new Text();
        CrawlDatum page = new CrawlDatum();
        while (pages.next(url, page)) {
          if (page.getStatus() == CrawlDatum.STATUS_LINKED) {
            continue; // where a redirection leads: waits like any other
          }
          boolean well = page.getStatus() == CrawlDatum.STATUS_FETCH_SUCCESS;
          System.out.println((well ? "200" : CrawlDatum.getStatusName(page.getStatus())) + "\t" + url);
          fetched++;
        }
      }
    }
    return fetched;
  }

  private static void delete(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      files.sorted(Collections.reverseOrder()).forEach(file -> file.toFile().delete());
    }
  }
}
