// A Crawlee crawl in linkscore's order: node crawl.mjs http://127.0.0.1:8800/
import { CheerioCrawler, Configuration } from "@crawlee/cheerio";
import { linkscore } from "linkscore/crawlee";

const [start, target = "localhost:7411"] = process.argv.slice(2);
const options = {
  maxRequestsPerCrawl: 200,
  maxConcurrency: 2,
  async requestHandler({ request, $, enqueueLinks, linkscore }) {
    console.log(request.loadedUrl);
    await enqueueLinks();
    await linkscore.reward(Math.min(1, $(".post").length));
  },
};
const crawler = new CheerioCrawler(linkscore({ target, crawl: "crawlee" }, options), new Configuration({ persistStorage: false }));
await crawler.run([start]);
