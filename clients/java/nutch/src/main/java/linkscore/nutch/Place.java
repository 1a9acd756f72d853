package linkscore.nutch;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Function;
import org.apache.hadoop.io.MapWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.io.Writable;
import org.apache.nutch.crawl.CrawlDatum;

/**
 * A bucket a link waits in, with the value that bucket had when the link was found there, the ticket it was given, and when
 * that was. A CrawlDatum holds up to four of them as values of the keys of docs/reference/clients.md, a line each, best first.
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

  /** Links of a bucket are taken in this order; those of an earlier version of the plugin come first. */
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
      long since = i < found.length ? Long.parseLong(found[i]) : 0;
      places.add(new Place(buckets[i], Double.parseDouble(values[i]), tickets[i], since));
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
    MapWritable metadata = datum.getMetaData();
    metadata.put(BUCKET, joined(places, place -> place.bucket));
    metadata.put(VALUE, joined(places, place -> place.value));
    metadata.put(TICKET, joined(places, place -> place.ticket));
    metadata.put(FOUND, joined(places, place -> place.found));
  }

  private static Text joined(List<Place> places, Function<Place, Object> part) {
    StringJoiner lines = new StringJoiner("\n");
    places.forEach(place -> lines.add(part.apply(place).toString()));
    return new Text(lines.toString());
  }

  private static String[] lines(CrawlDatum datum, Text key) {
    Writable value = datum.getMetaData().get(key);
    return value == null ? new String[0] : value.toString().split("\n", -1);
  }
}
