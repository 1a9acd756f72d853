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
  number: number;
  taken: boolean;
  places: string[];
}

/**
 * An in-memory queue that gives the best URL first: one first-in-first-out queue a bucket, seeds ahead of them, URLs
 * the server said nothing about behind them. A URL is given once. While the server is away the last order is kept.
 */
export class Frontier<T> {
  private readonly values = new Map<string, number>();
  private readonly queues = new Map<string, Waiting<T>[]>();
  private readonly waiting = new Map<string, Waiting<T>>();
  private seeds: Waiting<T>[] = [];
  private unknown: Waiting<T>[] = [];
  private numbers = 0;
  private since = 0;

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
    this.seeds.push(this.made(key, new Uint8Array(), value));
  }

  addUnknown(key: string, value: T): void {
    this.unknown.push(this.made(key, new Uint8Array(), value));
  }

  /** Lets a scored link wait in its bucket; one that waits already, found again elsewhere, waits there too. */
  add(key: string, link: { bucket: string; bucketValue: number; ticket: Uint8Array }, value: T): void {
    const item = this.waiting.get(key) ?? this.made(key, link.ticket, value);
    if (item.places.length >= MAX_PLACES || item.places.includes(link.bucket)) return;
    item.places.push(link.bucket);
    const queue = this.queues.get(link.bucket);
    if (queue) queue.push(item);
    else this.queues.set(link.bucket, [item]);
    if (!this.values.has(link.bucket)) this.values.set(link.bucket, link.bucketValue);
  }

  /** Takes the URL to fetch now; undefined if none waits. */
  async next(): Promise<Item<T> | undefined> {
    await this.rank();
    return this.take(this.seeds) ?? this.best() ?? this.take(this.unknown);
  }

  private async rank(): Promise<void> {
    if (++this.since < this.every || this.queues.size < 2 || !this.breaker.allows()) return;
    this.since = 0;
    try {
      const crawl = await this.crawl();
      for (const [bucket, value] of await crawl.rankBuckets([...this.queues.keys()])) this.values.set(bucket, value);
      this.breaker.done();
    } catch (thrown) {
      this.breaker.done(LinkscoreError.from(thrown));
    }
  }

  private best(): Item<T> | undefined {
    let best: { value: number; head: Waiting<T> } | undefined;
    for (const [bucket, queue] of this.queues) {
      while (queue[0]?.taken) queue.shift();
      const head = queue[0];
      if (!head) {
        this.queues.delete(bucket);
        continue;
      }
      const value = this.values.get(bucket) ?? 0;
      if (!best || value > best.value || (value === best.value && head.number < best.head.number)) best = { value, head };
    }
    return best && this.leave(best.head);
  }

  private take(queue: Waiting<T>[]): Item<T> | undefined {
    for (let item = queue.shift(); item; item = queue.shift()) {
      if (!item.taken) return this.leave(item);
    }
    return undefined;
  }

  private leave(item: Waiting<T>): Item<T> {
    item.taken = true;
    if (this.waiting.get(item.key) === item) this.waiting.delete(item.key);
    return item;
  }

  private made(key: string, ticket: Uint8Array, value: T): Waiting<T> {
    const item = { key, ticket, value, number: ++this.numbers, taken: false, places: [] };
    this.waiting.set(key, item);
    return item;
  }
}
