import assert from "node:assert/strict";
import { setImmediate as later } from "node:timers/promises";
import { afterEach, beforeEach, test } from "node:test";

import { create, toBinary } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Metadata } from "@grpc/grpc-js";

import { ErrorInfoSchema, RetryInfoSchema } from "../src/gen/google/rpc/error_details_pb.js";
import { StatusSchema } from "../src/gen/google/rpc/status_pb.js";
import { Decision, LinkScoresSchema, SkipReason } from "../src/gen/linkscore/v1/common_pb.js";
import { Outlook, shapes } from "../src/frontier.js";
import { Client, Code, Session, type SessionOptions } from "../src/index.js";
import { PageResultSchema } from "../src/gen/linkscore/v1/link_scoring_service_pb.js";
import { rows } from "../src/messages.js";
import { Allowance } from "../src/session.js";
import { Fake, type Failure } from "./fake.js";

const ROOT = "http://a.test";
const EVERYTHING = ["IngestPages", "RankBuckets", "ReportFeedback", "GetCrawl"];
/** Is not repeated by the client, as UNAVAILABLE would be. */
const AWAY: Failure = { code: Code.DEADLINE_EXCEEDED };

let fake: Fake;
let client: Client;
let sessions: Session<string>[];
beforeEach(async () => {
  fake = new Fake();
  client = new Client({ target: await fake.start() });
  sessions = [];
});
afterEach(() => {
  for (const session of sessions) session.close();
  client.close();
  fake.stop();
});

/** A session whose probes a test times: each waits until `probe` is called. */
async function started(options: SessionOptions = {}) {
  const waits: number[] = [];
  const asleep: (() => void)[] = [];
  const lines: string[] = [];
  const note = (message: string, data?: object) => void lines.push(`${message} ${JSON.stringify(data)}`);
  const session = new Session<string>(client, "x", {
    log: { info: note, warning: note },
    sleep: (ms) => new Promise<void>((resolve) => void (waits.push(ms), asleep.push(resolve))),
    ...options,
  });
  sessions.push(session);
  await session.start();
  const probe = async () => {
    asleep.shift()?.();
    while (!session.present && !asleep.length) await later(); // the loop waits for either of two events
  };
  return { session, waits, lines, probe };
}

function refuse(failure: Failure, ...methods: string[]): void {
  for (const method of methods) fake.refuses.set(method, failure);
}

const page = (n: number) => ({ url: `${ROOT}/page/${n}`, body: '<a href="/good/1"></a><a href="/bad/1"></a>' });

async function order(session: Session<string>, most = 99) {
  const taken = [];
  while (taken.length < most) {
    const item = await session.frontier.next();
    if (!item) break;
    taken.push(item.key);
    session.frontier.done(item.key);
  }
  return taken.join(" ");
}

test("pages and rewards of an outage are sent when the server is back, oldest first", async () => {
  const { session, lines, probe } = await started();
  refuse(AWAY, ...EVERYTHING);
  for (let n = 0; n < 20; n++) {
    assert.equal(await session.page(page(n)), undefined);
    await session.reward({ url: page(n).url }, 1);
  }
  fake.refuses.clear();
  await probe();
  await session.finish();
  assert.deepEqual(fake.ingested.map(({ url }) => url), Array.from({ length: 20 }, (_, n) => page(n).url));
  assert.equal(new Set(fake.ingested.map(({ eventId }) => eventId)).size, 20);
  assert.deepEqual([fake.rewards.length, session.stats.pages, session.stats.rewards], [20, 20, 20]);
  assert.deepEqual(["does not answer", "answers again"].map((part) => lines.filter((line) => line.includes(part)).length), [1, 1]);
});

test("no call is made while the server is away but probes", async () => {
  const { session, waits, lines, probe } = await started();
  refuse(AWAY, ...EVERYTHING);
  await session.page(page(0));
  session.found("1", `${ROOT}/1`, [], false, "1");
  const before = fake.calls.length;
  for (let n = 0; n < 50; n++) {
    await session.page(page(n));
    await session.frontier.next();
  }
  assert.equal(fake.calls.length, before);
  for (let n = 0; n < 5; n++) await probe();
  assert.deepEqual(fake.calls.slice(before), Array.from({ length: 5 }, () => "GetCrawl"));
  assert.deepEqual(waits, [1000, 2000, 4000, 5000, 5000, 5000]);
  assert.equal(lines.filter((line) => line.includes("does not answer")).length, 1);
});

/** What a call is refused with that finds no room. */
function exhausted(reason: string, retrySeconds = 0): Failure {
  const info = anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason }));
  const retry = anyPack(RetryInfoSchema, create(RetryInfoSchema, { retryDelay: { seconds: BigInt(retrySeconds) } }));
  const metadata = new Metadata();
  const packed = toBinary(StatusSchema, create(StatusSchema, { code: Code.RESOURCE_EXHAUSTED, details: [info, retry] }));
  metadata.set("grpc-status-details-bin", Buffer.from(packed));
  return { code: Code.RESOURCE_EXHAUSTED, metadata };
}

