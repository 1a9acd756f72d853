package linkscore;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The bucket that the last new link of each URL shape went into: a guess for links that come while the server is away. A
 * fine shape has numbers left out and no values of its query, a coarse one no name of the page either.
 *
 * <p>A link that is found again teaches nothing: it waits or was fetched, so nothing is taken from where it is found now.
 */
final class Shapes {
  // Of these the ones used longest ago are forgotten. Chosen, not measured: a site has some hundred.
  private static final int MOST = 4_096;

  // Crawlers tell a plugin not what they know, so it remembers that itself. Chosen: some 5 MB, and links that stand on
  // many pages are not forgotten.
  private static final int MOST_MET = 65_536;

  private static final Pattern DIGITS = Pattern.compile("[0-9]+");
  private static final Pattern EXTENSION = Pattern.compile("\\.[a-z]{2,5}$");

  private final Map<String, Guess> last = bounded(MOST);

  /** Of each coarse shape, how many fetches brought a page, how many did not, and of the pages those before the outage. */
  private final Map<String, int[]> fetches = bounded(MOST);

  /** Hash codes of URLs that were found or fetched: where two are equal, one teaches nothing. */
  private final Map<Integer, Boolean> met = bounded(MOST_MET);

  /** Learns of all links of an answer, of one that is there several times by the best. */
  synchronized void learn(List<Link> links) {
    Map<String, Link> best = new LinkedHashMap<>();
    links.stream()
        .filter(Link::usable)
        .forEach(link -> best.merge(link.url(), link, (a, b) -> b.score() > a.score() ? b : a));
    best.values().stream().filter(link -> meet(link.url())).forEach(this::learn);
  }

  /** Notes a URL that was found or fetched; whether it is new. */
  synchronized boolean meet(String url) {
    return met.put(url.hashCode(), true) == null;
  }

  private void learn(Link link) {
    Guess guess = new Guess(link.bucket(), link.bucketValue());
    String[] shapes = of(link.url());
    last.put(shapes[0], guess);
    last.put(shapes[1], guess);
  }

  synchronized Optional<Guess> guess(String url) {
    String[] shapes = of(url);
    Guess fine = last.get(shapes[0]);
    Guess known = fine == null ? last.get(shapes[1]) : fine;
    return Optional.ofNullable(known).map(guess -> new Guess(guess.bucket(), guess.value() * odds(shapes[1])));
  }

  /** Notes whether a fetch brought a page, and whether the server is away. */
  synchronized void fetched(String url, boolean isPage, boolean isAway) {
    int[] counts = fetches.computeIfAbsent(of(url)[1], shape -> new int[3]);
    counts[isPage ? 0 : 1]++;
    if (!isAway) {
      counts[2] = counts[0];
    }
  }

  /** How far a URL of this coarse shape can be expected to bring a page: 1 unless some did not. */
  synchronized double odds(String shape) {
    int[] counts = fetches.get(shape);
    return counts == null ? 1 : (1.0 + counts[0]) / (1 + counts[0] + counts[1]);
  }

  /** Pages of this coarse shape that were fetched before the outage. */
  synchronized int pages(String shape) {
    int[] counts = fetches.get(shape);
    return counts == null ? 0 : counts[2];
  }

  private static <K, V> Map<K, V> bounded(int most) {
    return new LinkedHashMap<>(16, 0.75f, true) {
      private static final long serialVersionUID = 1;

      @Override
      protected boolean removeEldestEntry(Map.Entry<K, V> eldest) {
        return size() > most;
      }
    };
  }

  /** The fine shape of a URL, and the coarse one. */
  static String[] of(String url) {
    String rest = url.substring(url.indexOf("//") + 2).split("#", 2)[0];
    String[] query = rest.split("\\?", 2);
    int at = query[0].indexOf('/');
    String host = at < 0 ? query[0] : query[0].substring(0, at);
    String path = at < 0 ? "/" : query[0].substring(at);
    String keys = query.length < 2 || query[1].isEmpty() ? "" : "?" + keys(query[1]);
    return new String[] {host + plain(path) + keys, "*" + host + coarse(path) + keys};
  }

  private static String keys(String query) {
    SortedSet<String> keys = new TreeSet<>();
    for (String part : query.split("&")) {
      if (!part.isEmpty()) {
        keys.add(plain(part.split("=", 2)[0]));
      }
    }
    return String.join("&", keys);
  }

  private static String plain(String text) {
    return DIGITS.matcher(text).replaceAll("#");
  }

  private static String coarse(String path) {
    String[] segments = path.split("/", -1);
    int last = segments.length - 1;
    while (last > 0 && segments[last].isEmpty()) {
      last--;
    }
    for (int i = 0; i < segments.length; i++) {
      if (i == last && !segments[i].isEmpty()) {
        Matcher extension = EXTENSION.matcher(segments[i]);
        segments[i] = "*" + (extension.find() ? extension.group() : "");
      } else if (DIGITS.matcher(segments[i]).find()) {
        segments[i] = "#";
      }
    }
    return String.join("/", segments);
  }
}
