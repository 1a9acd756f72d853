import type { Page } from "./messages.js";

// What waits for a server that is away is bounded in bytes, since a page may have 8 MiB; all chosen.
const BACKLOG_BYTES = 64 * 1024 * 1024;
const MOST_REWARDS = 20_000;
/** A page whose answer took too long so often is given up. */
const PAGE_TRIES = 3;
/** Of a page without its body. */
const OVERHEAD_BYTES = 512;

/** A page that waits to be sent, and how often its answer took too long. */
export interface Kept {
  page: Page;
  bytes: number;
  tries: number;
}

/** Feedback that waits to be sent. */
export interface Reward {
  url: string;
  ticket?: Uint8Array;
  worth: number;
  eventId: string;
}

/**
 * What was fetched and extracted while the server was away, the oldest first. Beyond its bounds the oldest is dropped;
 * links of such a page that still wait are scored by their URLs.
 */
export class Backlog {
  /** Pages that fell out, or were given up. */
  dropped = 0;
  private pages: Kept[] = [];
  private rewards: Reward[] = [];
  private bytes = 0;

  /** How many pages wait. */
  get size(): number {
    return this.pages.length;
  }

  add(page: Page): void {
    const bytes = OVERHEAD_BYTES + page.url.length + (page.body?.length ?? 0);
    this.pages.push({ page, bytes, tries: 0 });
    this.bytes += bytes;
    while (this.bytes > BACKLOG_BYTES) {
      this.bytes -= this.pages.shift()?.bytes ?? 0;
      this.dropped++;
    }
  }

  /** Removes the page to send next. */
  take(): Kept | undefined {
    const kept = this.pages.shift();
    this.bytes -= kept?.bytes ?? 0;
    return kept;
  }

  /** Returns a page that was not answered, ahead of the others; `slow` says that its answer took too long. */
  putBack({ page, bytes, tries }: Kept, slow: boolean): void {
    const again = { page, bytes, tries: tries + Number(slow) };
    if (again.tries >= PAGE_TRIES) {
      this.dropped++;
      return;
    }
    this.pages.unshift(again);
    this.bytes += bytes;
  }

  addReward(reward: Reward): void {
    if (this.rewards.push(reward) > MOST_REWARDS) this.rewards.shift();
  }

  takeRewards(most: number): Reward[] {
    return this.rewards.splice(0, most);
  }

  putRewardsBack(rewards: Reward[]): void {
    this.rewards.unshift(...rewards);
  }
}
