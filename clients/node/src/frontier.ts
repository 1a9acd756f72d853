import { Breaker, PROBE_TIMEOUT_MS } from "./breaker.js";
import type { CallOptions, Crawl } from "./client.js";
import { LinkscoreError } from "./errors.js";
import { Guesses, Outage, shapes } from "./outage.js";

/** How many buckets a URL that was found several times may wait in at once. */
const MAX_PLACES = 4;

/** A URL that waits to be fetched, with what the caller keeps beside it. */
export interface Item<T> {
  key: string;
  ticket: Uint8Array;
  value: T;
}

interface Waiting<T> extends Item<T> {
  taken: boolean;
  /** Its URL, and the coarse shape of that, once it was asked for. */
  url: string;
  coarse?: string;
  /** Its place in each bucket it waits in, numbered in the order they came; the ticket there is given when it is taken. */
  places: Map<string, { number: number; ticket: Uint8Array }>;
  /** The URL of one that was found while the server was away: its place, if it has one, is a guess. */
  guessed?: string | undefined;
}

/** What a frontier keeps of a scored link. */
export interface Scored {
  bucket: string;
  bucketValue: number;
  ticket: Uint8Array;
  score?: number;
  url?: string;
}

const any = () => true;

/**
 * An in-memory queue that gives the best URL first: one first-in-first-out queue a bucket, seeds ahead of them, URLs
 * the server said nothing about behind them. A URL is given once. Call `done` when one that was given is answered: what is
 * under way counts when the next is chosen. While the server is away links go on by the rule of outages (docs/reference/clients.md).
 */
export class Frontier<T> {
  private readonly values = new Map<string, number>();
  private readonly queues = new Map<string, Waiting<T>[]>();
  private readonly waiting = new Map<string, Waiting<T>>();
  private seeds: Waiting<T>[] = [];
  private unknown: Waiting<T>[] = [];
  private readonly guesses = new Guesses();
  private readonly outage = new Outage();
  /** Links that wait without a score, by URL. */
  private readonly withoutScore = new Map<string, Waiting<T>>();
  /** Those of them that wait in a bucket, behind all that were scored. */
  private readonly guessed = new Map<string, Waiting<T>[]>();
  private numbers = 0;
  private since = 0;
  /** Links that wait in each bucket. */
  private readonly live = new Map<string, number>();
  /** URLs given and not done, with the bucket each was taken from. */
  private readonly underWay = new Map<string, string>();
  /** What the server handed out and nobody took yet. */
  private left = new Map<string, number>();
  /** It handed out less than there was place for. */
  private short = false;
  /** Something is done since it was asked. */
  private news = false;
  private turn: Promise<unknown> = Promise.resolve();

  /** Asks for the order of the buckets before every `every`-th `next`. */
  constructor(
    private readonly crawl: () => Promise<Crawl>,
    private readonly every = 1,
    private readonly breaker = new Breaker(async () => (await crawl()).ping({ timeoutMs: PROBE_TIMEOUT_MS })),
    private readonly call: CallOptions = {},
  ) {}

  /** How many URLs wait. */
  get size(): number {
    return this.waiting.size;
  }

  has(key: string): boolean {
    return this.waiting.has(key);
  }

  addSeed(key: string, value: T): void {
    this.seeds.push(this.made(key, value));
  }

  addUnknown(key: string, value: T): void {
    this.unknown.push(this.made(key, value));
  }

  /**
   * Lets a link wait that was found while the server was away: in the bucket of the last new link of its shape that was
   * scored, behind all that were, or, if there was none, behind all others; true if it is a guess. `rescore` gives it its score when
   * the server is back.
   */
  addUnscored(key: string, url: string, value: T): boolean {
    if (this.waiting.has(key)) return false;
    const item = this.made(key, value, url);
    item.guessed = url;
    this.withoutScore.set(url, item);
    const bucket = this.guesses.bucket(url);
    if (bucket === undefined) this.unknown.push(item);
    else this.put(item, bucket, new Uint8Array(), this.guessed);
    return bucket !== undefined;
  }

  /** Lets a link wait in each bucket that one page gave it; one that waits already, found again elsewhere, waits there too. */
  add(key: string, found: Scored | readonly Scored[], value: T): void {
    const links = [found].flat();
    this.score(this.waiting.get(key) ?? this.made(key, value, links[0]?.url), links);
  }

