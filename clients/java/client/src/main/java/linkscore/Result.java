package linkscore;

import java.util.List;
import linkscore.v1.ItemStatus;
import linkscore.v1.PageResult;

/** What the server says of one page. */
public final class Result {
  private final PageResult message;
  private final List<Link> links;

  Result(PageResult message) {
    this.message = message;
    this.links = Link.rows(message.getLinks());
  }

  /** Scored links, in the order of the page's outlinks, or of the document when the server found them. */
  public List<Link> links() {
    return links;
  }

  /** What became of the page: its links are scored unless the code is INVALID. */
  public ItemStatus status() {
    return message.getStatus();
  }

  /** The rest: cluster, page type, thread, suggestions. */
  public PageResult message() {
    return message;
  }
}
