package linkscore.nutch;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.nutch.crawl.CrawlDatum;
import org.apache.nutch.crawl.FetchSchedule;
import org.apache.nutch.crawl.FetchScheduleFactory;
import org.apache.nutch.crawl.Generator;
import org.apache.nutch.metadata.Nutch;

/** Whether Nutch's generator would take a URL at a time: by its schedule, and by what was generated before. */
final class Due {
  // How long a generated URL waits for its update before it is generated again; Nutch's own default.
  private static final long GENERATED_MS = 604_800_000;

  private final FetchSchedule schedule;
  private final long now;
  private final long generated;

  Due(Configuration conf, long now) {
    schedule = FetchScheduleFactory.getFetchSchedule(conf);
    this.now = now;
    generated = now - conf.getLong(Generator.GENERATOR_DELAY, GENERATED_MS);
  }

  /** Whether its date has come, too. */
  boolean isDue(Text url, CrawlDatum datum) {
    return isFree(datum) && schedule.shouldFetch(url, datum, now);
  }

  /** Whether no round has it already. */
  boolean isFree(CrawlDatum datum) {
    LongWritable taken = (LongWritable) datum.getMetaData().get(Nutch.WRITABLE_GENERATE_TIME_KEY);
    return taken == null || taken.get() < generated;
  }
}
