package linkscore;

import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.TextFormat;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import linkscore.v1.Budget;
import linkscore.v1.ExamplePage;
import linkscore.v1.PolicySpec;

/** What configurations and queues of crawlers hold as text. */
public final class Settings {
  private Settings() {}

  /** A policy with its default parameters. A name the contract does not know is that of a policy from outside. */
  public static PolicySpec policy(String name) {
    FieldDescriptor field = PolicySpec.getDescriptor().findFieldByName(name);
    PolicySpec.Builder spec = PolicySpec.newBuilder();
    if (field == null || name.equals("external")) {
      spec.getExternalBuilder().setName(name);
      return spec.build();
    }
    return spec.setField(field, spec.newBuilderForField(field).build()).build();
  }

  /**
   * Reads {@code max_fetches=5000 enough_coverage=0.95}: fields of {@link Budget}, with spaces or commas between.
   *
   * @return an empty one if there is none
   * @throws IllegalArgumentException a name is unknown, or a number is none
   */
  public static Budget budget(String text) {
    Budget.Builder made = Budget.newBuilder();
    try {
      TextFormat.merge(text.replace('=', ':'), made);
    } catch (TextFormat.ParseException e) {
      throw new IllegalArgumentException("line:column " + e.getMessage(), e);
    }
    return made.build();
  }

  /** Reads {@code true} or {@code false}: a typing error must not leave a setting off. */
  static boolean truth(String text) {
    if (!text.matches("(?i)true|false")) {
      throw new IllegalArgumentException("must be true or false, got " + text);
    }
    return Boolean.parseBoolean(text);
  }

  /** Writes a ticket as text, for queues that keep strings: base64url without padding. */
  public static String text(ByteString ticket) {
    return Base64.getUrlEncoder().withoutPadding().encodeToString(ticket.toByteArray());
  }

  /** Reads what {@link #text} wrote; null or a damaged text is a missing ticket, which is answered by URL alone. */
  public static ByteString ticket(String text) {
    try {
      return text == null ? ByteString.EMPTY : ByteString.copyFrom(Base64.getUrlDecoder().decode(text));
    } catch (IllegalArgumentException e) {
      return ByteString.EMPTY;
    }
  }

  /** Reads examples of the pages wanted, with blanks between: URLs, or {@code URL=FILE} with the HTML. */
  static List<ExamplePage> examples(String texts) throws IOException {
    List<ExamplePage> examples = new ArrayList<>();
    for (String text : texts.split("\\s+")) {
      int at = text.lastIndexOf('=');
      Path file = Path.of(text.substring(at + 1));
      boolean hasFile = at >= 0 && (Files.exists(file) || file.toString().endsWith(".html"));
      var example = ExamplePage.newBuilder().setUrl(hasFile ? text.substring(0, at) : text);
      examples.add(hasFile ? example.setBody(ByteString.copyFrom(Files.readAllBytes(file))).build() : example.build());
    }
    return examples;
  }

  /** What a text is read by. */
  interface Reader<T> {
    T read(String text) throws IOException;
  }

  /** Reads {@code linkscore.KEY} if it is set; an error names it. */
  static <T> Optional<T> read(Map<String, String> settings, String key, Reader<T> reader) {
    String text = settings.getOrDefault(key, "").trim();
    try {
      return text.isEmpty() ? Optional.empty() : Optional.of(reader.read(text));
    } catch (RuntimeException | IOException e) {
      String what = e instanceof NoSuchFileException ? "no such file: " : "";
      throw new IllegalArgumentException("linkscore." + key + ": " + what + e.getMessage(), e);
    }
  }
}
