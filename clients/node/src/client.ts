import { existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { randomUUID } from "node:crypto";

import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  fromJson,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client as Channel, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";

import { Code, LinkscoreError } from "./errors.js";
import { BrowseLogService } from "./gen/linkscore/v1/browse_log_service_pb.js";
import { ItemCode, type ItemStatus, type LinkScores } from "./gen/linkscore/v1/common_pb.js";
import { BudgetSchema, CrawlSchema, CrawlService, type ExamplePage, ExamplePageSchema, type GetCrawlResponse } from "./gen/linkscore/v1/crawl_service_pb.js";
import { InspectionService } from "./gen/linkscore/v1/inspection_service_pb.js";
import {
  LinkScoringService,
  type PageResult,
  type RankBucketsResponse,
} from "./gen/linkscore/v1/link_scoring_service_pb.js";
import { SiteModelService } from "./gen/linkscore/v1/site_model_service_pb.js";
import { checkNames, crawlName, named, type Link, type Page, pageMessage, type Places, type Policy, policySpec, rows, type Wanted, wantedMessage } from "./messages.js";

export const VERSION = "0.1.0";

/** What the server accepts in one message: a page may have 8 MiB, a call 500 pages. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const DEFAULT_TIMEOUT_MS = 10_000;
// gRPC's own wait between attempts to connect, which else grows to two minutes.
const MAX_RECONNECT_MS = 5_000;
const KEEPALIVE_MS = 10_000;
const KEEPALIVE_TIMEOUT_MS = 5_000;

// UNAVAILABLE is the only status after which a call can be repeated without knowing what it does; the server takes an
// event id once, so that repeating IngestPages is safe.
const SERVICE_CONFIG = `{"methodConfig": [{"name": [{}], "retryPolicy": {"maxAttempts": 4, "initialBackoff": "0.1s",
"maxBackoff": "2s", "backoffMultiplier": 2, "retryableStatusCodes": ["UNAVAILABLE"]}}]}`;

const DAY_MS = 86_400_000;

export interface ClientOptions {
  /** Address of the server; localhost:7411 if absent. */
  target?: string | undefined;
  /** true for the system's roots, or PEM: of the authority (or a file with it), and of the client if the server asks for one. */
  tls?: boolean | { ca?: Buffer; caFile?: string; cert?: Buffer; key?: Buffer } | undefined;
  /** Bearer token sent with every call. */
  token?: string | undefined;
  /** File that holds it, read at every call, so that it may be rotated; while it is missing or empty the last token is sent. */
  tokenFile?: string | undefined;
  /** Deadline of a unary call, 10,000 if absent. */
  timeoutMs?: number | undefined;
}

const OPTIONS = ["target", "tls", "token", "tokenFile", "timeoutMs"] as const satisfies (keyof ClientOptions)[];

/** How far a crawl may go, by the names of the message; what is not set has no bound. */
export type Budget = { [field in Exclude<keyof MessageInitShape<typeof BudgetSchema>, `$${string}`>]?: number };

/** What a crawl is made with; what is absent is left to the server, or to the crawl that is there. */
export interface CrawlOptions {
  policy?: Policy | undefined;
  wanted?: Wanted | undefined;
  /** Bounds at which the crawl ends by itself. */
  budget?: Budget | undefined;
  /** Pages like those wanted: URL, or `URL=FILE` with the HTML; a crawl that is there gets those it lacks. */
  examples?: readonly string[] | undefined;
}

export const CRAWL_OPTIONS = ["policy", "wanted", "budget", "examples"] as const satisfies (keyof CrawlOptions)[];

const SERVICES = {
  links: LinkScoringService,
  crawls: CrawlService,
  sites: SiteModelService,
  browseLogs: BrowseLogService,
  inspection: InspectionService,
};

export interface CallOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

type Unary<M> = M extends DescMethodUnary<infer I, infer O>
  ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
  : never;

