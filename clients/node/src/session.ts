import { randomUUID } from "node:crypto";

import { Allowance } from "./allowance.js";
import { type CallOptions, checked, checkTimeout, CRAWL_OPTIONS, type Client, type Crawl, type CrawlOptions } from "./client.js";
import { Code, LinkscoreError } from "./errors.js";
import { Frontier } from "./frontier.js";
import { checkNames, isDropped, type Link, type Page, policyName } from "./messages.js";
import { isOutage, isRefusal, Outage, type Owed } from "./outage.js";

// Chosen: how long the end may take, and how often the log says how it goes.
const FINISH_WITHIN_MS = 30_000;
const REPORT_EVERY_MS = 60_000;
const MOST_REFUSALS = 20; // that are logged, each once
const SESSION_TIMEOUT_MS = 5_000; // a fetch waits for a call
const PROBE_TIMEOUT_MS = 1_000; // a server that is slower is of no use to a crawl
const OVERHEAD_BYTES = 512; // of a page without its body, and of a reward

/** What became of pages and links. */
export interface Stats {
  /** Pages the server took, failed fetches and rewards too; late ones included. */
  pages: number;
  failed: number;
  rewards: number;
  /** Links that had a score when found, that the server did not see on the page, and that came while it was away. */
  scored: number;
  missed: number;
  fallback: number;
  /** Links of `fallback` that wait among links of their shape, and that were scored afterwards. */
  guessed: number;
  late: number;
  /** Links dropped when they were found, as a setting of the crawl says: copies, traps, what is reserved. */
  skipped: number;
}

/** Where lines go; Crawlee's log is one. */
export interface Logger {
  info(message: string, data?: Record<string, unknown>): void;
  warning(message: string, data?: Record<string, unknown>): void;
}

export interface SessionOptions extends CrawlOptions {
  /** Deadline of each call, 5,000 if absent. */
  timeoutMs?: number | undefined;
  /** Makes a server that is away at the start an error. */
  required?: boolean | undefined;
  /** Writes a URL as URLs of links are compared; as it is if absent. */
  key?: (url: string) => string;
  /** The console if absent. */
  log?: Logger | undefined;
  /** How a test waits between two probes. @internal */
  sleep?: (ms: number) => Promise<unknown>;
}

const OPTIONS = [...CRAWL_OPTIONS, "timeoutMs", "required", "key", "log", "sleep"];

const said = (message: string, data?: object) => console.error(message, data ?? "");
const CONSOLE: Logger = { info: said, warning: said };

/**
 * A crawl as an adapter uses it: it sends what is fetched, keeps it while the server is away, and sends it when it is back.
 * No method waits for a server that is known to be away; only `start` fails.
 */
export class Session<T> {
  readonly stats: Stats = { pages: 0, failed: 0, rewards: 0, scored: 0, missed: 0, fallback: 0, guessed: 0, late: 0, skipped: 0 };
  readonly frontier: Frontier<T>;
  /** What the budget still allows, and why the crawl ended by it. */
  readonly allowance: Allowance;
  private readonly outage: Outage;
  private readonly crawl: Crawl;
  private readonly log: Logger;
  private readonly key: (url: string) => string;
  private readonly call: CallOptions;
  private started: Promise<void> | undefined;
  private lostAt = 0;
  private toldAt = Date.now();
  private over = false;
  private readonly refusals = new Set<string>();

  constructor(
    private readonly client: Client,
    id: string,
    private readonly options: SessionOptions = {},
  ) {
    checkNames(options, OPTIONS);
    if (options.timeoutMs !== undefined) checkTimeout(options.timeoutMs);
    this.crawl = client.crawl(id);
    this.allowance = new Allowance(options.budget);
    this.log = options.log ?? CONSOLE;
    this.key = options.key ?? ((url) => url);
    this.call = { timeoutMs: options.timeoutMs ?? SESSION_TIMEOUT_MS };
    const probe = () => this.crawl.get({ timeoutMs: PROBE_TIMEOUT_MS });
    this.outage = new Outage(probe, (error) => this.turned(error), (error) => this.refused(error), options.sleep);
    this.frontier = new Frontier<T>((waiting, inFlight) =>
      this.tried(() => this.crawl.planBuckets({ waiting, inFlight, n: 1 }, this.call)),
    );
  }

  get present(): boolean {
    return !this.outage.away;
  }

  /**
   * Makes the crawl, once. A server that is away is an error only if it is required.
   * @throws LinkscoreError if the server refuses the configuration.
   */
  start(): Promise<void> {
    this.started ??= this.repaired(() => this.ensure()).catch((thrown) => {
      const error = LinkscoreError.from(thrown);
      if (this.options.required || isRefusal(error)) throw error;
      this.outage.met(error);
    });
    return this.started;
  }

  /** Sends a page; its scored links, or undefined if the server is away: then the page is kept and sent later. */
  async page(page: Page): Promise<Link[] | undefined> {
    this.over = false;
    this.report();
    const sent = { eventId: randomUUID(), ...page }; // before the first attempt: a repeated one is applied once
    this.frontier.outlook.fetched(this.key(page.url), isFailure(page));
    this.allowance.begin();
    const send = async () => {
      const [result] = await this.crawl.ingest([sent], this.call);
      checked(result?.message.status);
      this.stats[isFailure(page) ? "failed" : "pages"]++;
      this.allowance.take(result?.message);
      return result?.links ?? [];
    };
    const bytes = OVERHEAD_BYTES + page.url.length + (page.body?.length ?? 0);
    const late = async () => {
      const links = byUrl(await this.repaired(send), this.key);
      for (const [url, found] of links) if (this.frontier.rescore(url, found)) this.stats.late++;
    };
    return this.tried(send, { bytes, call: late });
  }

