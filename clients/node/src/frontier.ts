import { Breaker } from "./breaker.js";
import type { Crawl } from "./client.js";
import { LinkscoreError } from "./errors.js";

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
  /** Its place in each bucket it waits in, numbered in the order they came; the ticket there is given when it is taken. */
  places: Map<string, { number: number; ticket: Uint8Array }>;
}

const any = () => true;

/**
 * An in-memory queue that gives the best URL first: one first-in-first-out queue a bucket, seeds ahead of them, URLs
 * the server said nothing about behind them. A URL is given once. Call `done` when one that was given is answered: what is
 * under way counts when the next is chosen. While the server is away the last order is kept.
 */
export class Frontier<T> {
  private readonly values = new Map<string, number>();
  private readonly queues = new Map<string, Waiting<T>[]>();
  private readonly waiting = new Map<string, Waiting<T>>();
  private seeds: Waiting<T>[] = [];
  private unknown: Waiting<T>[] = [];
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
    private readonly breaker = new Breaker(),
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

  /** Lets a scored link wait in its bucket; one that waits already, found again elsewhere, waits there too. */
  add(key: string, link: { bucket: string; bucketValue: number; ticket: Uint8Array }, value: T): void {
    const item = this.waiting.get(key) ?? this.made(key, value);
    if (item.places.size >= MAX_PLACES || item.places.has(link.bucket)) return;
    item.places.set(link.bucket, { number: ++this.numbers, ticket: link.ticket });
    const queue = this.queues.get(link.bucket);
    if (queue) queue.push(item);
    else this.queues.set(link.bucket, [item]);
    this.live.set(link.bucket, (this.live.get(link.bucket) ?? 0) + 1);
    if (!this.values.has(link.bucket)) this.values.set(link.bucket, link.bucketValue);
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

  /** Whether something waits that should not be fetched before the next answer. */
  get held(): boolean {
    return this.short && !this.news && this.underWay.size > 0 && ![...this.left.values()].some(Boolean) && !this.seeds.length;
  }

  private async chosen(): Promise<Item<T> | undefined> {
    await this.rank();
    const given = this.take(this.seeds) ?? this.best((bucket) => (this.left.get(bucket) ?? 0) > 0);
    if (given || (this.short && this.underWay.size > 0)) return given;
    return this.best(any) ?? this.take(this.unknown);
  }

  private async rank(): Promise<void> {
    this.since++;
    const empty = this.short && !this.news && this.underWay.size > 0;
    if ((this.since < this.every && !this.short) || empty || !this.live.size) return;
    [this.since, this.news, this.short, this.left] = [0, false, false, new Map()];
    if (!this.breaker.allows()) return;
    const waiting = this.oldestFirst();
    const inFlight = new Map<string, number>();
    for (const bucket of this.underWay.values()) if (bucket) inFlight.set(bucket, (inFlight.get(bucket) ?? 0) + 1);
    try {
      const { values, urls } = await (await this.crawl()).planBuckets({ waiting, inFlight, n: this.every });
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

  /** The first URL of a bucket that was not taken elsewhere. */
  private head(bucket: string): Waiting<T> | undefined {
    const queue = this.queues.get(bucket) ?? [];
    while (queue[0]?.taken) queue.shift();
    if (!queue[0]) this.queues.delete(bucket);
    return queue[0];
  }

  private best(mayGo: (bucket: string) => boolean): Item<T> | undefined {
    let best: { bucket: string; value: number; number: number; head: Waiting<T> } | undefined;
    for (const bucket of this.queues.keys()) {
      const head = this.head(bucket);
      if (!head || !mayGo(bucket)) continue;
      const value = this.values.get(bucket) ?? 0;
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
    for (const place of item.places.keys()) {
      const rest = (this.live.get(place) ?? 0) - 1;
      if (rest > 0) this.live.set(place, rest);
      else this.live.delete(place);
    }
    if (this.waiting.get(item.key) === item) this.waiting.delete(item.key);
    return item;
  }

  private made(key: string, value: T): Waiting<T> {
    const item = { key, ticket: new Uint8Array(), value, taken: false, places: new Map() };
    this.waiting.set(key, item);
    return item;
  }
}