/** One function for each unary method of a service. */
export type Stub<S extends DescService> = {
  [K in keyof S["method"] as S["method"][K] extends DescMethodUnary ? K : never]: Unary<S["method"][K]>;
};

/** What the server says of one page. */
export interface Result {
  /** Scored links, in the order of `outlinks`, or of the document when the server found them. */
  links: Link[];
  /** The rest: status, cluster, page type, thread. */
  message: PageResult;
}

/** What buckets are worth, and how many links of each to fetch. */
export interface Plan {
  values: Map<string, number>;
  urls: Map<string, number>;
}

/** A connection to a server. Every method throws LinkscoreError. */
export class Client {
  /** Generated stubs for everything that has no method here; they carry token and deadline too. */
  readonly stubs: { [name in keyof typeof SERVICES]: Stub<(typeof SERVICES)[name]> };

  /** Address of the server. */
  readonly target: string;

  private readonly channel: Channel;
  private readonly secret: () => Promise<string | undefined>;
  private readonly timeoutMs: number;

  constructor(options: ClientOptions = {}) {
    checkNames(options, OPTIONS);
    const { target = "localhost:7411", tls = false, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    checkTarget(target);
    checkTimeout(timeoutMs);
    if (typeof tls === "object") checkNames(tls, ["ca", "caFile", "cert", "key"]);
    else if (typeof tls !== "boolean") throw new TypeError("linkscore: tls must be true or an object of ca or caFile, cert and key");
    if (!/^[ -~]*$/.test(options.token ?? "")) throw new TypeError("linkscore: token must be one line of ASCII characters");
    this.target = target;
    const { caFile, ca = caFile ? readFileSync(caFile) : null, key = null, cert = null } = typeof tls === "object" ? tls : {};
    this.channel = new Channel(target, tls ? credentials.createSsl(ca, key, cert) : credentials.createInsecure(), {
      "grpc.service_config": SERVICE_CONFIG,
      "grpc.enable_retries": 1,
      "grpc.keepalive_time_ms": KEEPALIVE_MS,
      "grpc.keepalive_timeout_ms": KEEPALIVE_TIMEOUT_MS,
      "grpc.max_reconnect_backoff_ms": MAX_RECONNECT_MS,
      "grpc.max_send_message_length": MAX_MESSAGE_BYTES,
      "grpc.max_receive_message_length": MAX_MESSAGE_BYTES,
      "grpc.primary_user_agent": `linkscore-node/${VERSION}`,
    });
    this.timeoutMs = timeoutMs;
    this.secret = secretOf(options);
    const stubs = Object.entries(SERVICES).map(([name, service]) => [name, this.stub(service)]);
    this.stubs = Object.fromEntries(stubs) as Client["stubs"];
  }

  private stub(service: DescService): object {
    const unary = service.methods.filter((method) => method.methodKind === "unary");
    return Object.fromEntries(
      unary.map((method) => [
        method.localName,
        (request: Record<string, unknown>, options?: CallOptions) => this.call(method as DescMethodUnary, request, options),
      ]),
    );
  }

  private async call(method: DescMethodUnary, request: Record<string, unknown>, options: CallOptions = {}): Promise<object> {
    const metadata = new Metadata();
    const secret = await this.secret();
    if (secret) metadata.set("authorization", `Bearer ${secret}`);
    const { signal, timeoutMs = this.timeoutMs } = options;
    return new Promise<object>((resolve, reject) => {
      const done = (error: ServiceError | null, answer?: object) => {
        signal?.removeEventListener("abort", abort);
        if (error) reject(LinkscoreError.from(error));
        else resolve(answer as object);
      };
      const call = this.channel.makeUnaryRequest(
        `/${method.parent.typeName}/${method.name}`,
        (message: MessageShape<DescMessage>) => Buffer.from(toBinary(method.input, message)),
        (bytes) => fromBinary(method.output, bytes) as object,
        create(method.input, request),
        metadata,
        { deadline: Date.now() + timeoutMs },
        done,
      );
      const abort = () => call.cancel();
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
    });
  }

  /** Ends the connection; calls under way fail. */
  close(): void {
    this.channel.close();
  }

  /** A handle of a crawl that exists; asks the server nothing. */
  crawl(id: string): Crawl {
    return new Crawl(this, crawlName(id));
  }

  /**
   * Creates a crawl, or takes the one there is, which then gets what is given here: policy, wanted, budget, examples. With
   * `wanted` and no policy a new crawl is scored by `topic`.
   */
  async ensureCrawl(id: string, options: CallOptions & CrawlOptions = {}): Promise<Crawl> {
    checkNames(options, [...CRAWL_OPTIONS, "timeoutMs", "signal"]);
    const { name } = this.crawl(id);
    const policy = policySpec(options.policy);
    const wanted = options.wanted === undefined ? undefined : wantedMessage(options.wanted);
    const budget = named("budget", options.budget, (given) => given && fromJson(BudgetSchema, given));
    if (!Array.isArray(options.examples ?? [])) throw new TypeError("linkscore: examples must be a list of URL or URL=FILE");
    const examples = named("examples", options.examples ?? [], (given) => given.map(exampleMessage));
    const given = { ...(policy ? { policy } : {}), ...(wanted ? { wanted } : {}), ...(budget ? { budget } : {}) };
    const config = create(CrawlSchema, { name, examples, ...given });
    const { crawls } = this.stubs;
    await crawls.createCrawl({ crawl: config }, options).catch(async (error: LinkscoreError) => {
      if (error.code !== Code.ALREADY_EXISTS) throw error;
      await crawls.updateCrawl({ crawl: config }, options);
    });
    return this.crawl(id);
  }
}

/** A crawl of the server, by resource name. */
export class Crawl {
  constructor(
    readonly client: Client,
    readonly name: string,
  ) {}

