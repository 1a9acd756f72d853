package linkscore.nutch;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import linkscore.Link;
import linkscore.Settings;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.parse.Outlink;

/** The bucket a link waits in: its value when the link was found there, the ticket the link was given, and when that was. */
final class Place {
  private static final Text PLACE = new Text("linkscore.place");

  final String bucket;
  final double value;
  final String ticket;
  final long found; // links of a bucket are taken in this order

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

  /** Where a link waits; none if the server did not score it. */
  static Optional<Place> of(CrawlDatum datum) {
    return Optional.ofNullable(datum.getMetaData().get(PLACE)).map(line -> read(line.toString(), 0));
  }

  /** Lets a link wait here, unless the bucket it waits in is worth as much. */
  void keep(CrawlDatum datum) {
    Optional<Place> known = of(datum);
    if (known.isEmpty() || (value > known.get().value && !bucket.equals(known.get().bucket))) {
      datum.getMetaData().put(PLACE, new Text(toString()));
      datum.setScore((float) value);
    }
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

  /** Reads it back, the best by {@link #form} of the URL; the first outlink was found at a time, each other a step later. */
  static Map<String, Place> found(String text, long since) {
    Map<String, Place> places = new HashMap<>();
    text.lines()
        .map(line -> line.split("\t", 2))
        .forEach(line -> places.merge(line[0], read(line[1], since), (a, b) -> b.value > a.value ? b : a));
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
