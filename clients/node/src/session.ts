import { randomUUID } from "node:crypto";

import { Allowance, budgetMessage } from "./allowance.js";
import { Backlog, type Kept } from "./backlog.js";
import { Breaker, isOutage, PROBE_TIMEOUT_MS } from "./breaker.js";
import type { CallOptions, Client, Crawl, CrawlOptions } from "./client.js";
import { Code, LinkscoreError } from "./errors.js";
import { Frontier } from "./frontier.js";
import { isDropped, type Link, type Page, policyName } from "./messages.js";

// Chosen: a slice is answered at once by a server with other work, and the end of a crawl waits for half a minute at most.
const SLICE_REWARDS = 100;
const SLICE_LINKS = 500;
const FINISH_WITHIN_MS = 30_000;
const REPORT_EVERY_MS = 60_000;
/** Distinct refusals that are logged; a bound. */
const MAX_SAID = 20;
/** Deadline of a call of a session unless it is told otherwise: a fetch waits for it. */
const SESSION_TIMEOUT_MS = 5_000;

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
  /** Asks for the order of the buckets before every n-th request, 1 if absent. */
  rankEvery?: number | undefined;
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

const CONSOLE: Logger = {
  info: (message, data) => console.error(message, data ?? ""),
  warning: (message, data) => console.error(message, data ?? ""),
};

/**
 * A crawl as an adapter uses it: it sends what is fetched, keeps it while the server is away, and sends it when it is back.
 * No method waits for a server that is known to be away; only `start` fails.
 */
export class Session<T> {
  readonly stats: Stats = {
    pages: 0,
    failed: 0,
    rewards: 0,
    scored: 0,
    missed: 0,
    fallback: 0,
    guessed: 0,
    late: 0,
    skipped: 0,
  };
  readonly frontier: Frontier<T>;
  /** What the budget still allows, and why the crawl ended by it. */
  readonly allowance: Allowance;
  private readonly breaker: Breaker;
  private readonly backlog = new Backlog();
  private readonly crawl: Crawl;
  private readonly log: Logger;
  private readonly key: (url: string) => string;
  private readonly call: CallOptions;
  private started: Promise<void> | undefined;
  private catching: Promise<void> | undefined;
  private lostAt = 0;
  private toldAt = Date.now();
  private over = false;
  private readonly said = new Set<string>();

  constructor(
    private readonly client: Client,
    id: string,
    private readonly options: SessionOptions = {},
  ) {
    this.crawl = client.crawl(id);
    this.allowance = new Allowance(options.budget && budgetMessage(options.budget));
    this.log = options.log ?? CONSOLE;
    this.key = options.key ?? ((url) => url);
    this.call = { timeoutMs: options.timeoutMs ?? SESSION_TIMEOUT_MS };
    this.breaker = new Breaker(() => this.probe(), (error) => this.turned(error), (error) => this.refused(error), options.sleep);
    this.frontier = new Frontier<T>(async () => this.crawl, options.rankEvery, this.breaker, this.call);
  }

  /** Whether the server is taken for present. */
  get present(): boolean {
    return this.breaker.allows();
  }

  /**
   * Makes the crawl, once. A server that is away is an error only if it is required.
   * @throws LinkscoreError if the server refuses the configuration.
   */
  start(): Promise<void> {
    this.started ??= this.repaired(() => this.ensure()).catch((thrown) => {
      const error = LinkscoreError.from(thrown);
      if (this.options.required || !isOutage(error)) throw error;
      this.breaker.done(error);
    });
    return this.started;
  }

  /** Sends a page; its scored links, or undefined if the server is away: then the page is kept and sent later. */
  async page(page: Page): Promise<Link[] | undefined> {
    this.over = false;
    this.report();
    const sent = { eventId: randomUUID(), ...page }; // before the first attempt: a repeated one is applied once
    this.frontier.answered(this.key(page.url), isFailure(page));
    const { answer, error } = await this.tried(() => this.crawl.ingest([sent], this.call));
    if (answer) {
      this.count(sent);
      this.allowance.take(answer[0]?.message);
      if (this.frontier.unscored) void this.catchUp();
      return answer[0]?.links ?? [];
    }
    if (!error || isOutage(error)) this.backlog.add(sent);
    return undefined;
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
    return this.allowance.full(underWay, this.backlog.size + this.backlog.dropped, this.frontier.hasSeeds);
  }

  /** Reports a fetch that brought no page, now or when the server is back. */
  async failed(page: Pick<Page, "url" | "statusCode" | "fetchError" | "ticket">): Promise<void> {
    await this.page({ ...page, fetchError: page.fetchError || (page.statusCode ? "" : "unknown") });
  }

  /** Says what a page was worth, now or when the server is back. */
  async reward(page: { url: string; ticket?: Uint8Array }, worth: number): Promise<void> {
    const said = { ...page, worth, eventId: randomUUID() };
    const { answer, error } = await this.tried(() => this.crawl.rewards([said], this.call).then(() => true));
    if (answer) this.stats.rewards++;
    else if (!error || isOutage(error)) this.backlog.addReward(said);
  }

