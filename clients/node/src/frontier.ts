import type { Plan } from "./client.js";
import type { Link } from "./messages.js";
import { Outlook } from "./outlook.js";

/** A URL that waits to be fetched, with what the caller keeps beside it. */
export interface Item<T> {
  key: string;
  /** Came with the link in the bucket the URL waits in. */
  ticket: Uint8Array;
  value: T;
}

interface Waiting<T> extends Item<T> {
  bucket: Bucket<T>;
  /** Among all that came into buckets. */
  number: number;
  /** The URL of one that was found while the server was away: where it waits is a guess. */
  guessed?: string | undefined;
}

/** What waits in a bucket, in the order it came; the name is empty of URLs the server does not know. */
class Bucket<T> {
  readonly items = new Set<Waiting<T>>();

  constructor(
    readonly name = "",
    public value = 0,
  ) {}

  get head(): Waiting<T> | undefined {
    const [first] = this.items;
    return first;
  }

  get age(): number {
    return this.head?.number ?? 0;
  }
}

/** What a frontier keeps of a scored link. */
export type Scored = Pick<Link, "bucket" | "bucketValue" | "ticket"> & Partial<Pick<Link, "score" | "url">>;

/** Asks which buckets come next: links that wait and that are under way; undefined without an answer. */
export type Ask = (
  waiting: Map<string, number>,
  inFlight: Map<string, number>,
) => Promise<Plan | undefined>;

/**
 * An in-memory queue that gives the best URL first: one first-in-first-out queue a bucket, seeds ahead of them, URLs
 * the server said nothing about behind them. A URL is given once. Call `done` when one that was given is answered: what is
 * under way counts when the next is chosen. While the server is away links go on by the rule of outages
 * (docs/reference/clients.md). A Session has one.
 */
export class Frontier<T> {
  /** Those that are not empty. */
  private readonly buckets = new Map<string, Bucket<T>>();
  private readonly seeds = new Bucket<T>();
  private readonly unknown = new Bucket<T>();
  private readonly waiting = new Map<string, Waiting<T>>();
  /** Links that wait without a score, by URL. */
  private readonly withoutScore = new Map<string, Waiting<T>>();
  private numbers = 0;
  /** URLs given and not done, with the bucket each was taken from. */
  private readonly underWay = new Map<string, string>();
  /** The bucket that the server says to take from now; or it granted none, and that is how it is until something is done. */
  private granted: string | undefined;
  private short = false;
  private turn: Promise<unknown> = Promise.resolve();

  /** What buckets are worth while the server is away. @internal */
  readonly outlook = new Outlook();

  constructor(private readonly plan: Ask) {}

  /** How many URLs wait. */
  get size(): number {
    return this.waiting.size;
  }

  has(key: string): boolean {
    return this.waiting.has(key);
  }

  addSeed(key: string, value: T): void {
    this.addTo(this.seeds, key, value);
  }

  addUnknown(key: string, value: T): void {
    this.addTo(this.unknown, key, value);
  }

  private addTo(bucket: Bucket<T>, key: string, value: T): Waiting<T> {
    return this.waiting.get(key) ?? this.place({ key, value, ticket: new Uint8Array(), bucket, number: 0 });
  }

  /**
   * Lets a link wait that was found while the server was away: where new links of its shape were found last, or, if there
   * was none, behind all others; true if it is a guess. It gets its score with the answer to its page.
   */
  addUnscored(key: string, url: string, value: T): boolean {
    if (this.waiting.has(key)) return false;
    const like = this.outlook.shape(url);
    const item = this.addTo(like.bucket ? this.bucket(like.bucket, like.value) : this.unknown, key, value);
    item.guessed = url;
    this.withoutScore.set(url, item);
    return !!like.bucket;
  }