for (const code of [undefined, Code.CANCELLED, Code.NOT_FOUND]) {
  test(`an odd answer leaves the crawl in its own order with one line: ${code}`, async () => {
    const { session, lines } = await started();
    fake.spoil = ({ scores }) => (scores[0] = NaN); // others: the scenario odd_answers
    if (code) refuse({ code }, "IngestPages");
    for (let n = 0; n < 2; n++) {
      assert.equal(await session.page(page(n)), undefined);
      session.found(`own${n}`, `${ROOT}/own${n}`, [], false, `own${n}`);
    }
    assert.equal((await session.frontier.next())?.value, "own0");
    for (const said of ["orders this crawl", "the crawl goes on"]) assert.equal(lines.filter((line) => line.includes(said)).length, 1);
  });
}

test("a link that waits is fetched once though the server does not know it", async () => {
  const { session } = await started();
  for (let n = 0; n < 2; n++) {
    session.frontier.addSeed(ROOT, ROOT);
    session.found(`${ROOT}/1`, `${ROOT}/1`, [], true, `${ROOT}/1`);
  }
  const taken = [await session.frontier.next(), await session.frontier.next(), await session.frontier.next()];
  assert.deepEqual(taken.map((item) => item?.value), [ROOT, `${ROOT}/1`, undefined]);
});

for (const code of [Code.INVALID_ARGUMENT, Code.UNAUTHENTICATED, Code.PERMISSION_DENIED, Code.FAILED_PRECONDITION]) {
  test(`${Code[code]} ends the start`, async () => {
    refuse({ code }, "CreateCrawl");
    await assert.rejects(started(), { code });
  });
}

for (const code of [Code.INTERNAL, Code.UNKNOWN, Code.CANCELLED, Code.UNAVAILABLE]) {
  test(`${Code[code]} at the start leaves the crawl in its own order`, async () => {
    refuse({ code }, "CreateCrawl");
    await started();
  });
}

test("a full disk is an outage until a page is taken in", async () => {
  const { session, lines, probe } = await started();
  refuse(exhausted("DISK_FULL"), "IngestPages", "ReportFeedback");
  await session.page(page(0));
  for (let n = 0; n < 3; n++) await probe();
  assert.equal(session.present, false, "its other answers must not steer");
  fake.refuses.clear();
  await probe();
  await session.finish();
  assert.equal(session.stats.pages, 1);
  assert.deepEqual(["does not answer", "answers again"].map((part) => lines.filter((line) => line.includes(part)).length), [1, 1]);
});

test("links found meanwhile get their scores from their page", async () => {
  const { session, probe } = await started();
  refuse(AWAY, ...EVERYTHING);
  await session.page(page(0));
  for (const path of ["bad/1", "good/1", "good/2"]) session.found(path, `${ROOT}/${path}`, [], false, path);
  fake.refuses.clear();
  await probe();
  await session.finish();
  assert.equal(session.stats.late, 2);
  assert.equal(await order(session), "good/1 bad/1 good/2");
});

test("what waits is bounded in bytes, and the oldest falls out", async () => {
  const { session, probe } = await started();
  refuse(AWAY, ...EVERYTHING);
  const body = new Uint8Array(8 << 20);
  for (let n = 0; n < 12; n++) await session.page({ ...page(n), body });
  fake.refuses.clear();
  await probe();
  await session.finish();
  assert.deepEqual(fake.ingested.map(({ url }) => url), [5, 6, 7, 8, 9, 10, 11].map((n) => page(n).url));
});

test("the end of a crawl sends what waits if the server is there", async () => {
  const { session, lines } = await started();
  refuse(AWAY, ...EVERYTHING);
  for (let n = 0; n < 3; n++) await session.page(page(n));
  fake.refuses.clear();
  await session.finish();
  assert.equal(fake.ingested.length, 3);
  assert.match(lines.at(-1) ?? "", /"pages":3,.*"notSent":0/);
});

test("a page that always takes too long is given up", async () => {
  const { session, probe } = await started();
  refuse(AWAY, "IngestPages");
  await session.page(page(0));
  while (!session.present) await probe();
  assert.equal(fake.calls.filter((name) => name === "IngestPages").length, 4); // a probe may be late too
});

test("a link found meanwhile waits behind those of its shape", async () => {
  const { session } = await started();
  const link = (path: string, bucket: string) => session.frontier.add(path, [{ bucket, bucketValue: bucket === "good" ? 0.9 : 0.1, score: 0, ticket: new Uint8Array(), url: `${ROOT}/${path}` }], path);
  link("a/1", "good");
  link("b/1", "bad");
  refuse(AWAY, ...EVERYTHING);
  await session.page(page(0));
  for (const path of ["c", "b/2", "a/2"]) session.found(path, `${ROOT}/${path}`, [], false, path);
  link("a/3", "good");
  assert.deepEqual([session.stats.fallback, session.stats.guessed], [3, 2]);
  assert.equal(await order(session), "a/1 a/3 a/2 b/1 b/2 c");
});