  /**
   * Lets a link of a page wait: with what `page` answered for it, none if the server did not see it there, or unscored if
   * the page had no answer. One that the answer drops does not wait.
   */
  found(key: string, url: string, links: readonly Link[], answered: boolean, value: T): void {
    if (links[0] && isDropped(links[0])) {
      this.stats.skipped++;
    } else if (links.length) {
      this.stats.scored++;
      this.frontier.add(key, links, value);
    } else if (answered) {
      this.stats.missed++;
      this.frontier.addUnknown(key, value);
    } else {
      this.stats.fallback++;
      if (this.frontier.addUnscored(key, url, value)) this.stats.guessed++;
    }
  }

  /** Whether the budget lets no fetch begin beside those under way. If it says so of none the crawl has ended. */
  isFull(underWay: number): boolean {
    return this.allowance.full(underWay, this.frontier.hasSeeds);
  }

  /** Reports a fetch that brought no page, now or when the server is back. */
  async failed(page: Pick<Page, "url" | "statusCode" | "fetchError" | "ticket">): Promise<void> {
    await this.page({ ...page, fetchError: page.fetchError || (page.statusCode ? "" : "unknown") });
  }

  /** Says what a page was worth, now or when the server is back. */
  async reward(page: { url: string; ticket?: Uint8Array }, worth: number): Promise<void> {
    const eventId = randomUUID();
    const send = async () => {
      await this.crawl.reward(page, worth, { ...this.call, eventId });
      this.stats.rewards++;
    };
    await this.tried(send, { bytes: OVERHEAD_BYTES, call: () => this.repaired(send) });
  }

  /** Sends what still waits if the server is there, for half a minute at most, and says how the crawl went. */
  async finish(): Promise<void> {
    if (this.over) return;
    this.over = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FINISH_WITHIN_MS)));
    await Promise.race([this.outage.tryAgain(), late]);
    clearTimeout(timer);
    const notSent = this.outage.waiting + this.outage.dropped;
    this.log.info("linkscore: the crawl ends", { crawl: this.crawl.name, ...this.stats, notSent });
  }

  /** Ends the probing. */
  close(): void {
    this.outage.close();
  }

  /** Makes a call unless the server is away; `later` tells it then, if it met an outage. */
  private async tried<A>(call: () => Promise<A>, later?: Owed): Promise<A | undefined> {
    if (this.outage.keep(later)) return undefined;
    try {
      return await this.repaired(call);
    } catch (thrown) {
      const error = LinkscoreError.from(thrown);
      if (isOutage(error)) this.outage.met(error, later);
      else this.refused(error);
      return undefined;
    }
  }

  /** Makes a call; a crawl that the server does not know is made, and the call repeated. */
  private async repaired<A>(call: () => Promise<A>): Promise<A> {
    try {
      return await call();
    } catch (thrown) {
      if (LinkscoreError.from(thrown).code !== Code.NOT_FOUND) throw thrown;
      await this.ensure(); // the server was away at the start, or lost its crawl
      return call();
    }
  }

  private async ensure(): Promise<void> {
    const { policy, wanted, budget, examples } = this.options;
    await this.client.ensureCrawl(this.crawl.name, { ...this.call, policy, wanted, budget, examples });
    const there = await this.crawl.get(this.call).catch(() => undefined); // for the log alone
    this.log.info("linkscore orders this crawl", {
      server: this.client.target,
      version: there?.serverVersion,
      crawl: this.crawl.name,
      policy: policyName(there?.crawl?.policy),
      pagesOfEarlierRuns: Number(there?.crawl?.pageCount ?? 0),
    });
  }

  private turned(error?: LinkscoreError): void {
    this.frontier.outlook.setAway(!!error);
    if (error) {
      this.lostAt = Date.now();
      this.log.warning("linkscore does not answer: links go on by what links like them were last worth", { error: error.message });
      return;
    }
    this.log.info("linkscore answers again: what waits is sent now", {
      afterSeconds: Math.round((Date.now() - this.lostAt) / 1000),
      calls: this.outage.waiting,
    });
  }

  /** Says, of each reason once, that a call was refused or answered oddly: the crawl goes on without. */
  private refused({ message }: LinkscoreError): void {
    if (this.refusals.has(message) || this.refusals.size >= MOST_REFUSALS) return;
    this.refusals.add(message);
    this.log.warning("linkscore: a call failed, the crawl goes on", { error: message });
  }

  private report(): void {
    if (Date.now() - this.toldAt < REPORT_EVERY_MS) return;
    this.toldAt = Date.now();
    const [bestBucket, value] = this.frontier.bestBucket() ?? ["", 0];
    this.log.info("linkscore: so far", { ...this.stats, bestBucket, value });
  }
}

function isFailure({ fetchError, statusCode = 0 }: Page): boolean {
  return !!fetchError || statusCode >= 400;
}

/** The links of an answer that can be used, by URL: one may be there several times. */
export function byUrl(links: Link[], key: (url: string) => string): Map<string, Link[]> {
  const found = new Map<string, Link[]>();
  for (const link of links) {
    if (!link.usable || !link.url) continue;
    const url = key(link.url);
    found.set(url, [...(found.get(url) ?? []), link]);
  }
  return found;
}
