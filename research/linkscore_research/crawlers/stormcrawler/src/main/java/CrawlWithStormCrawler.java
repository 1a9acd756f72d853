import crawlercommons.urlfrontier.URLFrontierGrpc;
import crawlercommons.urlfrontier.Urlfrontier.QueueDelayParams;
import io.grpc.ManagedChannel;
import io.grpc.ManagedChannelBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.storm.Config;
import org.apache.storm.LocalCluster;
import org.apache.storm.generated.StormTopology;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.BoltDeclarer;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.TopologyBuilder;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Fields;
import org.apache.storm.tuple.Tuple;
import org.apache.stormcrawler.Constants;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.bolt.FetcherBolt;
import org.apache.stormcrawler.bolt.JSoupParserBolt;
import org.apache.stormcrawler.bolt.URLPartitionerBolt;
import org.apache.stormcrawler.indexing.DummyIndexer;
import org.apache.stormcrawler.persistence.MemoryStatusUpdater;
import org.apache.stormcrawler.spout.MemorySpout;
import org.apache.stormcrawler.urlfrontier.Spout;
import org.apache.stormcrawler.urlfrontier.StatusUpdaterBolt;
import org.apache.stormcrawler.util.URLStreamGrouping;
import org.yaml.snakeyaml.Yaml;

/**
 * Crawls a site with StormCrawler, plain or in the order of a linkscore server, and prints what it fetched: {@code
 * CrawlWithStormCrawler --start http://shop.example/ --fetches 500 --target localhost:7411 --frontier localhost:7071};
 * {@code --proxy http://127.0.0.1:8080} fetches through a proxy. Without a target no page goes to linkscore; without a
 * frontier URLs wait in StormCrawler's own memory, by the time they were found.
 *
 * <p>StormCrawler's bolts are unchanged, and so are its spout and status bolt for URLFrontier.
 */
public final class CrawlWithStormCrawler {
  private static final String PERSISTED =
      "linkscore.bucket linkscore.score linkscore.value linkscore.ticket fetch.statusCode linkscore.next";
  private static final CountDownLatch ENOUGH = new CountDownLatch(1);
  private static final AtomicInteger LEFT = new AtomicInteger(); // the cluster is in this virtual machine

  private CrawlWithStormCrawler() {}

  public static void main(String[] arguments) throws Exception {
    Map<String, String> options = new HashMap<>(Map.of("fetches", "500", "target", "", "frontier", "", "proxy", ""));
    for (int i = 0; i + 1 < arguments.length; i += 2) {
      options.put(arguments[i].replaceFirst("^-+", ""), arguments[i + 1]);
    }
    LEFT.set(Integer.parseInt(options.get("fetches")));
    boolean frontier = !options.get("frontier").isEmpty();
    if (frontier) {
      withoutDelay(options.get("frontier"));
    }
    try (LocalCluster cluster = new LocalCluster()) {
      cluster.submitTopology("crawl", settings(options, frontier), topology(options.get("start"), frontier));
      ENOUGH.await();
      Runtime.getRuntime().halt(0); // a cluster takes half a minute to end
    }
  }

  /** A host is left alone for a second by default, as it should be; this one is the user's own. */
  private static void withoutDelay(String frontier) {
    ManagedChannel channel = ManagedChannelBuilder.forTarget(frontier).usePlaintext().build();
    try {
      URLFrontierGrpc.newBlockingStub(channel)
          .withWaitForReady()
          .setDelay(QueueDelayParams.newBuilder().setDelayRequestable(0).build());
    } finally {
      channel.shutdownNow();
    }
  }

