package linkscore.nutch;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import linkscore.Session;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.Configured;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.util.Tool;
import org.apache.hadoop.util.ToolRunner;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.util.NutchConfiguration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Generates a round as a whole: {@code bin/nutch plugin scoring-linkscore linkscore.nutch.Generate CRAWLDB SEGMENTS -topN
 * 50 ...}, in place of {@code bin/nutch generate} and with its arguments.
 *
 * <p>It reads what waits in the crawl database, asks the server once which links to take, and lets Nutch's generator take
 * those; see {@link Waiting}. Once the budget of the crawl is spent, or the server says that it has stopped, it ends with 1,
 * as the generator does when nothing waits: {@code bin/crawl} stops then.
 */
public final class Generate extends Configured implements Tool {
  private static final Logger LOG = LoggerFactory.getLogger(Generate.class);
  private static final long DAY_MS = 86_400_000;
  private static final int NO_ROUND = 1; // as Nutch's generator

  // Every date has come by then, so that Nutch's generator asks the filter of each URL.
  private static final String ALL_DAYS = "36500";

  /** Runs it, with the arguments of Nutch's generator. */
  public static void main(String[] args) throws Exception {
    System.exit(ToolRunner.run(NutchConfiguration.create(), new Generate(), args));
  }

  @Override
  public int run(String[] args) throws Exception {
    if (args.length < 2) {
      return new Generator(getConf()).run(args); // which says what it wants
    }
    List<String> given = new ArrayList<>(Arrays.asList(args));
    long topN = after(given, "-topN", 1, 999_999_999);
    long now = System.currentTimeMillis() + after(given, "-adddays", 0, 0) * DAY_MS;
    Configuration conf = new Configuration(getConf());
    try (Session session = LinkscoreScoringFilter.configured(conf)) {
      Waiting waiting = new Waiting(conf, session, new Path(args[0]), topN, now);
      Round round = waiting.isOver() ? new Round(false, 0) : waiting.round();
      if (round.urls().isEmpty()) {
        LOG.info("linkscore: nothing waits, or the budget lets no round begin. {} {}", session.stopped(), session.whyStopped());
        return NO_ROUND;
      }
      round.write(conf);
      given.addAll(List.of("-topN", "" + round.urls().size())); // of an option that stands twice Nutch takes the last
      if (waiting.isKnownNamed()) {
        given.addAll(List.of("-adddays", ALL_DAYS));
      }
    }
    conf.setFloat(Generator.GENERATOR_MIN_SCORE, 0); // URLs the round does not take are below
    return new Generator(conf).run(given.toArray(String[]::new));
  }

  private static long after(List<String> args, String option, long least, long otherwise) {
    int at = args.indexOf(option);
    String text = at < 0 ? "" + otherwise : at + 1 == args.size() ? "nothing" : args.get(at + 1);
    if (!text.matches("\\d{1,9}") || Long.parseLong(text) < least) {
      throw new IllegalArgumentException(option + ": must be a whole number from " + least + " to 999999999, got " + text);
    }
    return Long.parseLong(text);
  }
}
