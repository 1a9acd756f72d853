package linkscore.nutch;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Function;
import java.util.stream.Collectors;
import linkscore.Link;
import linkscore.Settings;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.parse.Outlink;

/**
 * A bucket a link waits in, with the value that bucket had when the link was found there, the ticket it was given, and when
 * that was: links of a bucket are taken in this order. A CrawlDatum holds up to four of them as values of the keys of
 * docs/reference/clients.md, a line each, best first.
 */
final class Place {
  // As the queues of the other clients.
  private static final int MOST = 4;

  private static final Text BUCKET = new Text("linkscore.bucket");
  private static final Text VALUE = new Text("linkscore.value");
  private static final Text TICKET = new Text("linkscore.ticket");
  private static final Text FOUND = new Text("linkscore.found");
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

  /** Where a link waits, best first; empty if the server did not score it. */
  static List<Place> of(CrawlDatum datum) {
    String[] buckets = lines(datum, BUCKET);
    String[] values = lines(datum, VALUE);
    String[] tickets = lines(datum, TICKET);
    String[] found = lines(datum, FOUND);
    List<Place> places = new ArrayList<>();
    for (int i = 0; i < buckets.length; i++) {
      places.add(new Place(buckets[i], Double.parseDouble(values[i]), tickets[i], Long.parseLong(found[i])));
    }
    return places;
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

  private static void write(CrawlDatum datum, List<Place> places) {
    put(datum, BUCKET, places, place -> place.bucket);
    put(datum, VALUE, places, place -> "" + place.value);
    put(datum, TICKET, places, place -> place.ticket);
    put(datum, FOUND, places, place -> "" + place.found);
  }

  private static void put(CrawlDatum datum, Text key, List<Place> places, Function<Place, String> part) {
    datum.getMetaData().put(key, new Text(places.stream().map(part).collect(Collectors.joining("\n"))));
  }

  private static String[] lines(CrawlDatum datum, Text key) {
    Writable value = datum.getMetaData().get(key);
    return value == null ? new String[0] : value.toString().split("\n", -1);
  }

  /**
   * Writes what the server said of the outlinks of a page, in their order: the task that parses a page is not the one that
   * writes its outlinks, and between them only metadata passes. A line a link that could be used, of URL, ticket, value
   * and bucket with tabs between; none of the first three may hold a tab.
   */
  static String text(Outlink[] outlinks, List<Link> links) {
    StringJoiner lines = new StringJoiner("\n");
    for (int i = 0; i < Math.min(outlinks.length, links.size()); i++) {
      Link link = links.get(i);
      if (link.usable()) {
        double value = link.isSkipped() ? 0 : link.bucketValue; // by a setting of the crawl
        String ticket = Settings.text(link.ticket);
        lines.add(form(outlinks[i].getToUrl()) + "\t" + ticket + "\t" + value + "\t" + link.bucket);
      }
    }
    return lines.toString();
  }

  /** Reads it back, by {@link #form} of the URL; the first link was found at a time, each other one a step later. */
  static Map<String, List<Place>> read(String text, long found) {
    Map<String, List<Place>> places = new HashMap<>();
    for (String line : text.split("\n")) {
      String[] parts = line.split("\t", 4);
      if (parts.length == 4) {
        Place place = new Place(parts[3], Double.parseDouble(parts[2]), parts[1], found + places.size());
        places.computeIfAbsent(parts[0], url -> new ArrayList<>()).add(place);
      }
    }
    return places;
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
