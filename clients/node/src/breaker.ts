import { Code, LinkscoreError } from "./errors.js";

// Waits between two probes of a server that is away: a dead server costs nothing then, and one that was restarted is
// noticed within seconds.
const FIRST_PROBE_MS = 1_000;
const LONGEST_PROBE_MS = 5_000;
/** A probe that takes longer has failed: a server so slow is of no use to a crawl. */
export const PROBE_TIMEOUT_MS = 1_000;
const OUTAGES = new Set([Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED]);

/**
 * Whether a call failed because there is no server, no answer in time, too much load or a full disk: the next would fail
 * too. One beyond a limit is refused for itself.
 */
export function isOutage(error: LinkscoreError | undefined): boolean {
  return !!error && OUTAGES.has(error.code) && error.reason !== "LIMIT_EXCEEDED";
}

/** Waits without keeping the process alive. */
const slept = (ms: number) => new Promise<void>((resolve) => void setTimeout(resolve, ms).unref());

/**
 * Keeps a server that is away from costing a deadline for every page: after an outage it lets no call through. Beside the
 * crawl it probes with one cheap call every 1 to 5 s, and lets all calls through once that is answered.
 */
export class Breaker {
  private away = false;
  private closed = false;

  /**
   * `probe` makes the cheap call; any answer ends the outage, a refusal too. `turned` hears of the beginning of an
   * outage, with its error, and of its end; `refused` of calls that fail though the server is there.
   */
  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly turned: (error?: LinkscoreError) => void = () => undefined,
    private readonly refused: (error: LinkscoreError) => void = () => undefined,
    private readonly sleep: (ms: number) => Promise<unknown> = slept,
  ) {}

  /** Whether a call may be made now; whoever makes it says how it ended by `done`. */
  allows(): boolean {
    return !this.away;
  }

  /** Notes how a call ended: only an outage opens the breaker, and only a probe closes it. */
  done(error?: LinkscoreError): void {
    if (error && !isOutage(error)) this.refused(error);
    if (!error || !isOutage(error) || this.away) return;
    this.away = true;
    this.turned(error);
    void this.watch(error);
  }

  /** Probes at once if the server is away; false if it still is. */
  async try(): Promise<boolean> {
    return !this.away || !(await this.heard());
  }

  /** Ends the probing. */
  close(): void {
    this.closed = true;
  }

  private async watch(lost: LinkscoreError): Promise<void> {
    let error: LinkscoreError | undefined = lost;
    for (let waitMs = FIRST_PROBE_MS; error; waitMs = Math.min(2 * waitMs, LONGEST_PROBE_MS)) {
      await this.sleep(Math.max(waitMs, Math.min(error.retryAfterMs, LONGEST_PROBE_MS)));
      if (this.closed) return;
      error = await this.heard();
    }
  }

  /** Makes a probe and notes how it ended: with the outage that goes on, or undefined if the server is there. */
  private async heard(): Promise<LinkscoreError | undefined> {
    const error: LinkscoreError | undefined = await this.probe().then(() => undefined, LinkscoreError.from);
    if (isOutage(error)) return error;
    const back = this.away;
    this.away = false;
    if (back) this.turned();
    return undefined;
  }
}
