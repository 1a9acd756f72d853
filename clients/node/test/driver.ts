/**
 * Drives the Node client through the scenarios every client passes:
 *
 *     python -m linkscore_lab.conformance node --import tsx test/driver.ts
 *
 * Reads one JSON command a line and answers with one; the lab's package conformance says which there are.
 */
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { type CallOptions, Client, type Link, LinkscoreError, type Page } from "../src/index.js";

interface SaidPage {
  url: string;
  final_url?: string;
  status?: number;
  body?: string;
  body_bytes?: number;
  ticket?: string;
  error?: string;
}

interface Command extends SaidPage {
  call: string;
  target: string;
  token?: string;
  token_file?: string;
  timeout_ms?: number;
  cancel_after_ms?: number;
  ca?: string;
  cert?: string;
  key?: string;
  crawl: string;
  policy?: string;
  pages: SaidPage[];
  buckets: string[];
  worth: number;
}

let client: Client | undefined;

async function carryOut(command: Command): Promise<object> {
  if (command.call === "connect" || command.call === "close") {
    client?.close();
    client = command.call === "connect" ? connected(command) : undefined;
    return {};
  }
  if (!client) throw new Error("no client is connected");
  const { timeout_ms: timeoutMs, cancel_after_ms: cancelAfterMs } = command;
  const options: CallOptions = {
    ...(timeoutMs ? { timeoutMs } : {}),
    ...(cancelAfterMs ? { signal: AbortSignal.timeout(cancelAfterMs) } : {}),
  };
  const crawl = client.crawl(command.crawl);
  const link = { url: command.url, ticket: Buffer.from(command.ticket ?? "", "base64url") };
  switch (command.call) {
    case "ensure":
      await client.ensureCrawl(command.crawl, { ...options, policy: command.policy });
      return {};
    case "ingest":
      return { links: (await crawl.ingest(command.pages.map(pageOf), options)).map(({ links }) => links.map(told)) };
    case "failed":
      await crawl.failed({ ...link, ...(command.status ? { statusCode: command.status } : {}), ...(command.error ? { fetchError: command.error } : {}) }, options);
      return {};
    case "rank":
      return { values: Object.fromEntries((await crawl.rankBuckets({ waiting: new Map(command.buckets.map((name: string) => [name, 1])) }, options)).values) };
    case "reward":
      await crawl.reward(link, command.worth, options);
      return {};
    default:
      throw new Error(`no call ${command.call}`);
  }
}

function connected({ target, token, token_file: tokenFile, timeout_ms: timeoutMs, ca, cert, key }: Command): Client {
  const files = { ...(ca ? { caFile: ca } : {}), ...(cert ? { cert: readFileSync(cert) } : {}), ...(key ? { key: readFileSync(key) } : {}) };
  return new Client({
    target,
    ...(ca ? { tls: files } : {}),
    ...(token ? { token } : {}),
    ...(tokenFile ? { tokenFile } : {}),
    ...(timeoutMs ? { timeoutMs } : {}),
  });
}

function pageOf({ url, final_url: finalUrl, status, body, body_bytes: bytes, ticket }: SaidPage): Page {
  return {
    url,
    ...(finalUrl ? { finalUrl } : {}),
    ...(status ? { statusCode: status } : {}),
    ...(bytes ? { body: new Uint8Array(bytes) } : body === undefined ? {} : { body }),
    ...(ticket ? { ticket: Buffer.from(ticket, "base64url") } : {}),
  };
}

function told({ url, score, bucket, bucketValue: value, ticket, usable, inScope }: Link): object {
  return { url, score, bucket, value, ticket: Buffer.from(ticket).toString("base64url"), usable, in_scope: inScope };
}

for await (const line of createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify({ ok: await carryOut(JSON.parse(line) as Command) }));
  } catch (thrown) {
    if (!(thrown instanceof LinkscoreError)) throw thrown;
    const { code, reason, retryAfterMs, violations, metadata } = thrown;
    console.log(JSON.stringify({ error: { code, reason, retry_after_ms: retryAfterMs, violations, metadata } }));
  }
}
client?.close();
