import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";

import type { RankBucketsRequest } from "../src/gen/linkscore/v1/link_scoring_service_pb.js";
import { Client, Session } from "../src/index.js";
import { policySpec } from "../src/messages.js";
import { Fake } from "./fake.js";

let fake: Fake;
let target: string;
beforeEach(async () => {
  fake = new Fake();
  target = await fake.start();
});
afterEach(() => {
  fake.stop();
  for (const client of clients.splice(0)) client.close();
});

const clients: Client[] = [];
function crawl(options = {}) {
  const client = new Client({ target, ...options });
  clients.push(client);
  return client.crawl("x");
}

test("a token file that is missing or empty for a moment loses no call", async () => {
  const folder = await mkdtemp(join(tmpdir(), "linkscore-"));
  const tokenFile = join(folder, "token");
  const kept = crawl({ tokenFile });
  const ingest = () => kept.ingest([{ url: "http://a.test/", body: "<a>" }]);
  await assert.rejects(ingest());
  const changes = [() => writeFile(tokenFile, "first\n"), () => rm(tokenFile), () => writeFile(tokenFile, ""), () => writeFile(tokenFile, "second")];
  for (const change of changes) {
    await change();
    await ingest();
  }
  await rm(folder, { recursive: true });
  assert.deepEqual(fake.tokens, ["first", "first", "first", "second"].map((token) => `Bearer ${token}`));
});

test("a crawl says in words what it is for, and gets what is asked for", async () => {
  const client = new Client({ target });
  clients.push(client);
  for (const query of ["kayak repair", "kayak repair", "used cars"]) await client.ensureCrawl("words", { wanted: query });
  await client.ensureCrawl("words");
  assert.equal(fake.crawl?.wanted?.queries[0], "used cars");
  await client.ensureCrawl("words", { policy: "harvest", wanted: { queries: ["cars"] } });
  assert.deepEqual([fake.crawl?.policy?.policy.case, fake.crawl?.wanted?.queries], ["harvest", ["cars"]]);
});

test("policies have parameters by name", () => {
  assert.equal(policySpec({ name: "harvest", params: { exploration: 0.5 } })?.policy.case, "harvest");
  assert.throws(() => policySpec({ name: "harvest", params: { explore: 1 } }), TypeError);
  assert.equal(policySpec("mine")?.policy.case, "external");
});

function frontierOf() {
  return new Session<string>(crawl().client, "x", { log: { info: () => undefined, warning: () => undefined } }).frontier;
}

test("the frontier gives seeds, then the best bucket, then the unknown, each URL once", async () => {
  const frontier = frontierOf();
  const link = (bucket: string) => [{ url: "", score: 0, bucket, bucketValue: 0.5, ticket: new Uint8Array() }];
  frontier.addUnknown("u", "u");
  frontier.add("1", link("bad"), "1");
  frontier.add("2", link("good"), "2");
  frontier.add("3", link("good"), "3");
  frontier.add("2", link("bad"), "2");
  frontier.addSeed("s", "s");
  const order = [];
  for (let item = await frontier.next(); item; item = await frontier.next()) order.push(item.value);
  assert.equal(order.join(""), "s231u");
  assert.equal(frontier.size, 0);
});

test("a URL found twice has the ticket of the bucket it is taken from", async () => {
  const frontier = frontierOf();
  for (const bucket of ["bad", "good"]) {
    frontier.add("1", [{ url: "", score: 0, bucket, bucketValue: 0.5, ticket: new TextEncoder().encode(bucket) }], "1");
  }
  const item = await frontier.next();
  assert.equal(new TextDecoder().decode(item?.ticket), "good");
  assert.equal(await frontier.next(), undefined);
});

test("nothing goes beyond what was handed out until something is done", async () => {
  const asked: RankBucketsRequest[] = [];
  fake.handsOut = (request) => [[0, 1], [0, 0], [1, 0]][Math.min(asked.push(request), 3) - 1] ?? [];
  const frontier = frontierOf();
  for (const key of ["1", "2", "3"]) {
    frontier.add(key, [{ url: "", score: 0, bucket: "good", bucketValue: 0.9, ticket: new Uint8Array() }], key);
    frontier.add(`${key}b`, [{ url: "", score: 0, bucket: "bad", bucketValue: 0.1, ticket: new Uint8Array() }], `${key}b`);
  }
  const [first, second, third] = await Promise.all([frontier.next(), frontier.next(), frontier.next()]);
  assert.deepEqual([first?.key, second, third], ["1b", undefined, undefined]);
  assert.deepEqual([frontier.held, asked.length], [true, 2]);
  frontier.done("1b");
  assert.equal((await frontier.next())?.key, "1");
  assert.deepEqual(asked[1]?.waiting, [3, 2]);
  assert.deepEqual(asked.map(({ n, inFlight }) => [n, inFlight.map(({ bucket }) => bucket)]), [[1, []], [1, ["bad"]], [1, []]]);
});

test("a target that is no host:port, or a deadline that is none, is an error that says what to give", () => {
  for (const wrong of ["", "http://shop:7411", "shop", "7411", "shop:port", "shop:74110", "shop:7411/x"]) {
    assert.throws(() => new Client({ target: wrong }), /give host:port without a scheme, for example localhost:7411/, wrong);
  }
  for (const timeoutMs of [-3, 0, NaN, Infinity, "5000" as unknown as number]) {
    assert.throws(() => new Client({ timeoutMs }), /timeoutMs must be a number from 1 to 86400000, got/, String(timeoutMs));
  }
  for (const [wrong, says] of Object.entries({ tokn: "no such option: tokn", tls: "tls must be true or", token: "token must be one" })) {
    assert.throws(() => new Client({ [wrong]: "a\n" } as object), new RegExp(says));
  }
  assert.throws(() => new Client({ tls: { cafile: "x" } } as object), /no such option: cafile/);
  for (const target of ["localhost:7411", "[::1]:7411", "dns:///shop:7411"]) new Client({ target }).close();
});
