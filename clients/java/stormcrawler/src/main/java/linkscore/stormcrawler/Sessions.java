package linkscore.stormcrawler;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import linkscore.Session;

/** One session a crawl and server in this worker, shared by all of its components. */
final class Sessions {
  private static final Map<String, Session> MADE = new ConcurrentHashMap<>();

  private Sessions() {}

  /** The session of a topology's configuration; see {@link Session#configured} for its keys. */
  static Session of(Map<String, Object> conf) {
    String key = conf.get("linkscore.target") + " " + conf.get("linkscore.crawl");
    return MADE.computeIfAbsent(
        key, made -> Session.configured("stormcrawler", name -> conf.containsKey(name) ? conf.get(name).toString() : null));
  }
}