  /** The crawl as the server has it, and the version of that. */
  get(options?: CallOptions): Promise<GetCrawlResponse> {
    return this.client.stubs.crawls.getCrawl({ name: this.name }, options);
  }

  /** Sends fetched pages; a result for each, in order. Send all links of a page and cut after scoring. */
  async ingest(pages: Iterable<Page>, options?: CallOptions): Promise<Result[]> {
    const request = { crawl: this.name, pages: [...pages].map(pageMessage) };
    const answer = await this.client.stubs.links.ingestPages(request, options);
    if (answer.results.length !== request.pages.length) throw odd("it has another number of results than pages were sent");
    return answer.results.map((message) => ({ links: readable(message.links), message }));
  }

  /** Reports a fetch that brought no page. */
  async failed(page: Pick<Page, "url" | "statusCode" | "fetchError" | "ticket">, options?: CallOptions): Promise<void> {
    const fetchError = page.fetchError ?? (page.statusCode ? "" : "unknown");
    await this.ingest([{ ...page, fetchError }], options);
  }

  /**
   * The value of each bucket now, and how many links of each to fetch before asking again. These may be fewer than asked
   * for, none even: wait for the next answer then.
   */
  async rankBuckets({ waiting, inFlight = new Map(), n = 0 }: Places, options?: CallOptions): Promise<Plan> {
    const buckets = [...waiting.keys()];
    const underWay = Array.from(inFlight, ([bucket, count]) => ({ bucket, count }));
    const asked = { crawl: this.name, buckets, waiting: [...waiting.values()], inFlight: underWay, n };
    const { order, values, urls } = orderly(await this.client.stubs.links.rankBuckets(asked, options), buckets.length);
    const named = (column: readonly number[]) => new Map(order.map((at, i) => [buckets[at] ?? "", column[i] ?? 0]));
    return { values: named(values), urls: named(urls) };
  }