  /** Sends what still waits if the server is there, for half a minute at most, and says how the crawl went. */
  async finish(): Promise<void> {
    if (this.over) return;
    this.over = true;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, FINISH_WITHIN_MS)));
    await Promise.race([this.breaker.try().then(() => this.catchUp()), late]);
    clearTimeout(timer);
    const { scored, missed, fallback, late: rescored, pages } = this.stats;
    this.log.info("linkscore: the crawl ends", {
      crawl: this.crawl.name,
      links: scored + missed + fallback,
      scored: scored + rescored,
      pages,
      pagesNotSent: this.backlog.size + this.backlog.dropped,
    });
  }

  /** Ends the probing. */
  close(): void {
    this.breaker.close();
  }

  /** Makes a call if the server may be there; a crawl that it does not know is made, and the call repeated. */
  private async tried<A>(call: () => Promise<A>): Promise<{ answer?: A; error?: LinkscoreError }> {
    if (!this.breaker.allows()) return {};
    try {
      return { answer: await this.repaired(call) };
    } catch (thrown) {
      const error = LinkscoreError.from(thrown);
      this.breaker.done(error);
      return { error };
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
    const { name, config } = await this.client.ensureCrawl(this.crawl.name, { ...this.call, policy, wanted, budget, examples });
    const version = await this.crawl.serverVersion(this.call).catch(() => ""); // for the log alone
    this.log.info("linkscore orders this crawl", { server: this.client.target, version, crawl: name, policy: policyName(config?.policy) });
  }

  /**
   * Asks whether the server is back: a cheap call, and one of what waits, since a server may answer and yet take nothing
   * in (its disk is full, or it has too much work).
   */
  private async probe(): Promise<void> {
    await this.crawl.ping({ timeoutMs: PROBE_TIMEOUT_MS }).catch((thrown: LinkscoreError) => {
      if (isOutage(thrown)) throw thrown;
    });
    await this.sendSome();
  }

  /** Notes the beginning of an outage, or its end: then what waits is sent, beside the crawl. */
  private turned(error?: LinkscoreError): void {
    if (error) {
      this.lostAt = Date.now();
      const why = error.reason === "DISK_FULL" ? "linkscore: the server's disk is full" : "linkscore does not answer";
      this.log.warning(`${why}: links go on by what links like them were last worth`, { error: error.message });
      return;
    }
    this.log.info("linkscore answers again: what waits is sent now", {
      afterSeconds: Math.round((Date.now() - this.lostAt) / 1000),
      pages: this.backlog.size,
      links: this.frontier.unscored,
    });
    void this.catchUp();
  }

  /** Says, once for each message, that a call was refused or answered oddly: the crawl goes on without. */
  private refused({ message }: LinkscoreError): void {
    if (this.said.has(message) || this.said.size >= MAX_SAID) return;
    this.said.add(message);
    this.log.warning("linkscore: a call failed, the crawl goes on", { error: message });
  }

  /** Sends what waits in slices, the oldest first, until nothing does or the server is away again. */
  private catchUp(): Promise<void> {
    this.catching ??= this.sendAll().finally(() => (this.catching = undefined));
    return this.catching;
  }

  private async sendAll(): Promise<void> {
    while (this.breaker.allows()) {
      const { answer: sent, error } = await this.tried(() => this.sendSome());
      if (sent || error) continue;
      const urls = this.frontier.someUnscored(SLICE_LINKS);
      if (!urls.length) return;
      await this.score(urls);
    }
  }

  /** Sends the oldest page that waits, or some of the feedback; false if nothing waits. */
  private async sendSome(): Promise<boolean> {
    const kept = this.backlog.take();
    if (kept) {
      await this.send(kept);
      return true;
    }
    const rewards = this.backlog.takeRewards(SLICE_REWARDS);
    if (!rewards.length) return false;
    try {
      await this.repaired(() => this.crawl.rewards(rewards, this.call));
      this.stats.rewards += rewards.length;
    } catch (thrown) {
      if (isOutage(LinkscoreError.from(thrown))) this.backlog.putRewardsBack(rewards);
      throw thrown;
    }
    return true;
  }

  /** Sends a page that waited; its links that wait without a score get it. */
  private async send(kept: Kept): Promise<void> {
    try {
      const [result] = await this.repaired(() => this.crawl.ingest([kept.page], this.call));
      this.count(kept.page);
      this.allowance.take(result?.message);
      this.rescored(result?.links ?? []);
    } catch (thrown) {
      const error = LinkscoreError.from(thrown);
      if (isOutage(error)) this.backlog.putBack(kept, error.code === Code.DEADLINE_EXCEEDED);
      throw error;
    }
  }

  /** Asks for the scores of links whose pages will not be sent. */
  private async score(urls: string[]): Promise<void> {
    const { answer, error } = await this.tried(() => this.crawl.score(urls.map((url) => ({ url })), this.call));
    if (!answer && (!error || isOutage(error))) return;
    this.rescored(answer ?? []);
    this.frontier.settle(urls);
  }

  private rescored(links: Link[]): void {
    for (const [url, found] of byUrl(links, this.key)) if (this.frontier.rescore(url, found)) this.stats.late++;
  }

  private count(page: Page): void {
    this.stats[isFailure(page) ? "failed" : "pages"]++;
  }

  /** Logs how the crawl goes, once a minute. */
  private report(): void {
    if (Date.now() - this.toldAt < REPORT_EVERY_MS) return;
    this.toldAt = Date.now();
    const [bestBucket, value] = this.frontier.bestBucket() ?? ["", 0];
    const { scored, late, fallback } = this.stats;
    this.log.info("linkscore: so far", { scored: scored + late, fallback, bestBucket, value });
  }
}

/** Whether a fetch brought no page. */
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