test("a server that is away at the start is an error only if it is required", async () => {
  const gone = new Client({ target: "127.0.0.1:1" });
  const log = { info: () => undefined, warning: () => undefined };
  const session = new Session<string>(gone, "x", { log });
  await session.start();
  assert.equal(session.present, false);
  session.close();
  await assert.rejects(new Session<string>(gone, "x", { log, required: true }).start(), { code: Code.UNAVAILABLE });
  assert.throws(() => new Session<string>(gone, "x", { wantde: "y" } as object), /no such option: wantde \(there are policy,/);
  for (const [option, given] of Object.entries({ policy: ["harvest", { curiosity: 1 }], budget: { maxFetches: -1 }, examples: ["http://a/=/none.html"] })) {
    await assert.rejects(gone.ensureCrawl("x", { [option]: given } as object), new RegExp(`^TypeError: linkscore: ${option}.*got (\\[|\\{)`));
  }
  for (const wrong of [{ polcy: "x" }, { wanted: { query: "x" } }, { policy: { harvest: {} } }, { examples: "http://a/" }]) {
    await assert.rejects(gone.ensureCrawl("x", wrong as object), /no such option: (polcy|query|harvest) |examples must be a list/);
  }
  gone.close();
});

test("a call beyond a limit is no outage, and the server may say when to come back", async () => {
  const { session, waits } = await started();
  refuse(exhausted("LIMIT_EXCEEDED"), "IngestPages");
  await session.page(page(0));
  assert.equal(session.present, true);
  refuse(exhausted("OVERLOADED", 3), "IngestPages");
  await session.page(page(1));
  assert.deepEqual([session.present, waits], [false, [3000]]);
});

test("while away buckets fade with their shapes, and less if they are proven", () => {
  const outlook = new Outlook();
  outlook.placed(`${ROOT}/tag/red`, { bucket: "tags", value: 0.9 });
  assert.deepEqual(outlook.guess(`${ROOT}/tag/blue`), { bucket: "tags", value: 0.9 });
  outlook.took("tags");
  outlook.setAway(true);
  outlook.took("tags");
  assert.equal(outlook.worth("tags", 1), 32 / 33);
  outlook.fetched(`${ROOT}/tag/red`, true);
  assert.equal(outlook.worth("tags", 1), 16 / 33);
  outlook.placed(`${ROOT}/tag/blue`, { bucket: "blue", value: 1 }); // another bucket of links of that shape
  assert.equal(outlook.worth("blue", 1), 8 / 17);
  outlook.setAway(false);
  assert.equal(outlook.worth("tags", 1), 1);
});

test("an answer that another overtook leaves no more", () => {
  const allowance = new Allowance();
  // The budget was raised; in the end the server lost the crawl, and numbers its events anew.
  for (const [seq, left, full] of [[8, 2, true], [7, 3, true], [11, 9, false], [2, 2, true]] as const) {
    allowance.begin();
    const standing = { fetchesLeft: BigInt(left), decision: Decision.CONTINUE };
    allowance.take(create(PageResultSchema, { eventSeq: BigInt(seq), standing }));
    assert.equal(allowance.full(2, false), full);
  }
});

test("URLs are remembered by two shapes", () => {
  for (const [url, fine, coarse] of [
    ["http://a.org/2026/11/hello-world/", "a.org/#/#/hello-world/", "*a.org/#/#/*/"],
    ["http://a.org/viewtopic.php?t=5&start=10#p", "a.org/viewtopic.php?start&t", "*a.org/*.php?start&t"],
    ["http://a.org/123/some-title", "a.org/#/some-title", "*a.org/#/*"],
    ["http://a.org/", "a.org/", "*a.org/"],
    ["http://a.org/x/f12.html?b1=2&b2=3", "a.org/x/f#.html?b#", "*a.org/x/*.html?b#"],
  ]) {
    assert.deepEqual(shapes(url ?? ""), [fine, coarse]);
  }
});

test("a link that a setting of the crawl forbids does not wait", async () => {
  const { session } = await started();
  const reasons = ["UNSPECIFIED", "CRAWL_BUDGET", "SITE_STOPPED", "TRAP", "RESPECT", "COPY"] as const;
  const answer = create(LinkScoresSchema, {
    scores: reasons.map(() => 1),
    urls: reasons.map((name) => `${ROOT}/${name}`),
    buckets: reasons.map(() => 0),
    bucketNames: ["b"],
    bucketValues: [1],
    skipReasons: [...reasons.slice(1).map((name) => SkipReason[name]), 99 as SkipReason], // the last of a server to come
  });
  for (const link of rows(answer)) session.found(link.url, link.url, [link], true, link.url);
  assert.equal(session.frontier.size, 3);
  assert.deepEqual([session.stats.scored, session.stats.skipped], [3, 3]);
});

test("what waits is bounded in bytes with its links", async () => {
  const { session } = await started();
  refuse(AWAY, ...EVERYTHING);
  const outlinks = [{ url: `${ROOT}/good/1`, anchor: "x".repeat(4 * 1024 * 1024) }]; // 20 pages of 4 MiB each
  for (let n = 0; n < 20; n++) await session.page({ url: page(n).url, outlinks });
  fake.refuses.clear();
  await session.finish();
  assert.equal(session.stats.pages, 15);
});
