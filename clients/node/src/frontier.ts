import type { Plan as Answer } from "./client.js";
import type { Link } from "./messages.js";
import { Outlook } from "./outlook.js";

/** How many buckets a URL that was found several times may wait in at once. */
const MAX_PLACES = 4;

/** A URL that waits to be fetched, with what the caller keeps beside it. */
export interface Item<T> {
  key: string;
  ticket: Uint8Array;
  value: T;
}

interface Waiting<T> extends Item<T> {
  /** Its place in each bucket it waits in, numbered in the order they came; the ticket there is given when it is taken. */
  places: Map<Bucket<T>, { number: number; ticket: Uint8Array }>;
  /** The URL of one that was found while the server was away: where it waits is a guess. */
  guessed?: string | undefined;
}

/** What waits in a bucket: URLs that are scored, and behind them those that are guessed to belong there. */
class Bucket<T> {
  readonly scored = new Set<Waiting<T>>();
  readonly guessed = new Set<Waiting<T>>();

  /** The name is empty of URLs the server does not know. */
  constructor(
    readonly name = "",
    public value = 0,
  ) {}

  get size(): number {
    return this.scored.size + this.guessed.size;
  }

  get head(): Waiting<T> | undefined {
    const [first] = this.scored.size ? this.scored : this.guessed;
    return first;
  }

  get age(): number {
    return this.head?.places.get(this)?.number ?? 0;
  }
}

/** What a frontier keeps of a scored link. */
export type Scored = Pick<Link, "url" | "score" | "bucket" | "bucketValue" | "ticket">;

/** Asks which buckets come next: links that wait and that are under way; undefined without an answer. */
export type Plan = (
  waiting: Map<string, number>,
  inFlight: Map<string, number>,
) => Promise<Answer | undefined>;

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

  constructor(private readonly plan: Plan) {}

  /** How many URLs wait. */
  get size(): number {
    return this.waiting.size;
  }

  has(key: string): boolean {
    return this.waiting.has(key);
  }

  addSeed(key: string, value: T): void {
    this.place(this.made(key, value), this.seeds);
  }

  addUnknown(key: string, value: T): void {
    this.place(this.made(key, value), this.unknown);
  }

  /**
   * Lets a link wait that was found while the server was away: where new links of its shape were found last, behind all
   * that were scored, or, if there was none, behind all others; true if it is a guess. It gets its score with
   * the answer to its page.
   */
  addUnscored(key: string, url: string, value: T): boolean {
    if (this.waiting.has(key)) return false;
    const item = this.made(key, value);
    item.guessed = url;
    this.withoutScore.set(url, item);
    const like = this.outlook.guess(url);
    this.place(item, like ? this.bucket(like.bucket, like.value) : this.unknown);
    return !!like;
  }

  /** Lets a link wait in each bucket that one page gave it; one that waits already, found again elsewhere, waits there too. */
  add(key: string, found: readonly Scored[], value: T): void {
    this.score(this.waiting.get(key) ?? this.made(key, value), found);
  }

  /** Gives a link that waits without a score its own; false if it does not. */
  rescore(url: string, found: readonly Scored[]): boolean {
    const item = this.withoutScore.get(url);
    if (item) this.score(item, found);
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
    return this.seeds.size > 0;
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
    const plan = await this.plan(new Map(byAge.map(({ name, size }) => [name, size])), inFlight);
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
    item.ticket = item.places.get(from)?.ticket ?? new Uint8Array();
    if (from.name) this.outlook.took(from.name);
    this.underWay.set(item.key, from.name);
    this.leave(item);
    if (this.waiting.get(item.key) === item) this.waiting.delete(item.key);
    return item;
  }

  /** Takes an item out of all queues. */
  private leave(item: Waiting<T>): void {
    if (item.guessed !== undefined) this.withoutScore.delete(item.guessed);
    item.guessed = undefined;
    for (const bucket of item.places.keys()) {
      bucket.scored.delete(item);
      bucket.guessed.delete(item);
      if (!bucket.size) this.buckets.delete(bucket.name);
    }
    item.places.clear();
  }

  private score(item: Waiting<T>, found: readonly Scored[]): void {
    if (item.guessed !== undefined) this.leave(item);
    if (!item.places.size) { // one found again is not taken from where it was found now, and teaches nothing
      const best = found.reduce((a, b) => (b.score > a.score ? b : a));
      this.outlook.placed(best.url, { bucket: best.bucket, value: best.bucketValue });
    }
    for (const { bucket: name, bucketValue, ticket } of found) {
      const there = this.buckets.get(name);
      if (item.places.size < MAX_PLACES && !(there && item.places.has(there))) this.place(item, this.bucket(name, bucketValue), ticket);
    }
  }

  private bucket(name: string, value: number): Bucket<T> {
    const bucket = this.buckets.get(name) ?? new Bucket<T>(name, value);
    this.buckets.set(name, bucket);
    return bucket;
  }

  private place(item: Waiting<T>, bucket: Bucket<T>, ticket: Uint8Array = new Uint8Array()): void {
    item.places.set(bucket, { number: ++this.numbers, ticket });
    (item.guessed === undefined ? bucket.scored : bucket.guessed).add(item);
  }

  private made(key: string, value: T): Waiting<T> {
    const item = { key, ticket: new Uint8Array(), value, places: new Map() };
    this.waiting.set(key, item);
    return item;
  }
}
