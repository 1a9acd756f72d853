/**
 * Puts a Crawlee crawl's links in the order a linkscore server advises.
 *
 *     const crawler = new CheerioCrawler(linkscore({ crawl: "shop" }, { requestHandler: ({ enqueueLinks }) => enqueueLinks() }));
 *
 * Every page goes to the server with its body, so that all of its links are scored; those that `enqueueLinks` and
 * `addRequests` name wait in the buckets they were given. Failed requests are reported. While the server is away links
 * wait in the order they were found and the crawl goes on. The queue is kept in memory.
 */
import { AsyncLocalStorage } from "node:async_hooks";

import { type Dictionary, type IRequestManager, Request, type RequestsLike, type Source } from "@crawlee/core";

import { Breaker } from "./breaker.js";
import { Client, type ClientOptions, type Crawl } from "./client.js";
import { Code, LinkscoreError } from "./errors.js";
import { Frontier } from "./frontier.js";
import type { Link, Page, Policy } from "./messages.js";

export interface LinkscoreOptions extends ClientOptions {
  /** Name of the crawl on the server, "crawlee" if absent. */
  crawl?: string;
  policy?: Policy;
  /** Asks for the order of the buckets before every n-th request, 1 if absent. */
  rankEvery?: number;
}

/** What became of pages and links. */
export interface Stats {
  pages: number;
  failed: number;
  rewards: number;
  /** Links that had a score, that the server did not see on the page, and that came while it was away. */
  scored: number;
  missed: number;
  fallback: number;
}

/** What a handler finds as `context.linkscore`. */
export interface LinkscoreContext {
  /** Says what the page was worth, in [0, 1]. */
  reward(worth: number): Promise<void>;
  stats: Readonly<Stats>;
}

interface HandlerContext {
  request: Request;
  body?: string | Buffer;
  contentType?: { type: string; encoding: string };
  response?: { statusCode?: number; headers?: Record<string, unknown>; status?: () => number };
  page?: { content(): Promise<string> };
  linkscore?: LinkscoreContext;
}

// Handlers of every crawler class pass: their contexts have nothing but the request in common.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Handler = (context: any, ...rest: any[]) => unknown;

interface CrawlerOptions {
  requestHandler?: Handler;
  failedRequestHandler?: Handler;
}

/** Answer of the page whose handler runs: its links by URL, undefined if the server was away. */
interface Answer {
  links: Map<string, Link[]> | undefined;
}

/** Returns the options of any Crawlee crawler with a queue, and handlers around yours, that ask the server. */
export function linkscore<T extends CrawlerOptions>(options: LinkscoreOptions, crawler: T): T {
  const session = new Session(options);
  const { requestHandler, failedRequestHandler } = crawler;
  return {
    ...crawler,
    // Crawlee 3.18 refuses the option `requestManager` of its HTTP crawlers, and takes any manager by this name.
    requestQueue: session.queue,
    requestHandler: async (context: HandlerContext, ...rest: unknown[]) => {
      const answer = await session.ingest(context);
      context.linkscore = session.contextOf(context.request);
      await session.current.run(answer, async () => requestHandler?.(context, ...rest));
    },
    failedRequestHandler: async (context: HandlerContext, error: Error, ...rest: unknown[]) => {
      await session.failed(context, error);
      context.linkscore = session.contextOf(context.request);
      await failedRequestHandler?.(context, error, ...rest);
    },
  } as T;
}

class Session {
  readonly stats: Stats = { pages: 0, failed: 0, rewards: 0, scored: 0, missed: 0, fallback: 0 };
  readonly current = new AsyncLocalStorage<Answer>();
  readonly queue: BucketRequestQueue;
  private readonly breaker = new Breaker();
  private readonly client: Client;
  private made: Promise<Crawl> | undefined;

  constructor(private readonly options: LinkscoreOptions) {
    this.client = new Client(options);
    this.queue = new BucketRequestQueue(this, new Frontier(() => this.crawl(), options.rankEvery, this.breaker));
  }

  contextOf(request: Request): LinkscoreContext {
    return {
      stats: this.stats,
      reward: async (worth) => {
        const page = { url: request.url, ticket: this.queue.ticketOf(request) };
        await this.call("rewards", (crawl) => crawl.reward(page, worth));
      },
    };
  }

  /** Sends the page of a handler; undefined links if there was no answer. */
  async ingest(context: HandlerContext): Promise<Answer> {
    const page = await pageOf(context, this.queue.ticketOf(context.request));
    const results = await this.call("pages", (crawl) => crawl.ingest([page]));
    if (!results) return { links: undefined };
    const links = new Map<string, Link[]>();
    for (const link of results[0]?.links ?? []) {
      const key = link.usable ? normal(link.url) : undefined;
      if (key) links.set(key, [...(links.get(key) ?? []), link]);
    }
    return { links };
  }

  async failed({ request, response }: HandlerContext, error: Error): Promise<void> {
    const statusCode = statusOf(response) || Number(/\b[45]\d\d\b/.exec(error.message)?.[0] ?? 0);
    const page = { url: request.url, statusCode, fetchError: statusCode ? "" : error.message.slice(0, 200) };
    await this.call("failed", (crawl) => crawl.failed({ ...page, ticket: this.queue.ticketOf(request) }));
  }

