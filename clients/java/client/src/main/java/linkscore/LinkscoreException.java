package linkscore;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLHandshakeException;
import linkscore.v1.ItemCode;
import linkscore.v1.ItemStatus;

/**
 * What a call failed with, its details decoded. The code is a gRPC status: INVALID_ARGUMENT ({@link #violations} name
 * each field), RESOURCE_EXHAUSTED ({@link #retryAfter} says when to come back), UNAVAILABLE (was retried already) and so on.
 */
public final class LinkscoreException extends RuntimeException {
  private static final long serialVersionUID = 1;

  private final Status.Code code;
  private final transient List<FieldViolation> violations = new ArrayList<>();
  private transient Map<String, String> metadata = Map.of();
  private String reason = "";
  private Duration retryAfter = Duration.ZERO;

  private LinkscoreException(Status.Code code, String message, Throwable cause) {
    super(message, cause);
    this.code = code;
  }

  public Status.Code code() {
    return code;
  }

  /** The server's stable UPPER_SNAKE reason, empty if it gave none. */
  public String reason() {
    return reason;
  }

  /** How long the server asks to wait, zero if it does not say. */
  public Duration retryAfter() {
    return retryAfter;
  }

  /** The fields of the request that break a rule. */
  public List<FieldViolation> violations() {
    return Collections.unmodifiableList(violations);
  }

  /** The server's further facts about the error. */
  public Map<String, String> metadata() {
    return metadata;
  }

  /** Whether the server is away or has no room: no server, no answer in time, too much load, or a full disk. */
  public boolean isOutage() {
    boolean hasNoRoom = code == Status.Code.RESOURCE_EXHAUSTED && !reason.equals("LIMIT_EXCEEDED");
    return code == Status.Code.UNAVAILABLE || code == Status.Code.DEADLINE_EXCEEDED || hasNoRoom;
  }

  /** Whether only another configuration mends it, one of TLS too: such a crawl does not begin. */
  public boolean isRefusal() {
    if (isOutage()) { // one that a certificate ends, or plain text; a handshake that breaks off may go well later
      Throwable root = root();
      boolean isOfTls = root instanceof SSLException || root instanceof GeneralSecurityException;
      return isOfTls && !(root instanceof SSLHandshakeException);
    }
    return code != Status.Code.INTERNAL && code != Status.Code.UNKNOWN && code != Status.Code.CANCELLED;
  }

  /** What it came from in the first place. */
  Throwable root() {
    Throwable root = this;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    return root;
  }

  /** Turns what a generated stub threw into an error of this class. */
  public static LinkscoreException from(Throwable thrown) {
    if (thrown instanceof LinkscoreException) {
      return (LinkscoreException) thrown;
    }
    Status status = Status.fromThrowable(thrown);
    String said = status.getDescription();
    var made = new LinkscoreException(status.getCode(), status.getCode() + (said == null ? "" : ": " + said), thrown);
    made.attach(thrown);
    return made;
  }

  /** An answer that cannot be read. */
  static LinkscoreException odd(String why) {
    return new LinkscoreException(Status.Code.INTERNAL, "the server's answer cannot be read: " + why, null);
  }

  static <T> T typed(Supplier<T> call) {
    try {
      return call.get();
    } catch (RuntimeException e) {
      throw from(e);
    }
  }

  /** Throws if an item of a batch was refused. */
  static void check(ItemStatus status) {
    if (status.getCode() != ItemCode.ITEM_CODE_INVALID) {
      return;
    }
    List<FieldViolation> found = new ArrayList<>();
    var text = new StringBuilder("INVALID_ARGUMENT");
    for (var p : status.getProblemsList()) {
      text.append(": ").append(p.getField()).append(' ').append(p.getDescription());
      found.add(FieldViolation.newBuilder().setField(p.getField()).setDescription(p.getDescription()).build());
    }
    var made = new LinkscoreException(Status.Code.INVALID_ARGUMENT, text.toString(), null);
    made.violations.addAll(found);
    throw made;
  }

  /** Takes over what the server attached; a proxy's details, which are none of this contract, are left out. */
  private void attach(Throwable thrown) {
    try {
      com.google.rpc.Status said = StatusProto.fromThrowable(thrown);
      for (Any detail : said == null ? List.<Any>of() : said.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          reason = info.getReason();
          metadata = Map.copyOf(info.getMetadataMap());
        } else if (detail.is(RetryInfo.class)) {
          var delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
        } else if (detail.is(BadRequest.class)) {
          violations.addAll(detail.unpack(BadRequest.class).getFieldViolationsList());
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException e) {
      addSuppressed(e);
    }
  }
}
