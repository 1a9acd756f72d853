package linkscore.nutch;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import linkscore.Session;
import org.apache.hadoop.conf.Configuration;

/** One session a crawl and server in this virtual machine, shared by all tasks that run in it. */
final class Sessions {
  private static final Map<String, Session> MADE = new ConcurrentHashMap<>();

  private Sessions() {}

  /** The session of a configuration; see {@link Session#configured} for its keys. */
  static Session of(Configuration conf) {
    String key = conf.get("linkscore.target") + " " + conf.get("linkscore.crawl");
    return MADE.computeIfAbsent(key, made -> Session.configured("nutch", conf::getTrimmed));
  }
}