  /** Makes a call if the server may be there; undefined if it is not, or refuses. */
  private async call<T>(count: keyof Stats, call: (crawl: Crawl) => Promise<T>): Promise<T | undefined> {
    if (!this.breaker.allows()) return undefined;
    try {
      const answer = await call(await this.crawl());
      this.breaker.done();
      this.stats[count]++;
      return answer;
    } catch (thrown) {
      const error = LinkscoreError.from(thrown);
      if (error.code === Code.NOT_FOUND || error.code === Code.UNAVAILABLE) this.made = undefined; // made anew next time
      this.breaker.done(error);
      return undefined;
    }
  }

  private crawl(): Promise<Crawl> {
    this.made ??= this.client.ensureCrawl(this.options.crawl ?? "crawlee", { policy: this.options.policy });
    return this.made;
  }
}

/** Crawlee's request queue as buckets: what `new CheerioCrawler({ requestQueue })` takes. */
export class BucketRequestQueue implements IRequestManager {
  private readonly known = new Set<string>();
  private readonly tickets = new Map<string, Uint8Array>();
  private readonly again: Request[] = [];
  private active = 0;
  private handled = 0;

  constructor(
    private readonly session: Session,
    private readonly frontier: Frontier<Request>,
  ) {}

  ticketOf(request: Request): Uint8Array {
    return this.tickets.get(request.uniqueKey) ?? new Uint8Array();
  }

  async addRequest(source: Source, options: { forefront?: boolean } = {}) {
    const request = source instanceof Request ? source : new Request(source as { url: string });
    const wasAlreadyPresent = this.known.has(request.uniqueKey);
    this.known.add(request.uniqueKey);
    const answer = this.session.current.getStore();
    const found = answer?.links?.get(normal(request.url) ?? "");
    if (found) this.scored(request, found, wasAlreadyPresent);
    else if (!wasAlreadyPresent) this.unscored(request, answer, options.forefront ?? false);
    const id = request.id ?? request.uniqueKey;
    return { requestId: id, uniqueKey: request.uniqueKey, wasAlreadyPresent, wasAlreadyHandled: false, forefront: false };
  }

  async addRequestsBatched(requests: RequestsLike) {
    const addedRequests = [];
    for await (const source of requests) {
      addedRequests.push(await this.addRequest(typeof source === "string" ? { url: source } : source));
    }
    return { addedRequests, waitForAllRequestsToBeAdded: Promise.resolve([]), requestsOverLimit: [] };
  }

  /** Takes the best request, null if none waits; several may be taken before the first is handled. */
  async fetchNextRequest<T extends Dictionary = Dictionary>(): Promise<Request<T> | null> {
    this.active++; // before the wait for the server, so that nobody takes the queue for finished meanwhile
    const item = this.again.length ? undefined : await this.frontier.next();
    const request = this.again.shift() ?? item?.value;
    if (!request) {
      this.active--;
      return null;
    }
    if (item) this.tickets.set(request.uniqueKey, item.ticket);
    return request as Request<T>;
  }

  async markRequestHandled(request: Request) {
    this.active--;
    this.handled++;
    this.frontier.done(request.uniqueKey);
    this.tickets.delete(request.uniqueKey);
    request.handledAt = new Date().toISOString();
    return null;
  }

  /** Takes back a request that is to be tried again; it goes first. */
  async reclaimRequest(request: Request) {
    this.active--;
    this.frontier.done(request.uniqueKey);
    this.again.push(request);
    return null;
  }

  /** Whether there is nothing to fetch now: nothing waits, or nothing should go before the next page is answered. */
  async isEmpty(): Promise<boolean> {
    return !this.again.length && (!this.frontier.size || this.frontier.held);
  }

  async isFinished(): Promise<boolean> {
    return !this.active && !this.again.length && !this.frontier.size;
  }

  async handledCount(): Promise<number> {
    return this.handled;
  }

  getTotalCount(): number {
    return this.known.size;
  }

  /** 0, or `maxRequestsPerCrawl` would cut the links of a page before they are scored. */
  getPendingCount(): number {
    return 0;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Request> {
    for (let next = await this.fetchNextRequest(); next; next = await this.fetchNextRequest()) yield next;
  }

  private scored(request: Request, found: Link[], again: boolean): void {
    const key = request.uniqueKey;
    if (again && !this.frontier.has(key)) return; // fetched already, or under way
    this.session.stats.scored++;
    for (const link of found) this.frontier.add(key, link, request);
  }

  private unscored(request: Request, answer: Answer | undefined, forefront: boolean): void {
    if (answer) this.session.stats[answer.links ? "missed" : "fallback"]++;
    if (answer && !forefront) this.frontier.addUnknown(request.uniqueKey, request);
    else this.frontier.addSeed(request.uniqueKey, request);
  }
}

async function pageOf(context: HandlerContext, ticket: Uint8Array): Promise<Page> {
  const { request, response, contentType } = context;
  const body = context.body ?? (await context.page?.content()) ?? "";
  const text = typeof body === "string"; // decoded by Crawlee, so UTF-8 from here on
  const charset = text ? "utf-8" : contentType?.encoding;
  return {
    url: request.url,
    finalUrl: request.loadedUrl ?? "",
    statusCode: statusOf(response) || 200,
    contentType: `${contentType?.type ?? "text/html"}${charset ? `; charset=${charset}` : ""}`,
    body,
    ticket,
  };
}

function statusOf(response: HandlerContext["response"]): number {
  return response?.statusCode ?? response?.status?.() ?? 0;
}

/** The form in which Crawlee's and the server's URLs of one page are equal; undefined if it is none. */
function normal(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined;
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}