  /**
   * Lets a link wait in the best of the buckets that one page gave it. One that waits, found again, moves to a bucket that
   * is worth more.
   */
  add(key: string, found: readonly Scored[], value: T): void {
    const best = found.reduce((a, b) => ((b.score ?? 0) > (a.score ?? 0) ? b : a));
    const worth = this.buckets.get(best.bucket)?.value ?? best.bucketValue;
    const item = this.waiting.get(key);
    const isNew = !item || item.guessed !== undefined;
    if (item && !isNew && worth <= item.bucket.value) return;
    // From where one found again was found now nothing is taken: it teaches nothing.
    if (isNew && best.url) this.outlook.placed(best.url, best.bucket, best.bucketValue);
    if (item) this.leave(item);
    const { ticket } = best;
    this.place({ key, value: item ? item.value : value, ticket, bucket: this.bucket(best.bucket, worth), number: 0 });
  }

  /** Gives a link that waits without a score its own; false if it does not. */
  rescore(url: string, found: readonly Scored[]): boolean {
    const item = this.withoutScore.get(url);
    if (item) this.add(item.key, found, item.value);
    return !!item;
  }

  /** The bucket that is worth most of those that are not empty, the older of equal ones, and its value. */
  bestBucket(): [string, number] | undefined {
    const [best] = [...this.buckets.values()]
      .map((bucket) => ({ bucket, worth: this.outlook.worth(bucket.name, bucket.value) }))
      .sort((a, b) => b.worth - a.worth || a.bucket.age - b.bucket.age);
    return best && [best.bucket.name, best.worth];
  }

  /**
   * Takes the URL to fetch now; undefined if none waits, or if none should be fetched before the next answer (`held`).
   * Those who ask take turns: each knows what those before it took.
   */
  next(): Promise<Item<T> | undefined> {
    const mine = this.turn.then(async () => {
      await this.rank();
      return this.taken();
    });
    this.turn = mine.catch(() => undefined);
    return mine;
  }

  /** Notes that what became of a URL that was given is known to the server, or never will be. */
  done(key: string): void {
    this.short = false;
    this.underWay.delete(key);
  }

  /** Whether a start page waits. */
  get hasSeeds(): boolean {
    return this.seeds.items.size > 0;
  }

  /** Whether something waits that should not be fetched before the next answer. */
  get held(): boolean {
    return this.short && !this.hasSeeds;
  }

  private async rank(): Promise<void> {
    if (this.short || !this.buckets.size) return;
    const byAge = [...this.buckets.values()].sort((a, b) => a.age - b.age);
    const inFlight = new Map<string, number>();
    for (const bucket of this.underWay.values()) if (bucket) inFlight.set(bucket, (inFlight.get(bucket) ?? 0) + 1);
    const plan = await this.plan(new Map(byAge.map(({ name, items }) => [name, items.size])), inFlight);
    for (const bucket of this.buckets.values()) bucket.value = plan?.values.get(bucket.name) ?? bucket.value;
    this.granted = [...(plan?.urls ?? [])].find(([, urls]) => urls > 0)?.[0];
    this.short = !!plan && this.granted === undefined && this.underWay.size > 0;
  }

  private taken(): Item<T> | undefined {
    if (this.held) return undefined;
    const best = this.buckets.get(this.granted ?? "") ?? this.buckets.get(this.bestBucket()?.[0] ?? "") ?? this.unknown;
    const from = this.hasSeeds ? this.seeds : best;
    const item = from.head;
    if (!item) return undefined;
    if (from.name) this.outlook.took(from.name);
    this.underWay.set(item.key, from.name);
    this.leave(item);
    return item;
  }

  private leave(item: Waiting<T>): void {
    if (item.guessed !== undefined) this.withoutScore.delete(item.guessed);
    item.bucket.items.delete(item);
    if (!item.bucket.items.size) this.buckets.delete(item.bucket.name);
    this.waiting.delete(item.key);
  }

  private bucket(name: string, value: number): Bucket<T> {
    const bucket = this.buckets.get(name) ?? new Bucket<T>(name, value);
    this.buckets.set(name, bucket);
    return bucket;
  }

  private place(item: Waiting<T>): Waiting<T> {
    item.number = ++this.numbers;
    item.bucket.items.add(item);
    this.waiting.set(item.key, item);
    return item;
  }
}
