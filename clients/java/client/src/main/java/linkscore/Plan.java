package linkscore;

import java.util.HashMap;
import java.util.Map;
import linkscore.v1.RankBucketsRequestOrBuilder;
import linkscore.v1.RankBucketsResponse;

/** What buckets are worth while some fetches are under way, and how many links of each to fetch before asking again. */
public final class Plan {
  private final Map<String, Double> values = new HashMap<>();
  private final Map<String, Integer> urls = new HashMap<>();
  private final boolean handedOut;

  Plan(RankBucketsRequestOrBuilder asked, RankBucketsResponse answer) {
    handedOut = answer.getUrlsCount() > 0;
    int rows = answer.getOrderCount();
    if (answer.getValuesCount() != rows
        || handedOut && answer.getUrlsCount() != rows
        || answer.getOrderList().stream().anyMatch(at -> at < 0 || at >= asked.getBucketsCount())
        || !answer.getValuesList().stream().allMatch(Double::isFinite)) {
      throw LinkscoreException.odd("its order is none of the buckets asked about");
    }
    for (int i = 0; i < answer.getOrderCount(); i++) {
      String bucket = asked.getBuckets(answer.getOrder(i));
      values.put(bucket, answer.getValues(i));
      if (handedOut && answer.getUrls(i) > 0) {
        urls.put(bucket, answer.getUrls(i));
      }
    }
  }

  Plan(Map<String, Double> values, Map<String, Integer> urls) {
    this.values.putAll(values);
    handedOut = urls != null;
    if (handedOut) {
      this.urls.putAll(urls);
    }
  }

  /** The value of each bucket now. */
  public Map<String, Double> values() {
    return values;
  }

  /** How many links of each bucket to take; buckets that get none are left out. */
  public Map<String, Integer> urls() {
    return urls;
  }

  /** Whether fewer links were handed out than there are places: leave the others empty until the next answer. */
  public boolean isShort(int places) {
    return handedOut && urls.values().stream().mapToInt(Integer::intValue).sum() < places;
  }
}
