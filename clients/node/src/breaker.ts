import { Code, type LinkscoreError } from "./errors.js";

// Long enough that a dead server costs a crawl nothing, short enough that one that was restarted is noticed.
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;
const OUTAGES = new Set([Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.RESOURCE_EXHAUSTED]);

/**
 * Keeps a dead server from costing a deadline for every page: after an outage it lets no call through for a while, then
 * one, and all again once that one is answered. The wait doubles with every outage in a row.
 */
export class Breaker {
  private waitMs = 0;
  private openUntil = 0;
  private probing = false;

  constructor(private readonly now: () => number = Date.now) {}

  /** Whether the last answer was an outage. */
  get broken(): boolean {
    return this.waitMs > 0;
  }

  /** Whether a call may be made now; whoever is let through says how it ended by `done`. */
  allows(): boolean {
    if (!this.broken) return true;
    if (this.probing || this.now() < this.openUntil) return false;
    this.probing = true;
    return true;
  }

  /** Notes how a call ended. */
  done(error?: LinkscoreError): void {
    if (!error || !OUTAGES.has(error.code)) {
      if (error?.code !== Code.CANCELLED) this.waitMs = 0;
    } else if (this.probing || !this.broken) {
      const doubled = Math.min(LONGEST_WAIT_MS, Math.max(FIRST_WAIT_MS, 2 * this.waitMs));
      this.waitMs = Math.max(doubled, error.retryAfterMs);
      this.openUntil = this.now() + this.waitMs;
    }
    this.probing = false;
  }
}
