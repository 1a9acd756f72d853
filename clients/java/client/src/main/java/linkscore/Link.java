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
  /** Absolute URL to request, without fragment; empty if the link could not be used. */
  public final String url;

  /** In [0, 1], higher first. */
  public final double score;

  /** Name of the group whose value moves together. */
  public final String bucket;

  /** What {@link Crawl#rankBuckets} would answer for {@link #bucket} now. */
  public final double bucketValue;

  /** At most 64 opaque bytes: keep them with the URL and send them back. */
  public final ByteString ticket;

  /** Advice of a filtering policy; and why the link is to skip by a setting of the crawl, if one says so. */
  public final Verdict verdict;

  public final SkipReason skipReason;

  /** False for a link that leaves the crawl. */
  public final boolean inScope;

  /** What became of the link; without a code if nothing is wrong with it. */
  public final ItemStatus status;

  private Link(LinkScores of, int row) {
    boolean hasBucket = row < of.getBucketsCount();
    url = row < of.getUrlsCount() ? of.getUrls(row) : "";
    score = of.getScores(row);
    bucket = hasBucket ? of.getBucketNames(of.getBuckets(row)) : "";
    bucketValue = hasBucket ? of.getBucketValues(of.getBuckets(row)) : score;
    ticket = row < of.getTicketsCount() ? of.getTicketValues(of.getTickets(row)) : ByteString.EMPTY;
    verdict = row < of.getVerdictsCount() ? of.getVerdicts(row) : Verdict.VERDICT_UNSPECIFIED;
    skipReason = row < of.getSkipReasonsCount() ? of.getSkipReasons(row) : SkipReason.SKIP_REASON_UNSPECIFIED;
    inScope = row >= of.getInScopeCount() || of.getInScope(row);
    status = of.getStatusesOrDefault(row, ItemStatus.getDefaultInstance());
  }

  /** The links of a page that was ingested, in the order of its outlinks, or of the document if the server found them. */
  public static List<Link> of(PageResult result) {
    LinkScores links = result.getLinks();
    check(links);
    return IntStream.range(0, links.getScoresCount()).mapToObj(row -> new Link(links, row)).collect(Collectors.toList());
  }

  /** Whether the link was scored; {@link #status} says why not. */
  public boolean usable() {
    return status.getCode() != ItemCode.ITEM_CODE_INVALID;
  }

  /** Whether a setting of the crawl says to skip the link: a budget, a trap, a copy, what its site reserves. */
  public boolean isSkipped() {
    return skipReason != SkipReason.SKIP_REASON_UNSPECIFIED;
  }

  /** Whether it is to skip for good, as one that leads to a copy; one whose crawl or site has stopped waits for more budget. */
  public boolean isDropped() {
    return skipReason == SkipReason.SKIP_REASON_TRAP
        || skipReason == SkipReason.SKIP_REASON_RESPECT
        || skipReason == SkipReason.SKIP_REASON_COPY;
  }

  /** Throws if columns do not fit, or have numbers that are none. */
  private static void check(LinkScores of) {
    int rows = of.getScoresCount();
    int buckets = of.getBucketNamesCount();
    var columns =
        IntStream.of(
            of.getUrlsCount(),
            of.getBucketsCount(),
            of.getTicketsCount(),
            of.getVerdictsCount(),
            of.getSkipReasonsCount(),
            of.getInScopeCount());
    boolean fits = columns.allMatch(length -> length == 0 || length == rows) && of.getBucketValuesCount() == buckets;
    boolean isThere =
        of.getBucketsList().stream().allMatch(at -> at >= 0 && at < buckets)
            && of.getTicketsList().stream().allMatch(at -> at >= 0 && at < of.getTicketValuesCount())
            && of.getTicketValuesList().stream().allMatch(ticket -> ticket.size() <= 64);
    if (!fits || !isThere) {
      throw LinkscoreException.odd("its columns do not fit each other");
    }
    if (!Stream.concat(of.getScoresList().stream(), of.getBucketValuesList().stream()).allMatch(Double::isFinite)) {
      throw LinkscoreException.odd("a number is not finite");
    }
  }
}
