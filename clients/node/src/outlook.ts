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

/**
 * A URL without what names one page: first fine, with runs of digits alike and only the keys of its query, then coarse,
 * where the last part of the path, and every part with a digit, is any.
 */
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
