package linkscore.nutch;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import linkscore.Link;
import linkscore.Settings;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.parse.Outlink;

/**
 * A bucket a link waits in, with the value that bucket had when the link was found there, the ticket it was given, and when
 * that was: links of a bucket are taken in this order. A CrawlDatum holds up to four of them, a line each, best first.
 */
final class Place {
  private static final int MOST = 4; // as the queues of the other clients
  private static final Text PLACES = new Text("linkscore.places");
  private static final Text UNADVISED = new Text("linkscore.unadvised");

  final String bucket;
  final double value;
  final String ticket;
  final long found;

  Place(String bucket, double value, String ticket, long found) {
    this.bucket = bucket;
    this.value = value;
    this.ticket = ticket;
    this.found = found;
  }

  private static Place read(String line, long since) {
    String[] parts = line.split("\t", 4); // none of the first three holds a tab
    return new Place(parts[3], Double.parseDouble(parts[0]), parts[2], since + Long.parseLong(parts[1]));
  }

  @Override
  public String toString() {
    return value + "\t" + found + "\t" + ticket + "\t" + bucket;
  }

  /** Where a link waits, best first; empty if the server did not score it. */
  static List<Place> of(CrawlDatum datum) {
    Writable lines = datum.getMetaData().getOrDefault(PLACES, new Text());
    return lines.toString().lines().map(line -> read(line, 0)).collect(Collectors.toCollection(ArrayList::new));
  }

  private static void write(CrawlDatum datum, List<Place> places) {
    String lines = places.stream().map(Place::toString).collect(Collectors.joining("\n"));
    datum.getMetaData().put(PLACES, new Text(lines));
  }

  /** Lets a link wait in the best of these buckets, in each since it was found there first. */
  static void keep(CrawlDatum datum, List<Place> places) {
    Map<String, Place> first = new LinkedHashMap<>();
    places.forEach(place -> first.merge(place.bucket, place, (a, b) -> a.found <= b.found ? a : b));
    List<Place> best = new ArrayList<>(first.values());
    best.sort(Comparator.comparingDouble(place -> -place.value));
    write(datum, best.subList(0, Math.min(MOST, best.size())));
    datum.setScore((float) best.get(0).value);
  }

  /** Remembers from which bucket a link was taken, and whether the server said so: its ticket goes back with the page. */
  void takenOf(CrawlDatum datum, boolean isAdvised) {
    if (!isAdvised) {
      datum.getMetaData().put(UNADVISED, new Text("1"));
    }
    List<Place> places = of(datum);
    places.removeIf(place -> place.bucket.equals(bucket));
    places.add(0, this);
    write(datum, places);
  }

  /** Whether a link was taken while the server was away. */
  static boolean isUnadvised(CrawlDatum datum) {
    return datum.getMetaData().containsKey(UNADVISED);
  }

  /**
   * Writes what the server said of the outlinks of a page, in their order, a line a link that could be used: the task that
   * parses a page is not the one that writes its outlinks, and between them only metadata passes.
   */
  static String text(Outlink[] outlinks, List<Link> links) {
    StringJoiner lines = new StringJoiner("\n");
    for (int i = 0; i < Math.min(outlinks.length, links.size()); i++) {
      Link link = links.get(i);
      if (link.usable()) {
        double value = link.isSkipped() ? 0 : link.bucketValue; // by a setting of the crawl
        lines.add(form(outlinks[i].getToUrl()) + "\t" + new Place(link.bucket, value, Settings.text(link.ticket), i));
      }
    }
    return lines.toString();
  }

  /** Reads it back, by {@link #form} of the URL; the first outlink was found at a time, each other one a step later. */
  static Map<String, List<Place>> found(String text, long since) {
    var parse = Collectors.mapping((String[] line) -> read(line[1], since), Collectors.toList());
    return text.lines().map(line -> line.split("\t", 2)).collect(Collectors.groupingBy(line -> line[0], parse));
  }

  /**
   * The form URLs are compared in (docs/reference/clients.md): no fragment, no default port, host in lower case, no dot
   * segments. Between the tasks Nutch's normalizers change URLs.
   */
  static String form(String url) {
    try {
      URL parts = new URI(url).normalize().toURL();
      String port = parts.getPort() < 0 || parts.getPort() == parts.getDefaultPort() ? "" : ":" + parts.getPort();
      String file = parts.getFile().startsWith("/") ? parts.getFile() : "/" + parts.getFile();
      return parts.getProtocol() + "://" + parts.getHost().toLowerCase(Locale.ROOT) + port + file;
    } catch (URISyntaxException | MalformedURLException | IllegalArgumentException e) {
      return url.split("#", 2)[0]; // as the page has it: the server takes more than URI does
    }
  }
}