  /** Notes whether a fetch brought a page: links of its shape go behind others if many did not, while the server is away. */
  answered(url: string, failed: boolean): void {
    this.outage.answered(coarseOf(url), failed, !this.breaker.allows());
  }

  /** How many links wait without a score. */
  get unscored(): number {
    return this.withoutScore.size;
  }

  /** Links that wait without a score. */
  someUnscored(most: number): string[] {
    return [...this.withoutScore.keys()].slice(0, most);
  }

  /** Gives a link that waits without a score its own; false if it does not. */
  rescore(url: string, found: readonly Scored[]): boolean {
    const item = this.withoutScore.get(url);
    if (!item) return false;
    this.score(item, found);
    return true;
  }

  /** Notes that the server was asked about links: those that wait on without a score will have none, and wait where they were guessed to. */
  settle(urls: readonly string[]): void {
    for (const url of urls) this.withoutScore.delete(url);
  }

  /** The bucket that is worth most of those that are not empty, and its value. */
  bestBucket(): [string, number] | undefined {
    const values = [...this.live.keys()].map((bucket): [string, number] => [bucket, this.values.get(bucket) ?? 0]);
    return values.reduce<[string, number] | undefined>((best, each) => (best && best[1] >= each[1] ? best : each), undefined);
  }

  /**
   * Takes the URL to fetch now; undefined if none waits, or if none should be fetched before the next answer (`held`).
   * Those who ask take turns: each knows what those before it took.
   */
  next(): Promise<Item<T> | undefined> {
    const mine = this.turn.then(() => this.chosen());
    this.turn = mine;
    return mine;
  }

  /** Notes that what became of a URL that was given is known to the server, or never will be. */
  done(key: string): void {
    this.news = true;
    this.underWay.delete(key);
  }

  /** Whether a start page waits. */
  get hasSeeds(): boolean {
    return this.seeds.length > 0;
  }

  /** Whether something waits that should not be fetched before the next answer. */
  get held(): boolean {
    return this.short && !this.news && this.underWay.size > 0 && ![...this.left.values()].some(Boolean) && !this.seeds.length;
  }

  private async chosen(): Promise<Item<T> | undefined> {
    await this.rank();
    const item = this.first();
    if (item) this.outage.took(this.underWay.get(item.key) ?? "", !this.breaker.allows());
    return item;
  }

  private first(): Item<T> | undefined {
    const given = this.take(this.seeds) ?? this.best((bucket) => (this.left.get(bucket) ?? 0) > 0);
    if (given || (this.short && this.underWay.size > 0)) return given;
    return this.best(any) ?? this.take(this.unknown);
  }

  private async rank(): Promise<void> {
    if (!this.breaker.allows()) {
      [this.short, this.left] = [false, new Map()];
      return;
    }
    this.since = this.outage.ends() ? this.every : this.since + 1; // after an outage the values are old
    const empty = this.short && !this.news && this.underWay.size > 0;
    if ((this.since < this.every && !this.short) || empty || !this.live.size) return;
    [this.since, this.news, this.short, this.left] = [0, false, false, new Map()];
    const waiting = this.oldestFirst();
    const inFlight = new Map<string, number>();
    for (const bucket of this.underWay.values()) if (bucket) inFlight.set(bucket, (inFlight.get(bucket) ?? 0) + 1);
    try {
      const { values, urls } = await (await this.crawl()).planBuckets({ waiting, inFlight, n: this.every }, this.call);
      for (const [bucket, value] of values) this.values.set(bucket, value);
      this.left = urls ?? new Map();
      const sum = (counts: Iterable<number>) => [...counts].reduce((a, b) => a + b, 0);
      this.short = !!urls && sum(urls.values()) < Math.min(this.every, sum(waiting.values()));
      this.breaker.done();
    } catch (thrown) {
      this.breaker.done(LinkscoreError.from(thrown));
    }
  }

  private oldestFirst(): Map<string, number> {
    const oldest = (bucket: string) => this.head(bucket)?.places.get(bucket)?.number ?? 0;
    return new Map([...this.live].sort(([a], [b]) => oldest(a) - oldest(b)));
  }

