import { randomUUID } from "node:crypto";
import { inspect } from "node:util";

import { create, fromJson, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";

import {
  ItemCode,
  type ItemStatus,
  type LinkScores,
  type Page as PageMessage,
  PageSchema,
  SkipReason,
  type Verdict,
} from "./gen/linkscore/v1/common_pb.js";
import { type Wanted as WantedMessage, WantedSchema } from "./gen/linkscore/v1/crawl_service_pb.js";
import { type PolicySpec, PolicySpecSchema } from "./gen/linkscore/v1/policy_pb.js";

/** One fetch, failed ones included: a failed fetch teaches the server not to send you there again. */
export interface Page {
  /** URL as requested. */
  url: string;
  /** URL after redirects. */
  finalUrl?: string;
  /** HTTP status; 0 or absent if there was no answer, then `fetchError` says why. */
  statusCode?: number;
  fetchError?: string;
  contentType?: string;
  body?: Uint8Array | string;
  /** Links the crawler found itself; absent lets the server find all of them in the body. */
  outlinks?: { url: string; anchor?: string }[];
  /** What came with the link that led here. */
  ticket?: Uint8Array;
  /** Makes a repeated call harmless; a random one is made if it is absent. */
  eventId?: string;
}

/** Which links to fetch next while others are under way: what `rankBuckets` is asked. */
export interface Places {
  /** How many links of each bucket wait; the bucket whose link waits longest comes first. */
  waiting: ReadonlyMap<string, number>;
  /** How many links were taken and not answered yet, by the bucket they were taken from. */
  inFlight?: ReadonlyMap<string, number>;
  /** How many links to hand out; 0 asks for values alone. */
  n?: number;
}

/** One scored link. */
export interface Link {
  /** Absolute URL to request, without fragment. */
  url: string;
  /** [0, 1], higher first. */
  score: number;
  /** Name of the group whose value moves together. */
  bucket: string;
  /** What `rankBuckets` would answer for `bucket` now. */
  bucketValue: number;
  /** At most 64 opaque bytes: keep them with the URL and send them back. */
  ticket: Uint8Array;
  verdict: Verdict;
  /** Which setting of the crawl makes the link one to skip; unspecified if none does. */
  skipReason: SkipReason;
  inScope: boolean;
  /** Whether the link was scored; `status` says why not. */
  usable: boolean;
  status?: ItemStatus;
}

/** A policy by name, by name and parameters (as JSON), or as the message. */
export type Policy = string | { name: string; params?: Record<string, JsonValue> } | PolicySpec;

/** Refuses options of unknown names, which plain JavaScript lets through. */
export function checkNames(options: object, known: readonly string[]): void {
  const unknown = Object.keys(options).filter((name) => !known.includes(name));
  if (unknown.length) throw new TypeError(`linkscore: no such option: ${unknown.join(", ")} (there are ${known.join(", ")})`);
}

/** What is made of an option; an error names the option and what was given. */
export function named<G, M>(option: string, given: G, make: (given: G) => M): M {
  try {
    return make(given);
  } catch (thrown) {
    throw new TypeError(`linkscore: ${option}: ${thrown instanceof Error ? thrown.message : String(thrown)}, got ${inspect(given)}`);
  }
}

/** What a crawl is for, in words: a query, or queries and samples by the names of the message. */
export type Wanted = string | MessageInitShape<typeof WantedSchema>;

/** The message of what a crawl is for. */
export function wantedMessage(wanted: Wanted): WantedMessage {
  if (typeof wanted === "string") return create(WantedSchema, { queries: [wanted] });
  checkNames(wanted, ["$typeName", "$unknown", ...WantedSchema.fields.map(({ localName }) => localName)]);
  return create(WantedSchema, wanted);
}

/** Reads the columns of an answer as one object a link, in their order. */
export function rows(links: LinkScores | undefined): Link[] {
  if (!links) return [];
  const none = new Uint8Array();
  return links.scores.map((score, i) => {
    const status = links.statuses[i];
    return {
      url: links.urls[i] ?? "",
      score,
      bucket: links.bucketNames[links.buckets[i] ?? -1] ?? "",
      bucketValue: links.bucketValues[links.buckets[i] ?? -1] ?? score,
      ticket: links.ticketValues[links.tickets[i] ?? -1] ?? none,
      verdict: links.verdicts[i] ?? 0,
      skipReason: links.skipReasons[i] ?? SkipReason.UNSPECIFIED,
      inScope: links.inScope[i] ?? true,
      usable: status?.code !== ItemCode.INVALID,
      ...(status ? { status } : {}),
    };
  });
}

/**
 * Whether a setting of the crawl forbids a link for good, as one that leads to a copy. One whose crawl or site has stopped
 * waits for more budget.
 */
export function isDropped({ skipReason }: Link): boolean {
  return [SkipReason.TRAP, SkipReason.RESPECT, SkipReason.COPY].includes(skipReason);
}

/** @throws TypeError if a parameter is unknown or of the wrong type. */
export function policySpec(policy: Policy | undefined): PolicySpec | undefined {
  if (policy === undefined || (typeof policy === "object" && "$typeName" in policy)) return policy;
  if (Array.isArray(policy) || typeof policy === "number") throw new TypeError(`linkscore: policy must be a name or {name, params}, got ${inspect(policy)}`);
  const { name, params = {}, ...rest } = typeof policy === "string" ? { name: policy } : policy;
  checkNames(rest, ["name", "params"]);
  const known = PolicySpecSchema.fields.some((field) => field.name === name && name !== "external");
  const json: JsonValue = known ? { [name]: params } : { external: { name, params } };
  return named("policy", json, (given) => fromJson(PolicySpecSchema, given));
}

export function pageMessage(page: Page): PageMessage {
  const body = typeof page.body === "string" ? new TextEncoder().encode(page.body) : page.body;
  return create(PageSchema, {
    eventId: page.eventId ?? randomUUID(),
    url: page.url,
    finalUrl: page.finalUrl ?? "",
    statusCode: page.statusCode ?? (body && !page.fetchError ? 200 : 0),
    fetchError: page.fetchError ?? "",
    contentType: page.contentType ?? "",
    content: body ? { case: "body", value: body } : { case: undefined },
    outlinks: (page.outlinks ?? []).map(({ url, anchor = "" }) => ({ url, anchorText: anchor })),
    ticket: page.ticket ?? new Uint8Array(),
  });
}

export function crawlName(crawl: string): string {
  return crawl.startsWith("crawls/") ? crawl : `crawls/${encodeURIComponent(crawl)}`;
}
