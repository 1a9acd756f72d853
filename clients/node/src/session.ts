import { randomUUID } from "node:crypto";

import { type Budget, type CallOptions, checked, checkTimeout, CRAWL_OPTIONS, type Client, type Crawl, type CrawlOptions } from "./client.js";
import { Code, LinkscoreError } from "./errors.js";
import { Frontier } from "./frontier.js";
import { Decision } from "./gen/linkscore/v1/common_pb.js";
import type { PageResult } from "./gen/linkscore/v1/link_scoring_service_pb.js";
import { checkNames, isDropped, type Link, type Page } from "./messages.js";

const FINISH_WITHIN_MS = 30_000; // chosen
const MOST_REFUSALS = 20; // that are logged, each once
const SESSION_TIMEOUT_MS = 5_000; // a fetch waits for a call
const OVERHEAD_BYTES = 512; // of a page without its body and links, and of a reward

// Waits between two probes of a server that is away: one that was restarted is noticed within seconds. One that takes longer
// than a second to answer a probe is of no use to a crawl.
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 5_000;
const PROBE_TIMEOUT_MS = 1_000;
const MAX_BYTES = 64 * 1024 * 1024; // of what waits; chosen, as the tries of a call whose answer took too long
const MAX_TRIES = 3;

const FAULTS = new Set([Code.INTERNAL, Code.UNKNOWN, Code.CANCELLED, Code.DATA_LOSS]);
const OUTAGES = new Set([Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED]);
const STOPS = new Map([
  [Decision.STOP_YIELD, "linkscore_yield"],
  [Decision.STOP_COVERED, "linkscore_covered"],
  [Decision.STOP_BUDGET, "linkscore_budget"],
]);

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

/** Waits without keeping the process alive. */
const slept = (ms: number) => new Promise<unknown>((resolve) => void setTimeout(resolve, ms).unref());

/** A call that tells the server something, and how often its answer took too long. */
interface Owed {
  call: () => Promise<unknown>;
  bytes: number;
  tries?: number;
}

/**
 * A crawl as an adapter uses it: it sends what is fetched, keeps it while the server is away, and sends it when it is back:
 * the rule of outages (docs/reference/clients.md). No method waits for a server that is known to be away; only `start` fails.
 */
export class Session<T> {
  readonly stats: Stats = { pages: 0, failed: 0, rewards: 0, scored: 0, missed: 0, fallback: 0, guessed: 0, late: 0, skipped: 0 };
  readonly frontier: Frontier<T>;
  /** What the budget still allows, and why the crawl ended by it. */
  readonly allowance: Allowance;
  private readonly crawl: Crawl;
  private readonly log: Logger;
  private readonly key: (url: string) => string;
  private readonly call: CallOptions;
  private started: Promise<void> | undefined;
  private greeted = false;
  private over = false;
  private readonly refusals = new Set<string>();
  private away = false;
  private lostAt = 0;
  private owed: Owed[] = [];
  private bytes = 0;
  /** Calls that fell out, or were given up. */
  private dropped = 0;
  private closed = false;
  private trying: Promise<LinkscoreError | undefined> | undefined;

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
    this.frontier = new Frontier<T>((places) => this.tried(() => this.crawl.rankBuckets(places, this.call)));
  }

  get present(): boolean {
    return !this.away;
  }

  /**
   * Makes the crawl, once. A server that is away is an error only if it is required.
   * @throws LinkscoreError if the server refuses the configuration.
   */
  start(): Promise<void> {
    this.started ??= this.repaired(() => this.ensure()).catch((thrown) => {
      const error = LinkscoreError.from(thrown);
      if (isOutage(error) && /SSL routines|certificate/.test(error.message)) throw new LinkscoreError(`linkscore: tls: does not fit the server: ${error.message}`, error.code);
      if (this.options.required || isRefusal(error)) throw error;
      this.met(error);
    });
    return this.started;
  }

  /** Sends a page; its scored links, or undefined if the server is away: then the page is kept and sent later. */
  async page(page: Page): Promise<Link[] | undefined> {
    this.over = false;
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
    const bytes = OVERHEAD_BYTES + page.url.length + (page.body?.length ?? 0) + JSON.stringify(page.outlinks ?? []).length;
    const late = async () => {
      const links = byUrl(await this.repaired(send), this.key);
      for (const [url, found] of links) if (this.frontier.rescore(url, found)) this.stats.late++;
    };
    return this.tried(send, { bytes, call: late });
  }

  /** Lets a link wait: with what `page` answered for it, unscored if it had no answer. One that is dropped does not wait. */
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
    await Promise.race([this.tryAgain(), late]);
    clearTimeout(timer);
    this.log.info("linkscore: the crawl ends", { crawl: this.crawl.name, ...this.stats, notSent: this.owed.length + this.dropped });
  }

  /** Ends the probing. */
  close(): void {
    this.closed = true;
  }

  /** Makes a call unless the server is away; `later` tells it then, if it met an outage. */
  private async tried<A>(call: () => Promise<A>, later?: Owed): Promise<A | undefined> {
    if (this.keep(later)) return undefined;
    try {
      return await this.repaired(call);
    } catch (thrown) {
      const error = LinkscoreError.from(thrown);
      if (isOutage(error)) this.met(error, later);
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
    if (this.greeted) return;
    this.greeted = true;
    const there = await this.crawl.get(this.call).catch(() => undefined); // for the log alone
    this.log.info("linkscore orders this crawl", {
      server: this.client.target,
      version: there?.serverVersion,
      crawl: this.crawl.name,
      policy: there?.crawl?.policy?.policy.case,
      pagesOfEarlierRuns: Number(there?.crawl?.pageCount ?? 0),
    });
  }

  /** Says, of each reason once, that a call was refused or answered oddly: the crawl goes on without. */
  private refused({ message }: LinkscoreError): void {
    if (this.refusals.has(message) || this.refusals.size >= MOST_REFUSALS) return;
    this.refusals.add(message);
    this.log.warning("linkscore: a call failed, the crawl goes on", { error: message });
  }

  /** Lets a call wait if the server is away; says whether it is. */
  private keep(call?: Owed): boolean {
    if (!this.away || !call) return this.away;
    this.owed.push(call);
    this.bytes += call.bytes;
    while (this.bytes > MAX_BYTES) {
      this.bytes -= this.owed.shift()?.bytes ?? 0;
      this.dropped++;
    }
    return true;
  }

  private met(error: LinkscoreError, call?: Owed): void {
    const lost = !this.away;
    this.away = true;
    this.keep(call);
    if (!lost) return;
    this.frontier.outlook.setAway(true);
    this.lostAt = Date.now();
    this.log.warning("linkscore does not answer: links go on by what links like them were last worth", { error: error.message });
    void this.watch(error);
  }

  private async watch(lost: LinkscoreError): Promise<void> {
    let error: LinkscoreError | undefined = lost;
    for (let waitMs = FIRST_PROBE_MS; error; waitMs = Math.min(2 * waitMs, LONGEST_PROBE_MS)) {
      await (this.options.sleep ?? slept)(Math.max(waitMs, Math.min(error.retryAfterMs, LONGEST_PROBE_MS)));
      if (this.closed) return;
      error = await this.tryAgain();
    }
  }

  /** Asks whether the server is back, and tells it everything then; the outage that goes on, if it does. */
  private tryAgain(): Promise<LinkscoreError | undefined> {
    this.trying ??= this.probed().finally(() => (this.trying = undefined));
    return this.trying;
  }

  private async probed(): Promise<LinkscoreError | undefined> {
    if (this.away) {
      const failed = await failure(() => this.crawl.get({ timeoutMs: PROBE_TIMEOUT_MS }));
      const error = isOutage(failed) ? failed : await this.tellOldest();
      if (error) return error;
      this.away = false;
      this.frontier.outlook.setAway(false);
      const afterSeconds = Math.round((Date.now() - this.lostAt) / 1000);
      this.log.info("linkscore answers again: what waits is sent now", { afterSeconds, calls: this.owed.length });
    }
    while (this.owed.length && !this.away) {
      const error = await this.tellOldest();
      if (error) this.met(error);
    }
    return undefined;
  }

  /** Makes the oldest call; gives the outage that it met. A refusal is an answer, after which it is over. */
  private async tellOldest(): Promise<LinkscoreError | undefined> {
    const oldest = this.owed.shift();
    if (!oldest) return undefined;
    this.bytes -= oldest.bytes;
    const error = await failure(oldest.call);
    if (!error || !isOutage(error)) {
      if (error) this.refused(error);
      return undefined;
    }
    const tries = (oldest.tries ?? 0) + Number(error.code === Code.DEADLINE_EXCEEDED);
    if (tries >= MAX_TRIES) {
      this.dropped++;
    } else {
      this.owed.unshift({ ...oldest, tries });
      this.bytes += oldest.bytes;
    }
    return error;
  }
}

