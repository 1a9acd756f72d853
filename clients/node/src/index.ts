/**
 * Client of a linkscore server, which tells a crawler which links to follow.
 *
 *     const crawl = await new Client({ target: "localhost:7411" }).ensureCrawl("books", { policy: "harvest" });
 *     const [page] = await crawl.ingest([{ url, body }]);
 *
 * Keep bucket and ticket of every link with its URL: `rankBuckets` says which bucket comes next, and the ticket goes
 * back with the page it led to. `Session` does both for a crawler without a queue of its own, and carries it over outages;
 * linkscore/crawlee is for Crawlee.
 */
export { type Budget, type CallOptions, Client, type ClientOptions, Crawl, type CrawlOptions, type Result, VERSION } from "./client.js";
export { Code, type FieldViolation, LinkscoreError } from "./errors.js";
export { type Frontier, type Item } from "./frontier.js";
export { PageType, Verdict } from "./gen/linkscore/v1/common_pb.js";
export { type Logger, Session, type SessionOptions, type Stats } from "./session.js";
export { type Link, type Page, type Policy, rows, type Wanted } from "./messages.js";
