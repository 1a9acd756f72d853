package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** What is asked of a server that is away, in which order, and what is dropped. */
class OutageTest {
  private static final LinkscoreException DOWN = error(Status.UNAVAILABLE);
  private static final LinkscoreException LATE = error(Status.DEADLINE_EXCEEDED);
  private static final LinkscoreException WRONG = error(Status.INVALID_ARGUMENT);

  private final List<String> asked = new ArrayList<>();
  private final List<LinkscoreException> answers = Collections.synchronizedList(new ArrayList<>());

  private static LinkscoreException error(Status status) {
    return LinkscoreException.from(status.asRuntimeException());
  }

  /** Asks something, which is answered as the test says. */
  private synchronized void ask(String what) {
    asked.add(what);
    LinkscoreException failure = answers.isEmpty() ? null : answers.remove(0);
    if (failure != null) {
      throw failure;
    }
  }

  private Outage.Owed owed(int number) {
    return new Outage.Owed(100, () -> ask("/" + number));
  }

  /** What is asked of a server that gives these answers, until it knows all that can be told of so many pages. */
  private List<String> asked(int pages, int maxBytes, LinkscoreException... given) throws Exception {
    asked.clear();
    answers.addAll(Arrays.asList(given));
    Outage outage = outage(Duration.ofMillis(50), maxBytes);
    synchronized (this) { // nothing is answered before all are kept
      outage.met(DOWN, owed(0));
      for (int i = 1; i < pages; i++) {
        assertTrue(outage.keep(owed(i)));
      }
    }
    while (outage.isAway() || !answers.isEmpty()) {
      LockSupport.parkNanos(1_000_000);
    }
    outage.close(); // it waits for what is being told
    return List.copyOf(asked);
  }

  private Outage outage(Duration pause, int maxBytes) {
    return new Outage(() -> ask("?"), refused -> {}, pause, maxBytes);
  }

  @Test
  void aServerIsBackWhenItAnswersAndTakesAPage() throws Exception {
    assertEquals(List.of("?", "?", "/0", "?", "/0", "/1"), asked(2, 1000, DOWN, null, DOWN));
  }

  @Test
  void whatIsNeverAnsweredInTimeOrRefusedIsDroppedAndSoAreTheOldestBeyondTheBytes() throws Exception {
    assertEquals(
        List.of("?", "/0", "?", "/0", "?", "/0", "?", "/1"), asked(2, 1000, null, LATE, null, LATE, null, LATE));
    assertEquals(List.of("?", "/0", "/1"), asked(2, 1000, null, WRONG));
    assertEquals(List.of("?", "/2", "/3", "/4"), asked(5, 300));
  }

  @Test
  void whatWaitsIsSentAtTheEndIfTheServerIsThereByThen() {
    for (LinkscoreException answer : new LinkscoreException[] {null, DOWN}) {
      asked.clear();
      answers.add(answer);
      Outage outage = outage(Duration.ofHours(1), 1000);
      outage.met(DOWN, owed(0));
      outage.keep(owed(1));
      outage.close();
      assertEquals(answer == null ? List.of("?", "/0", "/1") : List.of("?"), asked);
    }
  }
}
