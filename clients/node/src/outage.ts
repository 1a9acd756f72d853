/**
 * The rule of outages: how a crawl goes on while its server is away. Constants are those of docs/reference/clients.md, which all
 * adapters share.
 */

/** Links taken from a bucket nobody had tried that halve what it is thought to be worth. */
const TRUST = 16;
/** Shapes of URLs that are remembered: far more than a site has templates. */
const MAX_SHAPES = 4_096;

/** Keeps something for each of the shapes that were set last. */
class Recent<T> {
  private readonly values = new Map<string, T>(); // the one set last at the end

  get(shape: string): T | undefined {
    return this.values.get(shape);
  }

  set(shape: string, value: T): void {
    this.values.delete(shape);
    this.values.set(shape, value);
    if (this.values.size > MAX_SHAPES) this.values.delete(this.values.keys().next().value ?? "");
  }

  /** Changes all that is kept. */
  each(change: (value: T) => T): void {
    for (const [shape, value] of this.values) this.values.set(shape, change(value));
  }
}

/**
 * Fetches of a shape that brought a page, and those that did not; of the first those before the outage, and of both those
 * since it began.
 */
interface Fetches {
  fine: number;
  failed: number;
  before: number;
  since: number;
}

const NONE: Fetches = { fine: 0, failed: 0, before: 0, since: 0 };

/**
 * What was taken from each bucket, by which its last value is trusted while nobody renews it, and what became of the links
 * of each coarse shape: a server that is away learns of no failure.
 */
export class Outage {
  private readonly before = new Map<string, number>();
  private readonly since = new Map<string, number>();
  private readonly odds = new Recent<Fetches>();

  /** Notes whether a fetch brought a page. */
  answered(coarse: string, failed: boolean, away: boolean): void {
    const count = { ...(this.odds.get(coarse) ?? NONE) };
    count[failed ? "failed" : "fine"]++;
    if (away) count.since++;
    else count.before = count.fine;
    this.odds.set(coarse, count);
  }

  /** Notes that a link was taken from a bucket. */
  took(bucket: string, away: boolean): void {
    const taken = away ? this.since : this.before;
    taken.set(bucket, (taken.get(bucket) ?? 0) + 1);
  }

  /**
   * The last known value of a bucket; it fades by what was taken since the server was lost, the slower the more often it was
   * tried before, and with the share of fetches of the shape of the link at its head that failed. What counts is the bucket or
   * that shape, whichever was tried more: links of one kind may be in a bucket each.
   */
  worth(bucket: string, value: number, coarse: string): number {
    const { fine, failed, before, since } = this.odds.get(coarse) ?? NONE;
    const half = TRUST * (1 + Math.max(this.before.get(bucket) ?? 0, before));
    const arrives = (1 + fine) / (1 + fine + failed);
    return (value * arrives * half) / (half + Math.max(this.since.get(bucket) ?? 0, since));
  }

  /** Ends an outage; false if nothing was taken in one. */
  ends(): boolean {
    const was = this.since.size > 0;
    for (const [bucket, taken] of this.since) this.before.set(bucket, (this.before.get(bucket) ?? 0) + taken);
    this.since.clear();
    if (was) this.odds.each((count) => ({ ...count, before: count.fine, since: 0 }));
    return was;
  }
}

/** In which bucket the last new link of each shape of URL was: what a link found while the server is away is taken for. */
export class Guesses {
  private readonly buckets = new Recent<string>();

  note(url: string, bucket: string): void {
    for (const shape of shapes(url)) this.buckets.set(shape, bucket);
  }

  bucket(url: string): string | undefined {
    const [fine = "", coarse = ""] = shapes(url);
    return this.buckets.get(fine) ?? this.buckets.get(coarse);
  }
}

/**
 * A URL without what names one page: first fine, with runs of digits alike and only the keys of its query, then coarse,
 * where the last part of the path, and every part with a digit, is any.
 */
export function shapes(url: string): string[] {
  if (!URL.canParse(url)) return [];
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
