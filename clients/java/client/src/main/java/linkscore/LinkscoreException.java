package linkscore;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.rpc.BadRequest;
import com.google.rpc.BadRequest.FieldViolation;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import io.grpc.Status;
import io.grpc.protobuf.StatusProto;
import java.security.GeneralSecurityException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
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

  public final Status.Code code;

  /** The fields of the request that break a rule. */
  public final transient List<FieldViolation> violations;

  /** The server's stable UPPER_SNAKE reason, empty if it gave none; and its further facts about the error. */
  public final String reason;

  public final transient Map<String, String> metadata;

  /** How long the server asks to wait, zero if it does not say. */
  public final Duration retryAfter;

  private LinkscoreException(Status.Code code, String message, Throwable cause, List<Any> details) {
    super(message, cause);
    this.code = code;
    ErrorInfo info = detail(details, ErrorInfo.class).orElse(ErrorInfo.getDefaultInstance());
    reason = info.getReason();
    metadata = info.getMetadataMap();
    var delay = detail(details, RetryInfo.class).orElse(RetryInfo.getDefaultInstance()).getRetryDelay();
    retryAfter = Duration.ofSeconds(delay.getSeconds(), delay.getNanos());
    violations = detail(details, BadRequest.class).orElse(BadRequest.getDefaultInstance()).getFieldViolationsList();
  }

  private static <M extends Message> Optional<M> detail(List<Any> details, Class<M> kind) {
    try {
      Optional<Any> packed = details.stream().filter(each -> each.is(kind)).findFirst();
      return packed.isPresent() ? Optional.of(packed.get().unpack(kind)) : Optional.empty();
    } catch (InvalidProtocolBufferException e) { // the rest of the error is still worth having
      return Optional.empty();
    }
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
    String message = status.getCode() + (said == null ? "" : ": " + said);
    return new LinkscoreException(status.getCode(), message, thrown, details(thrown));
  }

  /** An answer that cannot be read. */
  static LinkscoreException odd(String why) {
    return new LinkscoreException(Status.Code.INTERNAL, "the server's answer cannot be read: " + why, null, List.of());
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
    var text = new StringBuilder("INVALID_ARGUMENT");
    var found = BadRequest.newBuilder();
    for (var p : status.getProblemsList()) {
      text.append(": ").append(p.getField()).append(' ').append(p.getDescription());
      found.addFieldViolationsBuilder().setField(p.getField()).setDescription(p.getDescription());
    }
    var details = List.of(Any.pack(found.build()));
    throw new LinkscoreException(Status.Code.INVALID_ARGUMENT, text.toString(), null, details);
  }

  /** What the server attached; nothing of a proxy, whose details are not of this contract. */
  private static List<Any> details(Throwable thrown) {
    try {
      com.google.rpc.Status said = StatusProto.fromThrowable(thrown);
      return said == null ? List.of() : said.getDetailsList();
    } catch (IllegalArgumentException e) {
      return List.of();
    }
  }
}
