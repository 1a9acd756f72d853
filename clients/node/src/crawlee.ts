/**
 * Puts a Crawlee crawl's links in the order a linkscore server advises.
 *
 *     const crawler = new CheerioCrawler(linkscore({ crawl: "shop" }, { requestHandler: ({ enqueueLinks }) => enqueueLinks() }));
 *
 * Every page goes to the server with its body; links that `enqueueLinks` and `addRequests` name wait in the buckets they
 * were given. Failed requests are reported. While the server is away the crawl goes on. The queue is kept in memory.
 */
import { AsyncLocalStorage } from "node:async_hooks";

import { type Dictionary, type IRequestManager, log, Request, type RequestsLike, type Source } from "@crawlee/core";

import { Client, type ClientOptions, CRAWL_OPTIONS, type CrawlOptions } from "./client.js";
import { checkNames, type Link, type Page } from "./messages.js";
import { byUrl, type Logger, Session, type Stats } from "./session.js";

export type { Stats };

export interface LinkscoreOptions extends ClientOptions, CrawlOptions {
  /** Name of the crawl on the server, "crawlee" if absent. */
  crawl?: string;
  /** Makes a server that is away at the start an error of `run`. */
  required?: boolean;
  /** Where lines about the server go; Crawlee's log if absent. */
  log?: Logger;
}

const OPTIONS = ["target", "tls", "token", "tokenFile", "timeoutMs", ...CRAWL_OPTIONS, "crawl", "required", "log"];

/** What a handler finds as `context.linkscore`. */
export interface LinkscoreContext {
  /** Says what the page was worth, in [0, 1]. */
  reward(worth: number): Promise<void>;
  stats: Readonly<Stats>;
  /** Why the crawl ends by its budget, `linkscore_budget` for example; empty while it goes on. */
  readonly stopped: string;
}

declare module "@crawlee/core" {
  // What `linkscore` adds to the context of every handler, so that `context.linkscore` has a type.
  interface CrawlingContext {
    linkscore: LinkscoreContext;
  }
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
  maxRequestsPerCrawl?: number;
}

/** The links by URL of the page whose handler runs; undefined if the server was away. */
interface Answer {
  links: Map<string, Link[]> | undefined;
}

/** Returns the options of any Crawlee crawler with a queue, and handlers around yours, that ask the server. */
export function linkscore<T extends CrawlerOptions>(options: LinkscoreOptions, crawler: T): T {
  const queue = new BucketQueue(options, crawler.maxRequestsPerCrawl);
  const { requestHandler, failedRequestHandler } = crawler;
  return {
    ...crawler,
    // Crawlee 3.18 refuses the option `requestManager` of its HTTP crawlers, and takes any manager by this name.
    requestQueue: queue,
    requestHandler: async (context: HandlerContext, ...rest: unknown[]) => {
      const links = await queue.session.page(await pageOf(context, queue.ticketOf(context.request)));
      context.linkscore = queue.contextOf(context.request);
      const answer = { links: links && byUrl(links, normal) };
      await queue.current.run(answer, async () => requestHandler?.(context, ...rest));
    },
    failedRequestHandler: async (context: HandlerContext, error: Error, ...rest: unknown[]) => {
      await queue.failed(context, error);
      context.linkscore = queue.contextOf(context.request);
      await failedRequestHandler?.(context, error, ...rest);
    },
  } as T;
}

/** Crawlee's request queue as buckets. */
class BucketQueue implements IRequestManager {
  readonly session: Session<Request>;
  readonly current = new AsyncLocalStorage<Answer>();
  private readonly frontier: Session<Request>["frontier"];
  private readonly known = new Set<string>();
  private readonly tickets = new Map<string, Uint8Array>();
  private readonly again: Request[] = [];
  private active = 0;
  private handled = 0;

  /** `mostRequests` is `maxRequestsPerCrawl`, at which Crawlee ends without asking whether the queue is finished. */
  constructor(
    options: LinkscoreOptions,
    private readonly mostRequests = Infinity,
  ) {
    checkNames(options, OPTIONS);
    const { crawl = "crawlee", log: logger = log.child({ prefix: "linkscore" }), ...rest } = options;
    const { target, tls, token, tokenFile, ...ofSession } = rest;
    const client = new Client({ target, tls, token, tokenFile, timeoutMs: rest.timeoutMs });
    this.session = new Session<Request>(client, crawl, { ...ofSession, log: logger, key: normal });
    this.frontier = this.session.frontier;
  }

  ticketOf(request: Request): Uint8Array {
    return this.tickets.get(request.uniqueKey) ?? new Uint8Array();
  }

  contextOf(request: Request): LinkscoreContext {
    const page = { url: request.url, ticket: this.ticketOf(request) };
    const { allowance, stats } = this.session;
    return {
      stats,
      reward: (worth) => this.session.reward(page, worth),
      get stopped() {
        return allowance.reason;
      },
    };
  }

  async failed({ request, response }: HandlerContext, error: Error): Promise<void> {
    const statusCode = statusOf(response) || Number(/\b[45]\d\d\b/.exec(error.message)?.[0] ?? 0);
    const page = { url: request.url, statusCode, fetchError: statusCode ? "" : error.message.slice(0, 200) };
    await this.session.failed({ ...page, ticket: this.ticketOf(request) });
  }

  async addRequest(source: Source, options: { forefront?: boolean } = {}) {
    const request = source instanceof Request ? source : new Request(source as { url: string });
    const wasAlreadyPresent = this.known.has(request.uniqueKey);
    this.known.add(request.uniqueKey);
    this.wait(request, wasAlreadyPresent, options.forefront ?? false);
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
    if (this.session.isFull(this.active)) return null;
    this.active++; // before the wait for the server, so that nobody takes the queue for finished meanwhile
    const request = await this.next().catch((refused) => {
      this.active--;
      throw refused;
    });
    if (!request) this.active--;
    return request as Request<T> | null;
  }

  private async next(): Promise<Request | null> {
    await this.session.start();
    const item = this.again.length ? undefined : await this.frontier.next();
    const request = this.again.shift() ?? item?.value;
    if (request && item) this.tickets.set(request.uniqueKey, item.ticket);
    return request ?? null;
  }

  async markRequestHandled(request: Request) {
    this.active--;
    this.handled++;
    this.frontier.done(request.uniqueKey);
    this.tickets.delete(request.uniqueKey);
    request.handledAt = new Date().toISOString();
    if (this.handled >= this.mostRequests && !this.active) await this.session.finish();
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
    await this.session.start(); // a wrong budget ends it, not the crawl before it began
    if (this.session.isFull(this.active)) return true;
    return !this.again.length && (!this.frontier.size || this.frontier.held);
  }

  async isFinished(): Promise<boolean> {
    if (this.active) return false;
    if ((this.again.length || this.frontier.size) && !this.session.isFull(0)) return false;
    await this.session.finish();
    return true;
  }

  async handledCount() {
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

  private wait(request: Request, again: boolean, forefront: boolean): void {
    const [key, url, answer] = [request.uniqueKey, normal(request.url), this.current.getStore()];
    const links = answer?.links?.get(url) ?? [];
    if (again && !(links.length && this.frontier.has(key))) return; // fetched already, under way, or nothing new is known
    if (answer && (links.length || !forefront)) this.session.found(key, url, links, !!answer.links, request);
    else this.frontier.addSeed(key, request);
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

/** The form in which Crawlee's and the server's URLs of one page are equal; what is no URL stays as it is. */
function normal(url: string): string {
  if (!URL.canParse(url)) return url;
  const parsed = new URL(url);
  parsed.hash = "";
  return parsed.href;
}