  /** The URL to take from a bucket that is not empty: scored ones go before guesses. */
  private head(bucket: string): Waiting<T> | undefined {
    const waits = (item: Waiting<T>) => !item.taken && item.places.has(bucket);
    return (
      firstOf(this.queues, bucket, (item) => waits(item) && item.guessed === undefined) ??
      firstOf(this.guessed, bucket, (item) => waits(item) && item.guessed !== undefined)
    );
  }

  /** The value of a bucket: what the server said last, or while it is away what that is worth still. */
  private worth(bucket: string, head: Waiting<T>): number {
    const value = this.values.get(bucket) ?? 0;
    if (this.breaker.allows()) return value;
    head.coarse ??= coarseOf(head.url);
    return this.outage.worth(bucket, value, head.coarse);
  }

  private best(mayGo: (bucket: string) => boolean): Item<T> | undefined {
    let best: { bucket: string; value: number; number: number; head: Waiting<T> } | undefined;
    for (const bucket of this.live.keys()) {
      const head = this.head(bucket);
      if (!head || !mayGo(bucket)) continue;
      const value = this.worth(bucket, head);
      const number = head.places.get(bucket)?.number ?? 0;
      if (!best || value > best.value || (value === best.value && number < best.number)) {
        best = { bucket, value, number, head };
      }
    }
    if (best) this.left.set(best.bucket, Math.max(0, (this.left.get(best.bucket) ?? 0) - 1));
    return best && this.leave(best.head, best.bucket);
  }

  private take(queue: Waiting<T>[]): Item<T> | undefined {
    for (let item = queue.shift(); item; item = queue.shift()) {
      if (!item.taken) return this.leave(item);
    }
    return undefined;
  }

  private leave(item: Waiting<T>, bucket = ""): Item<T> {
    item.taken = true;
    item.ticket = item.places.get(bucket)?.ticket ?? new Uint8Array();
    this.underWay.set(item.key, bucket);
    this.settled(item);
    this.leavePlaces(item);
    if (this.waiting.get(item.key) === item) this.waiting.delete(item.key);
    return item;
  }

  private leavePlaces(item: Waiting<T>): void {
    for (const place of item.places.keys()) {
      const rest = (this.live.get(place) ?? 0) - 1;
      if (rest > 0) this.live.set(place, rest);
      else this.live.delete(place);
    }
    item.places = new Map();
  }

  private settled(item: Waiting<T>): void {
    if (item.guessed !== undefined) this.withoutScore.delete(item.guessed);
    item.guessed = undefined;
  }

  private score(item: Waiting<T>, found: readonly Scored[]): void {
    if (item.guessed !== undefined) {
      this.settled(item);
      this.leavePlaces(item);
    }
    if (!item.places.size) { // one found again is not taken from where it was found now, and teaches nothing
      const best = found.reduce((a, b) => ((b.score ?? 0) > (a.score ?? 0) ? b : a));
      if (best.url) this.guesses.note(best.url, best.bucket);
    }
    for (const { bucket, bucketValue, ticket } of found) {
      if (!this.values.has(bucket)) this.values.set(bucket, bucketValue);
      if (!item.places.has(bucket) && item.places.size < MAX_PLACES) this.put(item, bucket, ticket, this.queues);
    }
  }

  private put(item: Waiting<T>, bucket: string, ticket: Uint8Array, queues: Map<string, Waiting<T>[]>): void {
    item.places.set(bucket, { number: ++this.numbers, ticket });
    const queue = queues.get(bucket);
    if (queue) queue.push(item);
    else queues.set(bucket, [item]);
    this.live.set(bucket, (this.live.get(bucket) ?? 0) + 1);
  }

  private made(key: string, value: T, url = key): Waiting<T> {
    const item = { key, url, ticket: new Uint8Array(), value, taken: false, places: new Map() };
    this.waiting.set(key, item);
    return item;
  }
}

function coarseOf(url: string): string {
  return shapes(url)[1] ?? url;
}

/** Drops what does not wait in a queue any more, and gives what is left at its head. */
function firstOf<T>(queues: Map<string, Waiting<T>[]>, bucket: string, waits: (item: Waiting<T>) => boolean): Waiting<T> | undefined {
  const queue = queues.get(bucket) ?? [];
  while (queue[0] && !waits(queue[0])) queue.shift();
  if (!queue[0]) queues.delete(bucket);
  return queue[0];
}
