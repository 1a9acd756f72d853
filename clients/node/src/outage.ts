import { Code, LinkscoreError } from "./errors.js";

// Waits between two probes of a server that is away: one that was restarted is noticed within seconds.
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 5_000;
const MAX_BYTES = 64 * 1024 * 1024; // of what waits; chosen, as the tries of a call whose answer took too long
const MAX_TRIES = 3;

const FAULTS = new Set([Code.INTERNAL, Code.UNKNOWN, Code.CANCELLED, Code.DATA_LOSS]);
const OUTAGES = new Set([Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED]);

/** Whether the next call would fail too; one beyond a limit is refused for itself. */
export function isOutage(error: LinkscoreError | undefined): boolean {
  return !!error && OUTAGES.has(error.code) && error.reason !== "LIMIT_EXCEEDED";
}

/** Whether only another configuration mends an error: such a crawl does not begin. */
export function isRefusal(error: LinkscoreError): boolean {
  const ofTheServer = typeof error.cause === "object" && error.cause !== null && "details" in error.cause;
  if (ofTheServer && FAULTS.has(error.code)) return false;
  return !isOutage(error) || /SSL routines|certificate/.test(error.message);
}

/** Waits without keeping the process alive. */
const slept = (ms: number) => new Promise<unknown>((resolve) => void setTimeout(resolve, ms).unref());

/** A call that tells the server something, and how often its answer took too long. */
export interface Owed {
  call: () => Promise<unknown>;
  bytes: number;
  tries?: number;
}

/**
 * Keeps a server that is away from costing a deadline for every page: after a call that met an outage none is made. Beside
 * the crawl it is asked whether it is back, and what waits is sent, oldest first: the rule of outages (docs/reference/clients.md).
 */
export class Outage {
  /** Calls that fell out, or were given up. */
  dropped = 0;
  away = false;
  private owed: Owed[] = [];
  private bytes = 0;
  private closed = false;
  private trying: Promise<LinkscoreError | undefined> | undefined;

  /** `turned` hears of the beginning of an outage, with its error, and of its end; `refused` of what is no outage. */
  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly turned: (error?: LinkscoreError) => void,
    private readonly refused: (error: LinkscoreError) => void,
    private readonly sleep: (ms: number) => Promise<unknown> = slept,
  ) {}

  get waiting(): number {
    return this.owed.length;
  }

  /** Lets a call wait if the server is away; says whether it is. */
  keep(call?: Owed): boolean {
    if (!this.away || !call) return this.away;
    this.owed.push(call);
    this.bytes += call.bytes;
    while (this.bytes > MAX_BYTES) {
      this.bytes -= this.owed.shift()?.bytes ?? 0;
      this.dropped++;
    }
    return true;
  }

  met(error: LinkscoreError, call?: Owed): void {
    const lost = !this.away;
    this.away = true;
    this.keep(call);
    if (!lost) return;
    this.turned(error);
    void this.watch(error);
  }

  /** Asks whether the server is back, and tells it everything then; the outage that goes on, if it does. */
  tryAgain(): Promise<LinkscoreError | undefined> {
    this.trying ??= this.tried().finally(() => (this.trying = undefined));
    return this.trying;
  }

  /** Ends the asking. */
  close(): void {
    this.closed = true;
  }

  private async watch(lost: LinkscoreError): Promise<void> {
    let error: LinkscoreError | undefined = lost;
    for (let waitMs = FIRST_PROBE_MS; error; waitMs = Math.min(2 * waitMs, LONGEST_PROBE_MS)) {
      await this.sleep(Math.max(waitMs, Math.min(error.retryAfterMs, LONGEST_PROBE_MS)));
      if (this.closed) return;
      error = await this.tryAgain();
    }
  }

  private async tried(): Promise<LinkscoreError | undefined> {
    if (this.away) {
      const failed = await failure(this.probe);
      const error = isOutage(failed) ? failed : await this.tellOldest();
      if (error) return error;
      this.away = false;
      this.turned();
    }
    while (this.owed.length && !this.away) {
      const error = await this.tellOldest();
      if (error) this.met(error);
    }
    return undefined;
  }

  /** Makes the oldest call; gives the outage that it met. A refusal is an answer, after which it is over. */
  private async tellOldest(): Promise<LinkscoreError | undefined> {
    const oldest = this.owed.shift();
    if (!oldest) return undefined;
    this.bytes -= oldest.bytes;
    const error = await failure(oldest.call);
    if (!error || !isOutage(error)) {
      if (error) this.refused(error);
      return undefined;
    }
    const tries = (oldest.tries ?? 0) + Number(error.code === Code.DEADLINE_EXCEEDED);
    if (tries >= MAX_TRIES) {
      this.dropped++;
    } else {
      this.owed.unshift({ ...oldest, tries });
      this.bytes += oldest.bytes;
    }
    return error;
  }
}

function failure(call: () => Promise<unknown>): Promise<LinkscoreError | undefined> {
  return call().then(() => undefined, LinkscoreError.from);
}
