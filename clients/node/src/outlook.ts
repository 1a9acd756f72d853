// The rule of outages (docs/reference/clients.md): links taken of a shape nobody had tried that halve what they are worth,
// and shapes of URLs that are remembered.
const TRUST = 16;
const MAX_SHAPES = 4_096;

/** Where links of one shape were found last, and what became of them. */
interface Shape {
  bucket: string;
  value: number;
  /** Fetches that brought a page, and all; pages before the outage, and links taken since it began. */
  pages: number;
  all: number;
  before: number;
  since: number;
}

/** What a crawl knows of URL shapes, for when the server says nothing. */
export class Outlook {
  private away = false;
  private readonly shapes = new Map<string, Shape>();
  /** That of the link found last, by bucket. */
  private readonly of = new Map<string, Shape>();

  setAway(away: boolean): void {
    this.away = away;
    for (const shape of this.shapes.values()) [shape.before, shape.since] = [shape.pages, 0];
  }

  /** That of a URL; its bucket is empty if no link of it was found. */
  shape(url: string): Shape {
    const name = shapeOf(url);
    const shape = this.shapes.get(name) ?? { bucket: "", value: 0, pages: 0, all: 0, before: 0, since: 0 };
    this.shapes.delete(name);
    this.shapes.set(name, shape); // the one used last at the end
    if (this.shapes.size > MAX_SHAPES) this.shapes.delete(this.shapes.keys().next().value ?? "");
    return shape;
  }

  /** Notes the bucket of a link that is new to the crawl: from others nothing is taken where they were found now. */
  placed(url: string, bucket: string, value: number): void {
    this.of.set(bucket, Object.assign(this.shape(url), { bucket, value }));
  }

  fetched(url: string, failed: boolean): void {
    const shape = this.shape(url);
    shape.pages += Number(!failed);
    shape.all++;
  }

  took(bucket: string): void {
    const shape = this.of.get(bucket);
    if (this.away && shape) shape.since++;
  }

  /** What is left of the last known value of a bucket. */
  worth(bucket: string, value: number): number {
    const shape = this.of.get(bucket);
    if (!this.away || !shape) return value;
    const half = TRUST * (1 + shape.before);
    return (((value * (1 + shape.pages)) / (1 + shape.all)) * half) / (half + shape.since);
  }
}

/**
 * A URL without what names one page: the last part of the path is any but for a word before digits, every part with a digit
 * is, and of the query there are the keys.
 */
export function shapeOf(url: string): string {
  if (!URL.canParse(url)) return url;
  const { host, pathname, searchParams } = new URL(url);
  const parts = pathname.split("/");
  const last = parts.findLastIndex(Boolean);
  const lastOf = (part: string) => `${/^[a-z]+[-_]?(?=\d)/i.exec(part)?.[0] ?? ""}*${/\.[a-z]{2,5}$/.exec(part)?.[0] ?? ""}`;
  const any = parts.map((part, i) => (i === last ? lastOf(part) : /\d/.test(part) ? "#" : part));
  const keys = [...searchParams.keys()].map((key) => key.replace(/\d+/g, "#"));
  return `${host}${any.join("/")}?${[...new Set(keys)].sort().join("&")}`;
}
