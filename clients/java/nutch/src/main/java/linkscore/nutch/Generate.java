package linkscore.nutch;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import linkscore.Budgets;
import linkscore.Session;
import linkscore.v1.Budget;
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
 * those. A round has one link at first, and one more for every four pages answered, up to topN. While the server is away links
 * are taken by the value they came with, less with each that is taken from a bucket.
 *
 * <p>Once the budget of the crawl is spent, or the server says that it has stopped, it ends with 1, as the generator does when
 * nothing waits: {@code bin/crawl} stops then.
 */
public final class Generate extends Configured implements Tool {
  private static final Logger LOG = LoggerFactory.getLogger(Generate.class);
  private static final long DAY_MS = 86_400_000;
  private static final int NO_ROUND = 1; // as Nutch's generator

  /** Runs it, with the arguments of Nutch's generator. */
  public static void main(String[] args) throws Exception {
    System.exit(ToolRunner.run(NutchConfiguration.create(), new Generate(), args));
  }

  @Override
  public int run(String[] args) throws Exception {
    if (args.length < 2) {
      return new Generator(getConf()).run(args); // which says what it wants
    }
    List<String> given = Arrays.asList(args);
    long topN = Long.parseLong(after(given, "-topN").orElse(String.valueOf(Long.MAX_VALUE)));
    long days = Long.parseLong(after(given, "-adddays").orElse("0"));
    long now = System.currentTimeMillis() + days * DAY_MS;
    Waiting waiting = Waiting.read(getConf(), new Path(args[0]), topN, now);
    Configuration conf = new Configuration(getConf());
    Budget budget = Budgets.of(conf.getTrimmed("linkscore.budget", ""));
    if (budget != null && budget.hasMaxFetches()) {
      waiting.bound(budget.getMaxFetches());
    }
    try (Session session = Session.configured("nutch", conf::getTrimmed)) {
      if (waiting.isOver(!session.askStopped().isEmpty())) {
        LOG.info("linkscore: the budget lets no round begin. {} {}", session.stopped(), session.whyStopped());
        return NO_ROUND;
      }
      Optional<Round> round = waiting.plan(session);
      round.orElseGet(waiting::withoutServer).write(conf);
      LOG.info("linkscore: a round of {}, {}", waiting.size(), round.isPresent() ? "as advised" : "without advice");
    }
    conf.setFloat(Generator.GENERATOR_MIN_SCORE, 0); // links the round does not take are below
    return new Generator(conf).run(sized(args, waiting.size()));
  }

  private static Optional<String> after(List<String> args, String option) {
    int at = args.indexOf(option);
    return at < 0 || at + 1 == args.size() ? Optional.empty() : Optional.of(args.get(at + 1));
  }

  /** The arguments with another topN; of an option that stands twice Nutch takes the last. */
  private static String[] sized(String[] args, long size) {
    String[] more = Arrays.copyOf(args, args.length + 2);
    more[args.length] = "-topN";
    more[args.length + 1] = String.valueOf(size);
    return more;
  }
}
