package linkscore.nutch;

import java.util.ArrayList;
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
 * <p>If {@code linkscore.revisits.per.day} is set, the round fetches again the known pages that the server names, so many a day,
 * in place of those whose date has come. While the server is away dates count.
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
    Configuration conf = new Configuration(getConf());
    Budget budget = Budgets.of(conf.getTrimmed("linkscore.budget", ""));
    Waiting waiting;
    Optional<Again> again;
    try (Session session = Session.configured("nutch", conf::getTrimmed)) {
      Optional<Revisits> revisits = Revisits.ask(session, conf, topN, now, !given.contains("-noFilter"));
      waiting = Waiting.read(getConf(), new Path(args[0]), topN, now, revisits.orElse(null));
      if (budget != null && budget.hasMaxFetches()) {
        waiting.bound(budget.getMaxFetches());
      }
      if (waiting.isOver(!session.askStopped().isEmpty())) {
        LOG.info("linkscore: the budget lets no round begin. {} {}", session.stopped(), session.whyStopped());
        return NO_ROUND;
      }
      again = revisits.map(waiting::take);
      again.ifPresent(taken -> taken.write(conf));
      Optional<Round> round = waiting.plan(session);
      round.orElseGet(waiting::withoutServer).write(conf);
      String advised = round.isPresent() ? "as advised" : "without advice";
      String known = again.map(taken -> taken.size() + " known pages").orElse("known pages by date");
      LOG.info("linkscore: a round of {}, {}, {}", waiting.size(), advised, known);
    }
    conf.setFloat(Generator.GENERATOR_MIN_SCORE, 0); // links the round does not take are below
    List<String> sized = new ArrayList<>(given); // of an option that stands twice Nutch takes the last
    sized.addAll(List.of("-topN", String.valueOf(waiting.size())));
    if (again.isPresent()) {
      sized.addAll(List.of("-adddays", Again.ALL_DAYS));
    }
    return new Generator(conf).run(sized.toArray(String[]::new));
  }

  private static Optional<String> after(List<String> args, String option) {
    int at = args.indexOf(option);
    return at < 0 || at + 1 == args.size() ? Optional.empty() : Optional.of(args.get(at + 1));
  }
}
