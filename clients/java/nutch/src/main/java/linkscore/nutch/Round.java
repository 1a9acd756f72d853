package linkscore.nutch;

import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;
import org.apache.hadoop.conf.Configuration;

/**
 * Which of the waiting links a round takes: of each bucket those that were found first, up to a last one. It goes to the
 * tasks that generate in the configuration of their job, so that all of them, and one that is run again, take the same.
 */
final class Round {
  private static final String KEY = "linkscore.round";
  private static final String ADVISED = "linkscore.round.advised";

  private final Map<String, Share> shares = new HashMap<>();

  private boolean isAdvised = true;

  /** A round that the server was not asked for. */
  static Round unadvised() {
    Round round = new Round();
    round.isAdvised = false;
    return round;
  }

  /** Whether the server said what to take. */
  boolean isAdvised() {
    return isAdvised;
  }

  /** Takes the links of a bucket that were found no later than the last one, each worth so much. */
  void take(String bucket, double value, long last) {
    shares.put(bucket, new Share(value, last));
  }

  /** The place the round takes a link from, the best if there are several. */
  Optional<Place> place(List<Place> places) {
    return places.stream().filter(this::takes).max(Comparator.comparingDouble(place -> value(place.bucket)));
  }

  private boolean takes(Place place) {
    Share share = shares.get(place.bucket);
    return share != null && place.found <= share.last;
  }

  /** The value of a bucket the round takes links of. */
  double value(String bucket) {
    return shares.get(bucket).value;
  }

  /** Writes the round into the configuration of a job. */
  void write(Configuration conf) {
    StringJoiner lines = new StringJoiner("\n");
    shares.forEach((bucket, share) -> lines.add(share.value + "\t" + share.last + "\t" + bucket));
    conf.setBoolean(ADVISED, isAdvised);
    // In base64, because Hadoop replaces variables in values and keeps them as XML.
    conf.set(KEY, Base64.getEncoder().encodeToString(lines.toString().getBytes(StandardCharsets.UTF_8)));
  }

  /** Reads it back; null if the job was started without one. */
  static Round read(Configuration conf) {
    String written = conf.get(KEY);
    if (written == null) {
      return null;
    }
    Round round = conf.getBoolean(ADVISED, true) ? new Round() : unadvised();
    String lines = new String(Base64.getDecoder().decode(written), StandardCharsets.UTF_8);
    for (String line : lines.split("\n")) {
      String[] parts = line.split("\t", 3);
      if (parts.length == 3) {
        round.take(parts[2], Double.parseDouble(parts[0]), Long.parseLong(parts[1]));
      }
    }
    return round;
  }

  private static final class Share {
    private final double value;
    private final long last;

    private Share(double value, long last) {
      this.value = value;
      this.last = last;
    }
  }
}
