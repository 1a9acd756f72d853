package linkscore;

import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where new links belong while the server is away: the rule of outages in docs/reference/clients.md. */
public final class Outlook {
  // Of shapes those used longest ago are forgotten. Chosen, not measured: a site has some hundred.
  private static final int MOST_SHAPES = 4_096;

  // Crawlers do not tell a plugin what they know. Chosen: some 5 MB, and links that stand on many pages are remembered.
  private static final int MOST_MET = 65_536;

  private static final Pattern DIGITS = Pattern.compile("[0-9]+");
  private static final Pattern EXTENSION = Pattern.compile("\\.[a-z]{2,5}$");

  private final Map<String, Guess> last = bounded(MOST_SHAPES);
  private final Map<Integer, Boolean> met = bounded(MOST_MET); // hash codes of URLs that were found or fetched
  private final Map<String, int[]> fetched = bounded(MOST_SHAPES); // by coarse shape: pages, and all fetches

  Outlook() {}

  /** Where a link probably belongs: the bucket that links like it were last found in, and what it was worth. */
  public static final class Guess {
    public final String bucket;
    public final double value;

    private Guess(String bucket, double value) {
      this.bucket = bucket;
      this.value = value;
    }
  }

  /** Learns where links are found, of each by its best place on the page; links that are not new teach nothing. */
  synchronized void learn(List<Link> links) {
    Map<String, Link> best = new LinkedHashMap<>();
    links.stream()
        .filter(Link::usable)
        .forEach(link -> best.merge(link.url, link, (a, b) -> b.score > a.score ? b : a));
    for (Link link : best.values()) {
      if (meet(link.url)) {
        Guess found = new Guess(link.bucket, link.bucketValue);
        Arrays.stream(shapes(link.url)).forEach(shape -> last.put(shape, found));
      }
    }
  }

  private boolean meet(String url) {
    return met.put(url.hashCode(), true) == null;
  }

  /** Where a link belongs by its shape, worth less where fetches brought no page; none if no such link was found of late. */
  synchronized Optional<Guess> guess(String url) {
    String[] both = shapes(url);
    int[] tries = fetched.getOrDefault(both[1], new int[2]);
    double odds = (1.0 + tries[0]) / (1 + tries[1]);
    Guess known = last.containsKey(both[0]) ? last.get(both[0]) : last.get(both[1]);
    return Optional.ofNullable(known).map(guess -> new Guess(guess.bucket, guess.value * odds));
  }

  /** Notes whether a fetch brought a page; a link to it is none that is new. */
  synchronized void fetched(String url, boolean isPage) {
    meet(url);
    int[] tries = fetched.computeIfAbsent(shapes(url)[1], made -> new int[2]);
    tries[0] += isPage ? 1 : 0;
    tries[1]++;
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

  /** The fine shape of a URL, without numbers and values of its query, and the coarse one, without the name of the page too. */
  static String[] shapes(String url) {
    String[] parts = url.substring(Math.min(url.length(), url.indexOf("//") + 2)).split("#", 2)[0].split("\\?", 2);
    int at = parts[0].indexOf('/');
    String host = at < 0 ? parts[0] : parts[0].substring(0, at);
    String path = plain(at < 0 ? "/" : parts[0].substring(at));
    String keys = parts.length < 2 || parts[1].isEmpty() ? "" : "?" + keys(parts[1]);
    return new String[] {host + path + keys, "*" + host + coarse(path) + keys};
  }

  private static String keys(String query) {
    var keys = new TreeSet<String>();
    Arrays.stream(query.split("&")).filter(part -> !part.isEmpty()).forEach(part -> keys.add(plain(part.split("=", 2)[0])));
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
    for (int i = 0; i < last; i++) {
      segments[i] = segments[i].contains("#") ? "#" : segments[i];
    }
    if (!segments[last].isEmpty()) {
      Matcher extension = EXTENSION.matcher(segments[last]);
      segments[last] = "*" + (extension.find() ? extension.group() : "");
    }
    return String.join("/", segments);
  }
}
