package linkscore;

import com.google.protobuf.ByteString;
import java.util.Base64;

/** Tickets as text, for queues that keep strings: base64url without padding. */
public final class Tickets {
  private Tickets() {}

  /** Writes a ticket as text. */
  public static String encode(ByteString ticket) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(ticket.toByteArray());
  }

  /** Reads what {@link #encode} wrote; null or a damaged text is a missing ticket, which is answered by URL alone. */
  public static ByteString decode(String text) {
    if (text == null) {
      return ByteString.EMPTY;
    }
    try {
      return ByteString.copyFrom(Base64.getUrlDecoder().decode(text));
    } catch (IllegalArgumentException e) {
      return ByteString.EMPTY;
    }
  }
}
