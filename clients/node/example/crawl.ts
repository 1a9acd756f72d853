/** Crawls a site with Crawlee, plain or in the order of a linkscore server, and prints the URLs it fetched.
 *
 *     npx tsx example/crawl.ts --start http://shop.example/ --fetches 500 --target localhost:7411
 */
import { parseArgs } from "node:util";

import { CheerioCrawler, type CheerioCrawlerOptions, Configuration, ProxyConfiguration } from "@crawlee/cheerio";

import { linkscore } from "../src/crawlee.js";

const { values } = parseArgs({
  options: {
    start: { type: "string" },
    target: { type: "string", default: "" },
    proxy: { type: "string" },
    fetches: { type: "string", default: "500" },
    concurrency: { type: "string", default: "1" },
    crawl: { type: "string", default: "crawlee" },
  },
});
const { start, target, proxy, crawl } = values;
if (!start) throw new Error("--start URL: where to start");

const log = (status: number | undefined, url: string) => console.log(`${status ?? 0}\t${url}`);
let stats: object | undefined;
const options: CheerioCrawlerOptions = {
  maxRequestsPerCrawl: Number(values.fetches),
  maxConcurrency: Number(values.concurrency),
  maxRequestRetries: 0,
  ...(proxy ? { proxyConfiguration: new ProxyConfiguration({ proxyUrls: [proxy] }) } : {}),
  async requestHandler(context) {
    log(context.response.statusCode, context.request.loadedUrl ?? context.request.url);
    await context.enqueueLinks({ strategy: "same-hostname" });
    stats = context.linkscore?.stats;
  },
  failedRequestHandler: ({ request, response }) => log(response?.statusCode, request.url),
};
const crawler = new CheerioCrawler(
  target ? linkscore({ target, crawl }, options) : options,
  new Configuration({ persistStorage: false }),
);
const began = Date.now();
await crawler.run([start]);
console.error(JSON.stringify(stats ?? {}), `${((Date.now() - began) / 1000).toFixed(1)} s`);
process.exit(0);
