package linkscore.nutch;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import linkscore.Link;
import linkscore.Tickets;
import org.apache.nutch.parse.Outlink;

/**
 * What the server said of the outlinks of a page, as a text: the task that parses a page is not the one that writes its
 * outlinks, and between them only metadata passes. A line a link, of URL, ticket, value and bucket with tabs between;
 * none of the first three may hold a tab.
 *
 * <p>Links are found again by URL, and between the tasks Nutch's normalizers change URLs: they cut fragments, for one. So
 * URLs are compared in one form; several links of one form wait in the bucket of each.
 */
final class Answer {
  private Answer() {}

  /** Writes the links of an answer, which are in the order of the outlinks; those that could not be used are left out. */
  static String of(Outlink[] outlinks, List<Link> links) {
    StringJoiner lines = new StringJoiner("\n");
    for (int i = 0; i < Math.min(outlinks.length, links.size()); i++) {
      Link link = links.get(i);
      if (link.usable()) {
        String ticket = Tickets.encode(link.ticket());
        double value = link.isSkipped() ? 0 : link.bucketValue(); // by a setting of the crawl
        lines.add(form(outlinks[i].getToUrl()) + "\t" + ticket + "\t" + value + "\t" + link.bucket());
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

  /** The form URLs are compared in (docs/reference/clients.md): no fragment, no default port, host in lower case, no dot segments. */
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