  /** Reports what a page was worth, in [0, 1]; the last report counts. */
  async reward(page: { url: string; ticket?: Uint8Array }, worth: number, options: CallOptions & { eventId?: string } = {}): Promise<void> {
    const { eventId = randomUUID(), ...call } = options;
    const feedback = [{ eventId, ...page, outcome: { case: "reward" as const, value: worth } }];
    const { statuses } = await this.client.stubs.links.reportFeedback({ crawl: this.name, feedback }, call);
    for (const status of statuses) checked(status);
  }
}

/** Refuses what is no host:port; names that a resolver of gRPC reads, such as dns:///host:port, pass. */
function checkTarget(target: string): void {
  if (/^(dns|unix|ipv4|ipv6):/.test(target) || /^([^:\s/@]+|\[[^\]\s]+\]):([1-5]?\d{1,4}|6[0-5]\d{3})$/.test(target)) return;
  throw new TypeError(`target ${JSON.stringify(target)}: give host:port without a scheme, for example localhost:7411`);
}

/** Refuses what is no deadline: a day at most, a bound. */
export function checkTimeout(timeoutMs: unknown): void {
  if (typeof timeoutMs !== "number" || !(timeoutMs >= 1 && timeoutMs <= DAY_MS)) {
    throw new TypeError(`linkscore: timeoutMs must be a number from 1 to ${DAY_MS}, got ${String(timeoutMs)}`);
  }
}

function secretOf({ token, tokenFile }: ClientOptions): () => Promise<string | undefined> {
  let last = token;
  return async () => {
    if (!tokenFile) return token;
    try {
      last = (await readFile(tokenFile, "utf8")).trim() || last;
    } catch (error) {
      if (last === undefined) throw new TypeError(`linkscore: tokenFile: ${String(error)}`);
    }
    return last;
  };
}

function readable(links: LinkScores | undefined): Link[] {
  if (!links) return [];
  const { scores, urls, buckets, tickets, verdicts, inScope, skipReasons } = links;
  const columns = [urls, buckets, tickets, verdicts, inScope, skipReasons];
  if (columns.some(({ length }) => length && length !== scores.length)) throw odd("a column has another length than scores");
  const { length } = links.bucketNames;
  if (links.bucketValues.length !== length || buckets.some((at) => at >= length) || tickets.some((at) => at >= links.ticketValues.length))
    throw odd("a bucket or ticket is not there");
  if (links.ticketValues.some(({ length }) => length > 64)) throw odd("a ticket has more than 64 bytes");
  if (![...scores, ...links.bucketValues].every(Number.isFinite)) throw odd("a number is not finite");
  return rows(links);
}

function orderly(answer: RankBucketsResponse, asked: number): RankBucketsResponse {
  const { order, values, urls } = answer;
  const fits = values.length === order.length && (!urls.length || urls.length === order.length);
  if (!fits || new Set(order).size < order.length || order.some((at) => at >= asked) || !values.every(Number.isFinite)) throw odd("its order is none of what was asked");
  return answer;
}

function odd(why: string): LinkscoreError {
  return new LinkscoreError(`the server's answer cannot be read: ${why}`, Code.INTERNAL);
}

/** The message of an example that is given as URL, or as `URL=FILE`. */
function exampleMessage(given: string): ExamplePage {
  const at = given.lastIndexOf("=");
  const name = given.slice(at + 1);
  if (at < 0 || !(existsSync(name) || name.endsWith(".html"))) return create(ExamplePageSchema, { url: given });
  return create(ExamplePageSchema, { url: given.slice(0, at), body: readFileSync(name) });
}

/** Throws if an item of a batch was refused. */
export function checked(status: ItemStatus | undefined): void {
  if (status?.code !== ItemCode.INVALID) return;
  const violations = status.problems.map(({ field, description }) => ({ field, description }));
  const text = violations.map(({ field, description }) => `${field}: ${description}`).join("; ");
  throw new LinkscoreError(text, Code.INVALID_ARGUMENT, violations);
}