  private static Config settings(Map<String, String> options, boolean frontier) throws IOException {
    Config settings = new Config();
    try (InputStream defaults = FetcherBolt.class.getResourceAsStream("/crawler-default.yaml")) {
      Map<String, Map<String, Object>> file = new Yaml().load(defaults);
      settings.putAll(file.get("config"));
    }
    settings.put("http.agent.name", "linkscore-stormcrawler-example");
    settings.put("http.content.limit", -1);
    settings.put("robots.noFollow.strict", false); // links with rel=nofollow too, as other crawlers do
    settings.put("fetcher.server.delay", 0.0f);
    settings.put("fetcher.server.min.delay", 0.0f);
    settings.put("fetcher.threads.number", 2);
    settings.put("fetcher.threads.per.queue", 2);
    settings.put("topology.bolt.wait.progressive.level2.count", 10); // 1,000 by default: 60 ms of spinning after each tuple
    settings.put("fetchInterval.default", -1);
    settings.put("fetchInterval.fetch.error", -1);
    settings.put("fetchInterval.error", -1);
    settings.put("urlfilters.config.file", "urlfilters.json");
    settings.put("parsefilters.config.file", "");
    settings.put("jsoup.filters.config.file", "");
    if (!options.get("target").isEmpty()) { // what the plugin's README says
      settings.put("jsoup.filters.config.file", "jsoupfilters.json");
      settings.put("linkscore.target", options.get("target"));
      settings.put("metadata.persist", List.of(PERSISTED.split(" ")));
    }
    if (frontier) {
      String[] address = options.get("frontier").split(":");
      settings.put("urlfrontier.host", address[0]);
      settings.put("urlfrontier.port", Integer.parseInt(address[1]));
      settings.put("urlfrontier.max.urls.per.bucket", 2); // as many as are fetched at once
      settings.put("spout.min.delay.queries", 20);
      settings.setMaxSpoutPending(4);
    }
    if (!options.get("proxy").isEmpty()) {
      URI proxy = URI.create(options.get("proxy"));
      settings.put("http.proxy.host", proxy.getHost());
      settings.put("http.proxy.port", proxy.getPort());
      settings.put("http.proxy.type", "HTTP");
    }
    return settings;
  }

  private static StormTopology topology(String start, boolean frontier) {
    TopologyBuilder made = new TopologyBuilder();
    if (frontier) {
      made.setSpout("spout", new Spout());
      made.setSpout("seeds", new MemorySpout(true, start));
    } else {
      made.setSpout("spout", new MemorySpout(start));
    }
    made.setBolt("partitioner", new URLPartitionerBolt()).shuffleGrouping("spout");
    made.setBolt("fetcher", new FetcherBolt()).fieldsGrouping("partitioner", new Fields("key"));
    made.setBolt("parser", new JSoupParserBolt()).localOrShuffleGrouping("fetcher");
    made.setBolt("indexer", new DummyIndexer()).localOrShuffleGrouping("parser");
    made.setBolt("printed", new Printed())
        .globalGrouping("fetcher")
        .globalGrouping("fetcher", Constants.StatusStreamName);
    BoltDeclarer status = made.setBolt("status", frontier ? new StatusUpdaterBolt() : new MemoryStatusUpdater());
    for (String bolt : frontier ? List.of("seeds", "fetcher", "parser", "indexer") : List.of("fetcher", "parser", "indexer")) {
      status.customGrouping(bolt, Constants.StatusStreamName, new URLStreamGrouping());
    }
    return made.createTopology();
  }

  /** Prints each page that was fetched: those that failed and redirections come on the status stream. */
  public static final class Printed extends BaseRichBolt {
    private static final long serialVersionUID = 1L;

    private transient OutputCollector collector;

    @Override
    public void prepare(Map<String, Object> settings, TopologyContext context, OutputCollector given) {
      collector = given;
    }

    @Override
    public void execute(Tuple page) {
      Metadata metadata = (Metadata) page.getValueByField("metadata");
      String status = metadata.getFirstValue("fetch.statusCode");
      int left = LEFT.getAndDecrement();
      if (left > 0) {
        System.out.println((status == null ? "failed" : status) + "\t" + page.getStringByField("url"));
      }
      if (left == 1) {
        ENOUGH.countDown();
      }
      collector.ack(page);
    }

    @Override
    public void declareOutputFields(OutputFieldsDeclarer declarer) {}
  }
}
