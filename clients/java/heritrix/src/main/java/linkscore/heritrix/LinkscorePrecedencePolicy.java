package linkscore.heritrix;

import org.archive.crawler.frontier.precedence.UriPrecedencePolicy;
import org.archive.modules.CrawlURI;

/**
 * Orders the URIs of a queue by what their buckets were worth when they were found: seeds and prerequisites first, URIs
 * that the server did not score last. The bean for {@code uriPrecedencePolicy} of the {@code preparer}, whose {@code
 * preferenceEmbedHops} must be 0, or guesses found in scripts go ahead of everything.
 *
 * <p>Heritrix asks once, when a URI is scheduled: links found before the server knew better are not moved.
 */
public final class LinkscorePrecedencePolicy extends UriPrecedencePolicy {
  private static final long serialVersionUID = 1;

  // Heritrix takes 1 to 127, lower first. Of the contract's HERITRIX encoding the ends are left to what has no value.
  private static final int FIRST = 1;
  private static final int BEST = 2;
  private static final int WORST = 118;
  private static final int UNSCORED = 119;
  private static final int MISSED = 120;

  @Override
  public void uriScheduled(CrawlURI uri) {
    uri.setPrecedence(precedence(uri));
  }

  private static int precedence(CrawlURI uri) {
    if (uri.isSeed() || uri.isPrerequisite() || uri.getPathFromSeed().endsWith("P")) {
      return FIRST;
    }
    Object value = uri.getData().get(LinkscoreProcessor.VALUE);
    if (value instanceof Double) {
      return BEST + (int) Math.round((1 - (Double) value) * (WORST - BEST));
    }
    return uri.getData().containsKey(LinkscoreProcessor.MISSED) ? MISSED : UNSCORED;
  }
}
