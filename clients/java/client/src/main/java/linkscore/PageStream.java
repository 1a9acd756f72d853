package linkscore;

import io.grpc.Status;
import io.grpc.stub.ClientCallStreamObserver;
import io.grpc.stub.ClientResponseObserver;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import linkscore.v1.LinkScoringServiceGrpc.LinkScoringServiceStub;
import linkscore.v1.Page;
import linkscore.v1.PageResult;
import linkscore.v1.StreamPagesRequest;
import linkscore.v1.StreamPagesResponse;

/**
 * The answers to a stream of pages, in the order of the pages. They are read when they are asked for, and pages are sent
 * no faster than the server takes them, so that neither side keeps more than a few.
 */
public final class PageStream implements Iterator<Result>, AutoCloseable {
  private static final Object END = new Object();

  /** Answers ({@link PageResult}), then END or what ended the stream ({@link Throwable}). */
  private final BlockingQueue<Object> answers = new LinkedBlockingQueue<>();

  private final Object ready = new Object();
  private ClientCallStreamObserver<StreamPagesRequest> call;
  private boolean over;
  private Object next;

  PageStream(LinkScoringServiceStub stub, String crawl, Iterator<Page> pages) {
    stub.streamPages(
        new ClientResponseObserver<StreamPagesRequest, StreamPagesResponse>() {
          @Override
          public void beforeStart(ClientCallStreamObserver<StreamPagesRequest> stream) {
            call = stream;
            stream.disableAutoRequestWithInitial(1);
            stream.setOnReadyHandler(PageStream.this::wake);
          }

          @Override
          public void onNext(StreamPagesResponse answer) {
            answers.add(answer.getResult());
          }

          @Override
          public void onError(Throwable thrown) {
            end(thrown);
          }

          @Override
          public void onCompleted() {
            end(END);
          }
        });
    Thread sender = new Thread(() -> send(crawl, pages), "linkscore-pages");
    sender.setDaemon(true);
    sender.start();
  }

  /** Waits for the next answer; throws {@link LinkscoreException} if the stream failed. */
  @Override
  public boolean hasNext() {
    if (next == null) {
      try {
        next = answers.take();
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        close();
        next = Status.CANCELLED.withDescription("interrupted").withCause(e).asRuntimeException();
      }
      if (next instanceof PageResult) {
        call.request(1);
      }
    }
    if (next instanceof Throwable) {
      throw LinkscoreException.from((Throwable) next);
    }
    return next != END;
  }

  @Override
  public Result next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Result result = new Result((PageResult) next);
    next = null;
    return result;
  }

  /** Ends the stream, whatever is under way. */
  @Override
  public void close() {
    call.cancel("closed", null);
  }

  private void send(String crawl, Iterator<Page> pages) {
    try {
      for (long id = 1; pages.hasNext(); id++) {
        var request = StreamPagesRequest.newBuilder().setRequestId(id).setPage(Crawl.completed(pages.next()));
        if (id == 1) {
          request.setCrawl(crawl);
        }
        if (!awaitReady()) {
          return;
        }
        call.onNext(request.build());
      }
      call.onCompleted();
    } catch (RuntimeException e) { // of the caller's pages, or of a stream that has ended: its end says why
      call.cancel("the pages ended with an error", e);
    }
  }

  private boolean awaitReady() {
    synchronized (ready) {
      while (!over && !call.isReady()) {
        try {
          ready.wait();
        } catch (InterruptedException e) {
          return false;
        }
      }
      return !over;
    }
  }

  private void wake() {
    synchronized (ready) {
      ready.notifyAll();
    }
  }

  private void end(Object with) {
    synchronized (ready) {
      over = true;
      ready.notifyAll();
    }
    answers.add(with);
  }
}
