package linkscore;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.rpc.BadRequest;
import io.grpc.ServerCredentials;
import io.grpc.Status;
import io.grpc.TlsServerCredentials;
import io.grpc.protobuf.StatusProto;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ForkJoinPool;
import javax.net.ssl.KeyManagerFactory;
import linkscore.v1.Budget;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a configuration may say, and what ends the start of a crawl. */
class ClientTest {
  private static IllegalArgumentException refused(Map<String, String> settings) {
    return assertThrows(IllegalArgumentException.class, () -> Session.configured("c", settings));
  }

  @Test
  void aTokenFileThatIsMissingOrEmptyForAMomentLosesNoCall(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("token");
    try (FakeServer server = new FakeServer();
        Client client = Client.to(server.target()).tokenFile(file).connect()) {
      assertThrows(LinkscoreException.class, () -> client.ensureCrawl("x", null));
      Files.writeString(file, "first");
      client.ensureCrawl("x", null);
      Files.writeString(file, "");
      client.crawl("x").get();
      Files.delete(file);
      client.crawl("x").get();
    }
  }

  @Test
  void aSettingOfAnotherFormIsRefusedByItsName() {
    for (String wrong : List.of("http://localhost:7411", "https://a.test:7411/", "a:74110", "localhost", "a b:1", "a:port")) {
      assertTrue(refused(Map.of("target", wrong)).getMessage().contains("must be host:port"), wrong);
    }
    for (String right : List.of("localhost:7411", "10.0.0.1:7411", "[::1]:7411", "dns:///a.test:7411", "unix:/run/x")) {
      Client.to(right);
    }
    Map<String, String> settings = Map.of(
            "budget", "max_pages=1", "timeout.ms", "soon", "tls.ca", "/no/file", "examples", "http://a.test/=/no.html", "polcy", "x",
            "required", "yes");
    for (String none : List.of("-3", "0", "NaN", "1e9", "99999999999999999999")) {
      assertTrue(refused(Map.of("timeout.ms", none)).getMessage().startsWith("linkscore.timeout.ms: "), none);
    }
    assertTrue(refused(Map.of("tls.ca", "pom.xml")).getMessage().startsWith("linkscore.tls.ca: "));
    settings.forEach(
        (key, value) -> {
          String said = refused(Map.of(key, value)).getMessage();
          assertTrue(said.startsWith("linkscore." + key + ": "), said);
        });
  }

  @Test
  void aServerThatIsRequiredMustAnswerAtTheStart() throws Exception {
    FakeServer server = new FakeServer();
    Map<String, String> settings = Map.of("target", server.target(), "required", "true");
    Session.configured("c", settings).close();
    assertEquals(Map.of("crawls/c", true), server.crawls);
    server.close();
    assertTrue(assertThrows(LinkscoreException.class, () -> Session.configured("c", settings)).isOutage());
  }

  @Test
  void aRefusalEndsTheStartAndAnAbsentServerDoesNot() throws Exception {
    try (FakeServer server = new FakeServer()) {
      Map<String, String> settings = Map.of("target", server.target(), "policy", "mine");
      Map<Status, String> names =
          Map.of(
              Status.INVALID_ARGUMENT, "linkscore.crawl: INVALID_ARGUMENT",
              Status.UNAUTHENTICATED, "linkscore.token.file: UNAUTHENTICATED",
              Status.PERMISSION_DENIED, "linkscore.token.file: PERMISSION_DENIED",
              Status.FAILED_PRECONDITION, "linkscore.crawl: FAILED_PRECONDITION");
      for (var each : names.entrySet()) {
        server.noCrawl = each.getKey().asRuntimeException();
        assertTrue(refused(settings).getMessage().startsWith(each.getValue()), each.getValue());
      }
      server.noCrawl = Status.DEADLINE_EXCEEDED.asRuntimeException();
      try (Session session = Session.configured("c", settings)) {
        assertTrue(session.isBroken());
      }
      var field = BadRequest.newBuilder();
      field.addFieldViolationsBuilder().setField("crawl.policy.external.name").setDescription("must be known");
      var said = com.google.rpc.Status.newBuilder().setCode(3).addDetails(Any.pack(field.build()));
      server.noCrawl = StatusProto.toStatusRuntimeException(said.build());
      assertEquals("linkscore.policy: external.name must be known", refused(settings).getMessage());
    }
  }

