import { create, type DescMethod, fromBinary, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { type Metadata, Server, ServerCredentials, type ServerUnaryCall, status as Code, type UntypedServiceImplementation } from "@grpc/grpc-js";

import { Decision, ItemCode, type LinkScores, type Page } from "../src/gen/linkscore/v1/common_pb.js";
import { type Crawl, CrawlSchema, CrawlService } from "../src/gen/linkscore/v1/crawl_service_pb.js";
import { LinkScoringService, PageResultSchema, type RankBucketsRequest } from "../src/gen/linkscore/v1/link_scoring_service_pb.js";

const { ingestPages, rankBuckets, reportFeedback } = LinkScoringService.method;
const { createCrawl, getCrawl, updateCrawl } = CrawlService.method;

/** What a call fails with. */
export interface Failure {
  code: Code;
  details?: string;
  metadata?: Metadata;
}

/** A server that answers as scripted and remembers what it was asked. Links to /good are worth .9, others .1. */
export class Fake {
  readonly ingested: Page[] = [];
  readonly rewards: { url: string; worth: number; ticket: string }[] = [];
  readonly deadlinesMs: number[] = [];
  readonly tokens: unknown[] = [];
  /** The crawl that is there. */
  crawl: Crawl | undefined;
  /** Errors the next calls fail with. */
  readonly failures: Failure[] = [];
  /** What calls of a name fail with, until it is taken out. */
  readonly refuses = new Map<string, Failure>();
  /** Names of all calls. */
  readonly calls: string[] = [];
  /** Called with every page that is taken in. */
  onPage: (pages: number) => void = () => undefined;
  /** Changes what is said of the links of a page. */
  spoil: (links: LinkScores) => void = () => undefined;
  /** Fetches of the budget of the crawl; absent: it has none. */
  most: number | undefined;
  /** Links of each bucket that RankBuckets hands out; absent: all go to the best. */
  handsOut: ((request: RankBucketsRequest) => number[]) | undefined;
  private readonly server = new Server({ "grpc.max_receive_message_length": 64 << 20 });

  async start(): Promise<string> {
    const methods: UntypedServiceImplementation = {};
    const definition: Record<string, object> = {};
    const add = (method: DescMethod, handler: (...args: never[]) => void) => {
      definition[method.name] = {
        path: `/${method.parent.typeName}/${method.name}`,
        requestStream: false,
        responseStream: false,
        requestDeserialize: (bytes: Buffer) => fromBinary(method.input, bytes),
        responseSerialize: (answer: object) => Buffer.from(toBinary(method.output, create(method.output, answer as never))),
      };
      methods[method.name] = handler as never;
    };
    const unary = <M extends DescMethod, Q>(method: M, answer: (request: Q) => MessageInitShape<M["output"]>) =>
      add(method, (call: ServerUnaryCall<Q, object>, reply: (error: Failure | null, answer?: object) => void) => {
        this.tokens.push(...call.metadata.get("authorization"));
        this.deadlinesMs.push(Number(call.getDeadline()) - Date.now());
        const taken = method.name === createCrawl.name && this.crawl ? { code: Code.ALREADY_EXISTS } : undefined;
        this.calls.push(method.name);
        const failure = this.refuses.get(method.name) ?? this.failures.shift() ?? taken;
        if (failure) reply(failure);
        else reply(null, answer(call.request) as object);
      });
    unary(createCrawl, ({ crawl }: { crawl: Crawl }) => ({ crawl: (this.crawl = crawl) }));
    unary(getCrawl, () => ({ crawl: this.crawl ?? create(CrawlSchema), serverVersion: "1.2.3" }));
    unary(updateCrawl, ({ crawl }: { crawl: Crawl }) => ({ crawl: (this.crawl = crawl.wanted ? crawl : this.crawl) }));
    unary(ingestPages, ({ pages }: { pages: Page[] }) => {
      this.ingested.push(...pages);
      this.onPage(this.ingested.length);
      const results = pages.map((page) =>
        create(PageResultSchema, { links: scored(page), eventSeq: BigInt(this.ingested.length), ...this.standing() }),
      );
      for (const { links } of results) if (links) this.spoil(links);
      return { results };
    });
    unary(rankBuckets, (request: RankBucketsRequest) => ({
      order: request.buckets.map((_, i) => i),
      values: request.buckets.map((name) => (name.startsWith("good") ? 0.9 : 0.1)),
      urls: this.handsOut?.(request) ?? best(request),
    }));
    unary(reportFeedback, ({ feedback }: { feedback: { url: string; ticket: Uint8Array; outcome: { value: number } }[] }) => ({
      statuses: feedback.map(({ url, ticket, outcome }) => {
        if (outcome.value > 1) return { code: ItemCode.INVALID, problems: [{ field: "reward", description: "must be in [0, 1]" }] };
        this.rewards.push({ url, worth: outcome.value, ticket: Buffer.from(ticket).toString() });
        return { code: ItemCode.OK };
      }),
    }));
    this.server.addService(definition as never, methods);
    return new Promise((resolve, reject) => {
      this.server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => {
        if (error) reject(error);
        else resolve(`127.0.0.1:${port}`);
      });
    });
  }

  /** Whether to go on, of a crawl with a budget. */
  private standing() {
    if (this.most === undefined) return {};
    const left = Math.max(0, this.most - this.ingested.length);
    const decision = left ? Decision.CONTINUE : Decision.STOP_BUDGET;
    return { standing: { decision, spent: !left, reason: left ? "" : "all spent", fetchesLeft: BigInt(left) } };
  }

  /** Ends the server at once, calls under way included. */
  stop(): void {
    this.server.forceShutdown();
  }
}

function scored(page: Page) {
  const body = page.content.case === "body" ? Buffer.from(page.content.value).toString() : "";
  return columns([...body.matchAll(/href="([^"]*)"/g)].map((found) => new URL(found[1] ?? "", page.url).href));
}

/** All places for the best bucket. */
function best({ buckets, n }: RankBucketsRequest): number[] {
  const at = Math.max(0, buckets.findIndex((name) => name.startsWith("good")));
  return buckets.map((_, i) => (i === at ? n : 0));
}

function columns(urls: string[]) {
  const kinds = urls.map((url) => (url.includes("/good") ? 1 : 0));
  return {
    urls,
    scores: kinds.map((kind) => 0.1 + 0.8 * kind),
    buckets: kinds,
    bucketNames: ["bad", "good"],
    bucketValues: [0.1, 0.9],
    tickets: kinds,
    ticketValues: [Buffer.from("tb"), Buffer.from("tg")],
  };
}
