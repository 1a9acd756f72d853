package linkscore.stormcrawler;

import com.google.protobuf.ByteString;
import java.util.Map;
import linkscore.Session;
import linkscore.Settings;
import linkscore.v1.Page;
import org.apache.storm.task.OutputCollector;
import org.apache.storm.task.TopologyContext;
import org.apache.storm.topology.OutputFieldsDeclarer;
import org.apache.storm.topology.base.BaseRichBolt;
import org.apache.storm.tuple.Tuple;
import org.apache.stormcrawler.Metadata;
import org.apache.stormcrawler.persistence.Status;

/**
 * Reports failed fetches, pages that are as they were (304), and what pages were worth: a bolt on the status stream. {@code
 * linkscore frontier} sees failures itself; {@code linkscore.report.failures: false} leaves them to it.
 */
public final class LinkscoreReporter extends BaseRichBolt {
  private static final long serialVersionUID = 1;

  private transient Session session;
  private transient OutputCollector collector;
  private boolean failures;

  @Override
  public void prepare(Map<String, Object> conf, TopologyContext context, OutputCollector to) {
    session = LinkscoreFilter.session(conf);
    collector = to;
    failures = !"false".equals(String.valueOf(conf.get("linkscore.report.failures")));
  }

  @Override
  public void execute(Tuple tuple) {
    String url = tuple.getStringByField("url");
    Metadata metadata = (Metadata) tuple.getValueByField("metadata");
    report(session, failures, url, metadata, (Status) tuple.getValueByField("status"));
    collector.ack(tuple);
  }

  @Override
  public void declareOutputFields(OutputFieldsDeclarer declarer) {} // it ends here

  static void report(Session session, boolean failures, String url, Metadata metadata, Status status) {
    ByteString ticket = Settings.ticket(metadata.getFirstValue(LinkscoreFilter.TICKET));
    if (failures && (status == Status.FETCH_ERROR || status == Status.ERROR)) {
      int code = number(metadata.getFirstValue("fetch.statusCode"));
      String why = metadata.getFirstValue("fetch.exception");
      session.failed(url, code >= 400 ? code : 0, code >= 400 ? "" : why == null ? "error" : why, ticket);
    }
    if (status == Status.FETCHED && LinkscoreFilter.isUnchanged(metadata)) { // no filter sees it
      session.unchanged(Page.newBuilder().setUrl(url).setTicket(ticket));
    }
    String reward = metadata.getFirstValue(LinkscoreFilter.REWARD);
    if (status == Status.FETCHED && reward != null) {
      session.reward(url, ticket, Double.parseDouble(reward));
    }
  }

  private static int number(String text) {
    return text == null || !text.matches("\\d{3}") ? 0 : Integer.parseInt(text);
  }
}
