import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, test } from "node:test";

import { CheerioCrawler, type CheerioCrawlingContext, Configuration, log, LogLevel } from "@crawlee/cheerio";

import { linkscore, type LinkscoreContext } from "../src/crawlee.js";
import { type Budget, Code, type Logger } from "../src/index.js";
import { Fake } from "./fake.js";

log.setLevel(LogLevel.OFF);
let fake: Fake;
let site: Server;
let target: string;
let root: string;

/** A start page with 10 bad links, 10 good ones and one that is gone. */
beforeEach(async () => {
  fake = new Fake();
  target = await fake.start();
  site = createServer((request, response) => {
    const path = request.url ?? "";
    const links = Array.from({ length: 10 }, (_, i) => `<a href="/bad/${i}">b</a><a href="/good/${i}">g</a>`);
    const body = path === "/" ? `${links.join("")}<a href="/good/gone">x</a>` : '<a href="/good/1#top">again</a>';
    response.writeHead(path.endsWith("gone") ? 404 : 200, { "content-type": "text/html; charset=utf-8" }).end(body);
  });
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  root = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
});
afterEach(async () => {
  fake.stop();
  site.closeAllConnections();
  await new Promise((resolve) => site.close(resolve));
});

async function crawl(options: { target?: string; after?: (pages: number) => Promise<void>; reward?: boolean; concurrency?: number; required?: boolean; log?: Logger; most?: number; budget?: Budget } = {}) {
  const paths: string[] = [];
  let told: LinkscoreContext | undefined;
  const crawler = new CheerioCrawler(
    linkscore(
      { target: options.target ?? target, timeoutMs: 60_000, required: options.required ?? false, ...(options.log ? { log: options.log } : {}), ...(options.budget ? { budget: options.budget } : {}) },
      {
        ...(options.most ? { maxRequestsPerCrawl: options.most } : {}),
        maxConcurrency: options.concurrency ?? 1,
        maxRequestRetries: 0,
        async requestHandler(context: CheerioCrawlingContext) {
          const path = new URL(context.request.url).pathname;
          paths.push(path);
          told = (context as unknown as { linkscore: LinkscoreContext }).linkscore;
          await options.after?.(paths.length);
          if (options.reward && /good.\d/.test(path)) await told.reward(1);
          await context.enqueueLinks();
        },
        failedRequestHandler: ({ request }) => void paths.push(new URL(request.url).pathname),
      },
    ),
    new Configuration({ persistStorage: false, purgeOnStart: false }),
  );
  await crawler.run([`${root}/`]);
  return { paths, stats: told?.stats, stopped: told?.stopped };
}

test("good links come first, tickets go back and lost pages are reported as such", async () => {
  const { paths, stats } = await crawl();
  assert.equal(paths.length, 22);
  assert.ok(paths.slice(1, 12).every((path) => path.startsWith("/good")), paths.join(" "));
  assert.deepEqual([stats?.pages, stats?.failed, stats?.missed, stats?.fallback], [21, 1, 0, 0]);
  for (const page of fake.ingested.slice(1)) {
    assert.equal(Buffer.from(page.ticket).toString(), page.url.includes("/good") ? "tg" : "tb", page.url);
    assert.equal(page.statusCode, page.url.endsWith("gone") ? 404 : 200);
  }
});

test("several at once fetch each page once", async () => {
  const { paths } = await crawl({ concurrency: 4 });
  assert.equal(new Set(paths).size, 22);
  assert.equal(paths.length, 22);
});

test("without a server the crawl is Crawlee's own", async () => {
  const { paths, stats } = await crawl({ target: "127.0.0.1:1" });
  assert.deepEqual(paths.slice(1, 4), ["/bad/0", "/good/0", "/bad/1"]);
  assert.equal(paths.length, 22);
  assert.equal(stats?.scored, 0);
  assert.ok((stats?.fallback ?? 0) > 0);
});

test("a server that is lost half way loses no page", async () => {
  const { paths, stats } = await crawl({ after: async (pages) => (pages === 5 ? fake.stop() : undefined) });
  assert.equal(paths.length, 22);
  assert.equal(stats?.pages, 5);
});

test("a server that is back gets what was fetched, each page once", async () => {
  const { paths, stats } = await crawl({
    after: async (pages) => {
      if (pages === 5) for (const method of ["IngestPages", "RankBuckets", "GetCrawl"]) fake.refuses.set(method, { code: Code.DEADLINE_EXCEEDED });
      if (pages !== 12) return;
      fake.refuses.clear();
      await new Promise<void>((resolve) => (fake.onPage = (taken) => void (taken === 12 && resolve())));
    },
  });
  assert.equal(paths.length, 22);
  assert.deepEqual([fake.ingested.length, new Set(fake.ingested.map(({ url }) => url)).size], [22, 22]);
  assert.deepEqual([stats?.pages, stats?.failed], [21, 1]);
});

test("a server that is required must be there, and a policy it refuses is an error", async () => {
  await assert.rejects(crawl({ target: "127.0.0.1:1", required: true }), { code: Code.UNAVAILABLE });
  fake.refuses.set("CreateCrawl", { code: Code.INVALID_ARGUMENT });
  await assert.rejects(crawl(), { code: Code.INVALID_ARGUMENT });
});

test("an option of a name that there is not is an error", () => {
  assert.throws(() => linkscore({ crawl: "x", wantde: "y" } as object, {}), /no such option: wantde \(there are target,/);
});

test("the last page of a budget ends the crawl with a line", async () => {
  const lines: string[] = [];
  const log = { info: (message: string) => void lines.push(message), warning: () => undefined };
  await crawl({ log, most: 5 });
  assert.deepEqual(lines, ["linkscore orders this crawl", "linkscore: the crawl ends"]);
});

for (const concurrency of [1, 8]) {
  test(`a budget ends the crawl at its last fetch, ${concurrency} at once`, async () => {
    fake.most = 7;
    const { paths, stopped } = await crawl({ budget: { maxFetches: 7 }, concurrency });
    assert.deepEqual([paths.length, fake.ingested.length, stopped], [7, 7, "linkscore_budget"]);
    assert.equal(fake.crawl?.budget?.maxFetches, 7n);
  });
}

test("a budget holds without a server too", async () => {
  const { paths, stopped } = await crawl({ target: "127.0.0.1:1", budget: { maxFetches: 7 }, concurrency: 3 });
  assert.deepEqual([paths.length, stopped], [7, "linkscore_budget"]);
});

test("rewards name the page and its ticket", async () => {
  await crawl({ reward: true });
  assert.equal(fake.rewards.length, 10);
  assert.ok(fake.rewards.every(({ worth, ticket, url }) => worth === 1 && ticket === "tg" && url.includes("/good")));
});
