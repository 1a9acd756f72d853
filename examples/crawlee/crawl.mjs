// A Crawlee crawl in linkscore's order: node crawl.mjs --start http://127.0.0.1:8800/
import { parseArgs } from "node:util";

import { ProxyConfiguration } from "@crawlee/cheerio"; // apart: the page on adapters shows the next line
import { CheerioCrawler, Configuration } from "@crawlee/cheerio";
import { linkscore } from "linkscore/crawlee";

const { values } = parseArgs({
  options: {
    start: { type: "string" },
    target: { type: "string", default: "localhost:7411" }, // empty crawls in Crawlee's own order
    fetches: { type: "string", default: "200" },
    proxy: { type: "string" },
  },
});
const { start, target, fetches, proxy } = values;
const log = (status, url) => console.log(`${status ?? 0}\t${url}`);
let stats;
const options = {
  maxRequestsPerCrawl: Number(fetches),
  maxConcurrency: 1,
  maxRequestRetries: 0,
  ...(proxy ? { proxyConfiguration: new ProxyConfiguration({ proxyUrls: [proxy] }) } : {}),
  async requestHandler({ request, response, enqueueLinks, linkscore }) {
    log(response.statusCode, request.loadedUrl);
    await enqueueLinks({ strategy: "same-hostname" });
    stats = linkscore?.stats;
  },
  failedRequestHandler: ({ request, response }) => log(response?.statusCode, request.url),
};
if (!target) {
  await new CheerioCrawler(options, new Configuration({ persistStorage: false })).run([start]);
  process.exit(0);
}
const crawler = new CheerioCrawler(linkscore({ target, crawl: "crawlee" }, options), new Configuration({ persistStorage: false }));
await crawler.run([start]);
console.error(JSON.stringify(stats ?? {}));
process.exit(0);
