package linkscore;

/** What a link that the server has not scored is probably worth: see {@link Session#guess}. */
public final class Guess {
  private final String bucket;
  private final double value;

  Guess(String bucket, double value) {
    this.bucket = bucket;
    this.value = value;
  }

  /** Name of the bucket that links like it wait in. */
  public String bucket() {
    return bucket;
  }

  /** What that was worth last, less if pages like it were not there. */
  public double value() {
    return value;
  }
}