  /** A server's own certificate, which no authority signed. */
  private static ServerCredentials selfSigned(Path keys) throws Exception {
    String keytool = Path.of(System.getProperty("java.home"), "bin", "keytool").toString();
    String options = " -genkeypair -keyalg EC -dname CN=localhost -storepass secret -keypass secret -keystore " + keys;
    assertEquals(0, new ProcessBuilder((keytool + options).split(" ")).start().waitFor());
    char[] secret = "secret".toCharArray();
    var own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(KeyStore.getInstance(keys.toFile(), secret), secret);
    return TlsServerCredentials.newBuilder().keyManager(own.getKeyManagers()).build();
  }

  @Test
  void anAuthorityThatDoesNotFitEndsTheStartAndAHandshakeThatBreaksOffDoesNot(@TempDir Path folder) throws Exception {
    try (FakeServer unsigned = new FakeServer(0, selfSigned(folder.resolve("keys")));
        FakeServer plain = new FakeServer();
        ServerSocket broken = new ServerSocket(0)) {
      for (FakeServer each : List.of(unsigned, plain)) {
        String said = refused(Map.of("target", each.target(), "tls.ca", "system")).getMessage();
        assertTrue(said.startsWith("linkscore.tls.ca: "), said);
      }
      ForkJoinPool.commonPool().submit(() -> {
        while (true) {
          broken.accept().shutdownOutput();
        }
      });
      Map<String, String> settings = Map.of("target", "localhost:" + broken.getLocalPort(), "tls.ca", "system");
      try (Session session = Session.configured("c", settings)) {
        assertTrue(session.isBroken());
      }
    }
  }

  @Test
  void aBudgetIsGivenToACrawlThatIsThere() throws Exception {
    Budget seven = Settings.budget("max_fetches=7");
    try (FakeServer server = new FakeServer();
        Client client = Client.to(server.target()).connect()) {
      var config = linkscore.v1.Crawl.newBuilder().setBudget(seven).build();
      for (var each : new linkscore.v1.Crawl[] {null, config, config, null}) {
        client.ensureCrawl("x", each);
      }
      assertEquals(seven, server.crawl.getBudget());
    }
  }

  @Test
  void policiesBudgetsAndTicketsAreReadFromText() {
    assertTrue(Settings.policy("harvest").hasHarvest());
    assertEquals("mine", Settings.policy("mine").getExternal().getName());
    Budget budget = Budget.newBuilder().setMaxFetches(5000).setEnoughCoverage(.95).build();
    assertEquals(budget, Settings.budget("max_fetches=5000, enough_coverage=0.95"));
    assertEquals(Budget.getDefaultInstance(), Settings.budget(" "));
    ByteString raw = ByteString.copyFrom(new byte[] {(byte) 0xfb, (byte) 0xf0});
    assertEquals("-_A", Settings.text(raw));
    assertEquals(raw, Settings.ticket("-_A"));
    assertEquals(ByteString.EMPTY, Settings.ticket("not base64!"));
    assertEquals(ByteString.EMPTY, Settings.ticket(null));
  }

  @Test
  void aTokenThatNoCallCanCarryIsRefusedByName() {
    for (String secret : List.of("secret\n", "s\u00e9cret")) {
      var refused = assertThrows(IllegalArgumentException.class, () -> Client.to("localhost:1").token(secret));
      assertTrue(refused.getMessage().contains("token must be"), refused.getMessage());
    }
  }
}
