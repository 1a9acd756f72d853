package linkscore.stormcrawler;

import org.apache.stormcrawler.Metadata;

/** Metadata of a URL; all but the last are called alike by every adapter (docs/reference/clients.md). */
final class Keys {
  /** Name of the bucket; empty if the server answered of the page, and not of this link. */
  static final String BUCKET = "linkscore.bucket";
  static final String VALUE = "linkscore.value";
  static final String SCORE = "linkscore.score";
  static final String TICKET = "linkscore.ticket";

  /** When to fetch a page again, in seconds since 1970; not there unless the crawl has {@code revisit}. */
  static final String NEXT = "linkscore.next";

  /** What a parse filter says a page was worth, in [0, 1]. */
  static final String REWARD = "linkscore.reward";

  private Keys() {}

  /** Whether the site answered that the page is as it was. */
  static boolean isUnchanged(Metadata metadata) {
    return "304".equals(metadata.getFirstValue("fetch.statusCode"));
  }
}
