package linkscore.nutch;

import java.net.MalformedURLException;
import java.net.URI;
import java.net.URISyntaxException;
import java.net.URL;
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
 * URLs are compared in one form; of several links of one form the best counts.
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
        lines.add(form(outlinks[i].getToUrl()) + "\t" + ticket + "\t" + link.bucketValue() + "\t" + link.bucket());
      }
    }
    return lines.toString();
  }

  /** Reads it back, by {@link #form} of the URL. */
  static Map<String, Row> read(String text) {
    Map<String, Row> rows = new HashMap<>();
    for (String line : text.split("\n")) {
      String[] parts = line.split("\t", 4);
      if (parts.length == 4) {
        rows.merge(parts[0], new Row(parts[1], parts[2], parts[3]), Row::better);
      }
    }
    return rows;
  }

  /** The form URLs are compared in (docs/clients.md): no fragment, no default port, host in lower case, no dot segments. */
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

  /** What is known of one link. */
  static final class Row {
    final String ticket;
    final String value;
    final String bucket;

    private Row(String ticket, String value, String bucket) {
      this.ticket = ticket;
      this.value = value;
      this.bucket = bucket;
    }

    private Row better(Row other) {
      return Double.parseDouble(other.value) > Double.parseDouble(value) ? other : this;
    }
  }
}
