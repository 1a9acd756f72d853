import type { Plan } from "./client.js";
import type { Link, Places } from "./messages.js";

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

/**
 * An in-memory queue that gives the best URL first, once: a queue a bucket, seeds ahead of them, URLs the server said nothing
 * about behind them. What was given is under way until `done`. Outages: docs/reference/clients.md. A Session has one.
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

  /** `plan` asks which buckets come next; undefined without an answer. */
  constructor(private readonly plan: (places: Places) => Promise<Plan | undefined>) {}

  /** How many URLs wait. */
  get size(): number {
    return this.waiting.size;
  }

  has(key: string): boolean {
    return this.waiting.has(key);
  }

  addSeed(key: string, value: T): void {
    if (!this.waiting.has(key)) this.place(this.made(key, value), this.seeds);
  }

  addUnknown(key: string, value: T): void {
    if (!this.waiting.has(key)) this.place(this.made(key, value), this.unknown);
  }

  /**
   * Lets a link wait that was found in an outage: where new links of its shape were found last, behind all that were
   * scored, else behind all others; true if it is a guess. It gets its score with the answer to its page.
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
    const plan = await this.plan({ waiting: new Map(byAge.map(({ name, size }) => [name, size])), inFlight, n: 1 });
    for (const bucket of this.buckets.values()) bucket.value = plan?.values.get(bucket.name) ?? bucket.value;
    this.granted = [...(plan?.urls ?? [])].find(([, urls]) => urls > 0)?.[0];
    this.short = !!plan && this.granted === undefined && this.underWay.size > 0;
  }

  private taken(): Item<T> | undefined {
    if (this.held) return undefined;
    const best = this.buckets.get(this.granted ?? "") ?? this.best() ?? this.unknown;
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

  /** The bucket that is worth most, of equal ones the older. */
  private best(): Bucket<T> | undefined {
    const worth = ({ name, value }: Bucket<T>) => this.outlook.worth(name, value);
    return [...this.buckets.values()].sort((a, b) => worth(b) - worth(a) || a.age - b.age)[0];
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

// The rule of outages (docs/reference/clients.md): links taken from a bucket nobody had tried that halve what it is worth,
// and shapes of URLs that are remembered.
const TRUST = 16;
const MAX_SHAPES = 4_096;

/** Links taken from a bucket; or of a shape, fetches that brought a page, and all: before the outage, and links taken since. */
interface Tries {
  pages: number;
  all: number;
  before: number;
  since: number;
}

const NONE: Readonly<Tries> = { pages: 0, all: 0, before: 0, since: 0 };

/** Where a link was found last, and what its bucket was worth then. */
export interface Guess {
  bucket: string;
  value: number;
}

/** What was taken from each bucket, and where new links of each shape were found last. */
export class Outlook {
  private away = false;
  private readonly found = new Map<string, Guess>();
  /** The coarse shape of the link found last, by bucket; and what became of fetches of such shapes. */
  private readonly shapeOf = new Map<string, string>();
  private readonly tried = new Map<string, Tries>();
  private readonly takenOf = new Map<string, Tries>();

  setAway(away: boolean): void {
    this.away = away;
    for (const tries of [...this.tried.values(), ...this.takenOf.values()]) [tries.before, tries.since] = [tries.pages, 0];
  }

  /** Notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now. */
  placed(url: string, guess: Guess): void {
    const both = shapes(url);
    for (const shape of both) remember(this.found, shape, guess);
    this.shapeOf.set(guess.bucket, both[1]);
  }

  fetched(url: string, failed: boolean): void {
    const tries = this.tries(shapes(url)[1]);
    tries.pages += Number(!failed);
    tries.all++;
  }

  /** Where links like this one were found last. */
  guess(url: string): Guess | undefined {
    const [fine, coarse] = shapes(url);
    return this.found.get(fine) ?? this.found.get(coarse);
  }

  took(bucket: string): void {
    const own = this.takenOf.get(bucket) ?? { ...NONE };
    this.takenOf.set(bucket, own);
    own.pages++;
    if (!this.away) return;
    own.since++;
    this.tries(this.shapeOf.get(bucket) ?? "").since++;
  }

  /** What is left of the last known value of a bucket. */
  worth(bucket: string, value: number): number {
    if (!this.away) return value;
    const own = this.takenOf.get(bucket) ?? NONE;
    const like = this.tried.get(this.shapeOf.get(bucket) ?? "") ?? NONE;
    const half = TRUST * (1 + Math.max(own.before, like.before));
    return (((value * (1 + like.pages)) / (1 + like.all)) * half) / (half + Math.max(own.since, like.since));
  }

  private tries(coarse: string): Tries {
    const tries = this.tried.get(coarse) ?? { ...NONE };
    remember(this.tried, coarse, tries);
    return tries;
  }
}

/** Keeps something for each of the shapes that were set last. */
function remember<T>(values: Map<string, T>, shape: string, value: T): void {
  values.delete(shape);
  values.set(shape, value); // the one set last at the end
  if (values.size > MAX_SHAPES) values.delete(values.keys().next().value ?? "");
}

/** A URL without what names one page: digits alike and keys alone of its query, then with any last part of the path too. */
export function shapes(url: string): [string, string] {
  if (!URL.canParse(url)) return [url, url];
  const { host, pathname, search } = new URL(url);
  const parts = pathname.split("/");
  const last = parts.findLastIndex(Boolean);
  const any = parts.map((part, i) => (i === last ? `*${/\.[a-z]{2,5}$/.exec(part)?.[0] ?? ""}` : /\d/.test(part) ? "#" : part));
  const query = keysOf(search.slice(1));
  return [`${host}${numbered(pathname)}${query}`, `*${host}${any.join("/")}${query}`];
}

function numbered(text: string): string {
  return text.replace(/\d+/g, "#");
}

/** What is left of a query: its keys in order, each once. */
function keysOf(query: string): string {
  if (!query) return "";
  const keys = query.split("&").map((pair) => numbered(pair.split("=")[0] ?? ""));
  return `?${[...new Set(keys)].sort().join("&")}`;
}
