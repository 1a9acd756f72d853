package linkscore;

import com.google.protobuf.ByteString;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import linkscore.v1.ItemCode;
import linkscore.v1.ItemStatus;
import linkscore.v1.LinkScores;
import linkscore.v1.PageResult;
import linkscore.v1.SkipReason;
import linkscore.v1.Verdict;

/** One scored link. */
public final class Link {
  private final LinkScores of;
  private final int row;

  private Link(LinkScores of, int row) {
    this.of = of;
    this.row = row;
  }

  /** The links of a page that was ingested, in the order of its outlinks, or of the document if the server found them. */
  public static List<Link> of(PageResult result) {
    return rows(result.getLinks());
  }

  /** Reads the columns of an answer as one link a row, in their order. */
  public static List<Link> rows(LinkScores links) {
    check(links);
    return IntStream.range(0, links.getScoresCount()).mapToObj(row -> new Link(links, row)).collect(Collectors.toList());
  }

  /** Absolute URL to request, without fragment; empty if the link could not be used. */
  public String url() {
    return row < of.getUrlsCount() ? of.getUrls(row) : "";
  }

  /** In [0, 1], higher first. */
  public double score() {
    return of.getScores(row);
  }

  /** Name of the group whose value moves together. */
  public String bucket() {
    return row < of.getBucketsCount() ? of.getBucketNames(of.getBuckets(row)) : "";
  }

  /** What {@link Crawl#rankBuckets} would answer for {@link #bucket} now. */
  public double bucketValue() {
    return row < of.getBucketsCount() ? of.getBucketValues(of.getBuckets(row)) : score();
  }

  /** At most 64 opaque bytes: keep them with the URL and send them back. */
  public ByteString ticket() {
    return row < of.getTicketsCount() ? of.getTicketValues(of.getTickets(row)) : ByteString.EMPTY;
  }

  /** Advice of a filtering policy. */
  public Verdict verdict() {
    return row < of.getVerdictsCount() ? of.getVerdicts(row) : Verdict.VERDICT_UNSPECIFIED;
  }

  /** Why the link is to skip by a setting of the crawl, if one says so; its verdict is SKIP then. */
  public SkipReason skipReason() {
    return row < of.getSkipReasonsCount() ? of.getSkipReasons(row) : SkipReason.SKIP_REASON_UNSPECIFIED;
  }

  /** Whether a setting of the crawl says to skip the link: a budget, a trap, a copy, what its site reserves. */
  public boolean isSkipped() {
    return skipReason() != SkipReason.SKIP_REASON_UNSPECIFIED;
  }

  /** Whether it is to skip for good, as one that leads to a copy; one whose crawl or site has stopped waits for more budget. */
  public boolean isDropped() {
    SkipReason reason = skipReason();
    return isSkipped()
        && reason != SkipReason.SKIP_REASON_CRAWL_BUDGET
        && reason != SkipReason.SKIP_REASON_SITE_STOPPED;
  }

  /** False for a link that leaves the crawl. */
  public boolean inScope() {
    return row >= of.getInScopeCount() || of.getInScope(row);
  }

  /** Whether the link was scored; {@link #status} says why not. */
  public boolean usable() {
    return status().getCode() != ItemCode.ITEM_CODE_INVALID;
  }

  /** What became of the link; without a code if nothing is wrong with it. */
  public ItemStatus status() {
    return of.getStatusesOrDefault(row, ItemStatus.getDefaultInstance());
  }

  @Override
  public String toString() {
    return url() + " " + score() + " " + bucket();
  }

  /** Throws if columns do not fit, or have numbers that are none. */
  private static void check(LinkScores links) {
    int rows = links.getScoresCount();
    boolean fits =
        IntStream.of(
                links.getUrlsCount(),
                links.getBucketsCount(),
                links.getTicketsCount(),
                links.getVerdictsCount(),
                links.getSkipReasonsCount(),
                links.getInScopeCount(),
                links.getUrlTypesCount())
            .allMatch(length -> length == 0 || length == rows);
    if (!fits) {
      throw LinkscoreException.odd("a column has another length than scores");
    }
    if (links.getBucketValuesCount() != links.getBucketNamesCount()
        || links.getBucketsList().stream().anyMatch(at -> at < 0 || at >= links.getBucketNamesCount())
        || links.getTicketsList().stream().anyMatch(at -> at < 0 || at >= links.getTicketValuesCount())) {
      throw LinkscoreException.odd("a bucket or ticket is not there");
    }
    if (!Stream.concat(links.getScoresList().stream(), links.getBucketValuesList().stream()).allMatch(Double::isFinite)) {
      throw LinkscoreException.odd("a number is not finite");
    }
  }
}
