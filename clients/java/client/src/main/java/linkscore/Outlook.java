package linkscore;

import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Pattern;

/** What a crawl knows of URL shapes, for when the server says nothing: the rule of outages in docs/reference/clients.md. */
public final class Outlook {
  // Links taken of a shape nobody had tried that halve what they are thought to be worth.
  private static final double TRUST = 16;

  // Of shapes those used longest ago are forgotten. Chosen, not measured: a site has some hundred.
  private static final int MOST_SHAPES = 4_096;

  // Crawlers do not tell a plugin what they know. Chosen: some 5 MB, and links that stand on many pages are remembered.
  private static final int MOST_MET = 65_536;

  private static final Pattern DIGITS = Pattern.compile("[0-9]+");
  private static final Pattern LAST = Pattern.compile("^([A-Za-z]+[-_]?(?=[0-9]))?.*?(\\.[a-z]{2,5})?$");

  private final Map<String, Shape> shapes = bounded(MOST_SHAPES);
  private final Map<String, Shape> of = new HashMap<>(); // that of the link found last, by bucket
  private final Map<Integer, Boolean> met = bounded(MOST_MET); // hash codes of URLs that were found or fetched
  private boolean away;

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

  /** Where links of one shape were found last, and what became of them: pages and all fetches, and links taken while away. */
  private static final class Shape {
    private Guess last;
    private int pages;
    private int all;
    private int before;
    private int since;
  }

  /** What is left of a value by the odds that a fetch brings a page, and by links taken before the outage and since. */
  public static double faded(double value, double odds, long proven, long taken) {
    double half = TRUST * (1 + proven);
    return value * odds * half / (half + taken);
  }

  synchronized void setAway(boolean isAway) {
    away = isAway;
    for (Shape each : shapes.values()) {
      each.before = each.pages;
      each.since = 0;
    }
  }

  /** Learns where links are found, of each by its best place on the page; links that are not new teach nothing. */
  synchronized void learn(List<Link> links) {
    links.stream()
        .filter(Link::usable)
        .sorted(Comparator.comparingDouble(link -> -link.score))
        .filter(link -> meet(link.url))
        .forEach(this::place);
  }

  private void place(Link link) {
    Shape like = shape(link.url);
    like.last = new Guess(link.bucket, link.bucketValue);
    of.put(link.bucket, like);
  }

  private boolean meet(String url) {
    return met.put(url.hashCode(), true) == null;
  }

  private Shape shape(String url) {
    return shapes.computeIfAbsent(shapeOf(url), made -> new Shape());
  }

  /** Where a link belongs by its shape; none if no such link was found of late. */
  synchronized Optional<Guess> guess(String url) {
    Shape like = shape(url);
    return Optional.ofNullable(like.last).map(last -> new Guess(last.bucket, faded(last.value, odds(like), 0, 0)));
  }

  private static double odds(Shape like) {
    return (1.0 + like.pages) / (1 + like.all);
  }

  /** Notes whether a fetch brought a page; a link to it is none that is new. */
  synchronized void fetched(String url, boolean isPage) {
    meet(url);
    Shape like = shape(url);
    like.pages += isPage ? 1 : 0;
    like.all++;
  }

  /** Notes a link that is taken from a bucket. */
  synchronized void taken(String bucket) {
    if (away && of.containsKey(bucket)) {
      of.get(bucket).since++;
    }
  }

  /** What a bucket is worth that had a value when the server said so last. */
  synchronized double worth(String bucket, double value) {
    Shape like = of.get(bucket);
    return away && like != null ? faded(value, odds(like), like.before, like.since) : value;
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

  /** A URL without what names one page: digits, the last part of the path but for a word before them, and values of the query. */
  static String shapeOf(String url) {
    String[] parts = url.substring(url.indexOf("//") + 2).split("#", 2)[0].split("\\?", 2);
    String[] segments = parts[0].split("/", -1); // the host is the first
    int last = segments.length - 1;
    while (last > 0 && segments[last].isEmpty()) {
      last--;
    }
    for (int i = 1; i < last; i++) {
      segments[i] = DIGITS.matcher(segments[i]).find() ? "#" : segments[i];
    }
    if (last > 0) {
      segments[last] = LAST.matcher(segments[last]).replaceFirst("$1*$2");
    }
    var keys = new TreeSet<String>();
    String query = parts.length < 2 ? "" : parts[1];
    Arrays.stream(query.split("&")).forEach(pair -> keys.add(DIGITS.matcher(pair.split("=", 2)[0]).replaceAll("#")));
    return String.join("/", segments) + (segments.length == 1 ? "/?" : "?") + String.join("&", keys);
  }
}
