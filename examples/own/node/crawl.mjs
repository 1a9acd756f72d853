// A crawler of your own in linkscore's order: node crawl.mjs http://127.0.0.1:8800/
import { Client, Session } from "linkscore";

const FETCHES = 200;
const [start, target = "localhost:7411"] = process.argv.slice(2);
const client = new Client({ target });
const session = new Session(client, "own");
await session.start();
session.frontier.addSeed(start, start);
const seen = new Set();
for (let item; seen.size < FETCHES && (item = await session.frontier.next()); session.frontier.done(item.key)) {
  const { value: url, ticket } = item;
  seen.add(url);
  const page = await fetched(url);
  if (page.body === undefined) {
    await session.failed({ ...page, ticket });
    continue;
  }
  const outlinks = linksOf(url, page.body);
  const scored = await session.page({ ...page, outlinks, ticket });
  outlinks.forEach((link, i) => {
    if (!seen.has(link.url)) session.found(link.url, link.url, scored?.slice(i, i + 1) ?? [], scored !== undefined, link.url);
  });
  await session.reward({ url, ticket }, worth(page.body));
  console.log(url);
}
await session.finish();
session.close();
client.close();

/** Returns a page as linkscore takes it; without a body if the fetch failed. */
async function fetched(url) {
  try {
    const response = await fetch(url);
    const page = { url, statusCode: response.status, contentType: response.headers.get("content-type") ?? "" };
    return response.ok ? { ...page, body: await response.text() } : page;
  } catch (error) {
    return { url, fetchError: String(error) };
  }
}

/** Returns the links of a page that stay on its host, in their order. A real crawler parses the HTML. */
function linksOf(url, body) {
  return [...body.matchAll(/<a\s[^>]*href="([^"]+)"/g)]
    .map(([, href]) => new URL(href.split("#")[0], url))
    .filter((link) => link.host === new URL(url).host)
    .map((link) => ({ url: link.href }));
}

/** Says what a page is worth to you, from 0 to 1: here whether it has posts. */
function worth(body) {
  return Number(body.includes('class="post"'));
}
