package linkscore;

import java.util.Map;
import linkscore.v1.Budget;
import linkscore.v1.Decision;
import linkscore.v1.PageResult;

/**
 * What the budget of a crawl still allows, as the answers to its pages say. Until the first page is answered one fetch may
 * begin at a time: a crawl that was there may have spent all. Of a crawl without a budget every fetch may begin.
 */
final class Allowance {
  private static final Map<Decision, String> STOPS =
      Map.of(
          Decision.DECISION_STOP_YIELD, "linkscore_yield",
          Decision.DECISION_STOP_COVERED, "linkscore_covered",
          Decision.DECISION_STOP_BUDGET, "linkscore_budget");
  private static final double UNBOUNDED = Double.POSITIVE_INFINITY;

  volatile String reason = ""; // why the crawl ends, as one word; empty while it goes on
  volatile String why = ""; // the same in a sentence
  private double left = UNBOUNDED;
  private boolean isAnswered;
  private long seq; // event of the answer that was taken over
  private long unknown; // fetches that the server has not counted, for ever if it refused them
  private boolean isSpent;

  Allowance(Budget budget) {
    if (budget.hasMaxFetches()) {
      left = budget.getMaxFetches();
    }
    if (budget.hasMaxCost() && budget.getFetchCost() > 0) {
      left = Math.min(left, Math.floor(budget.getMaxCost() / budget.getFetchCost()));
    }
  }

  /** Notes a fetch that the server is told of now or later. */
  synchronized void begin() {
    unknown++;
  }

  /** Takes over the answer to a page. One that another overtook cannot raise what is left. */
  synchronized void take(PageResult result) {
    boolean isLatest = result.getEventSeq() >= seq;
    seq = Math.max(seq, result.getEventSeq());
    isAnswered = true;
    unknown--;
    if (!result.hasStanding()) {
      return;
    }
    var said = result.getStanding();
    double now = said.hasFetchesLeft() ? said.getFetchesLeft() : UNBOUNDED;
    left = isLatest ? now : Math.min(left, now);
    if (isLatest || said.getSpent() || !isSpent) {
      isSpent = said.getSpent();
      heed(said.getDecision(), said.getReason());
    }
  }

  /** Takes over what the server says of the crawl as a whole. */
  synchronized void heed(Decision decision, String sentence) {
    reason = STOPS.getOrDefault(decision, "");
    why = sentence;
  }

  /** Whether no fetch may begin beside those under way; start pages may, which may be of a site that has not stopped. */
  synchronized boolean isFull(int underWay, boolean hasSeeds) {
    if (isSpent || (!reason.isEmpty() && !hasSeeds)) {
      return true;
    }
    if (left == UNBOUNDED) {
      return false;
    }
    if (underWay == 0 && unknown >= left && reason.isEmpty()) {
      reason = "linkscore_budget";
      why = unknown + " fetches that the server does not know are all that was left";
    }
    return underWay + unknown >= left || (!isAnswered && underWay > 0);
  }
}