/** Whether the next call would fail too; one beyond a limit is refused for itself. */
function isOutage(error: LinkscoreError | undefined): boolean {
  return !!error && OUTAGES.has(error.code) && error.reason !== "LIMIT_EXCEEDED";
}

/** Whether only another configuration mends an error: such a crawl does not begin. */
function isRefusal(error: LinkscoreError): boolean {
  const ofTheServer = typeof error.cause === "object" && error.cause !== null && "details" in error.cause;
  return !isOutage(error) && !(ofTheServer && FAULTS.has(error.code));
}

function failure(call: () => Promise<unknown>): Promise<LinkscoreError | undefined> {
  return call().then(() => undefined, LinkscoreError.from);
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

/** What the budget still allows, as the answers to pages say; one fetch at a time until the first: all may be spent. */
export class Allowance {
  /** Why the crawl ends, `linkscore_budget` for example; empty while it goes on. */
  reason = "";
  /** The same in a sentence. */
  why = "";
  private left: number;
  /** Fetches that the server has not counted, for ever if it refused them. */
  private unknown = 0;
  private answered = false;
  private seq = 0n;
  private spent = false;

  constructor({ maxFetches = Infinity }: Budget = {}) {
    this.left = maxFetches;
  }

  /** Notes a fetch that the server is told of now or later. */
  begin(): void {
    this.unknown++;
  }

  /**
   * Takes over what the answer to a page says. One that another overtook can only allow less: numbers of events begin
   * anew where the server lost the crawl.
   */
  take(result: PageResult | undefined): void {
    this.answered = true;
    this.unknown--;
    const said = result?.standing;
    if (!said) return;
    const left = said.fetchesLeft === undefined ? Infinity : Number(said.fetchesLeft);
    if (result.eventSeq < this.seq && left >= this.left && !said.spent) return;
    if (result.eventSeq > this.seq) this.seq = result.eventSeq;
    this.left = left;
    [this.spent, this.reason, this.why] = [said.spent, STOPS.get(said.decision) ?? "", said.reason];
  }

  /** Whether no fetch may begin beside those under way; start pages may, which may be of a site that has not stopped. */
  full(underWay: number, seeds: boolean): boolean {
    if (this.spent || (this.reason && !seeds)) return true;
    if (this.left === Infinity) return false;
    if (!underWay && this.unknown >= this.left && !this.reason) {
      [this.reason, this.why] = ["linkscore_budget", `${this.unknown} fetches that the server does not know are all that was left`];
    }
    return underWay + this.unknown >= this.left || (!this.answered && underWay > 0);
  }
}
