import type { MessageInitShape } from "@bufbuild/protobuf";

import { Decision } from "./gen/linkscore/v1/common_pb.js";
import type { BudgetSchema } from "./gen/linkscore/v1/crawl_service_pb.js";
import type { PageResult } from "./gen/linkscore/v1/link_scoring_service_pb.js";

/** How far a crawl may go, by the names of the message; what is not set has no bound. */
export type Budget = { [field in Exclude<keyof MessageInitShape<typeof BudgetSchema>, `$${string}`>]?: number };

const STOPS = new Map([
  [Decision.STOP_YIELD, "linkscore_yield"],
  [Decision.STOP_COVERED, "linkscore_covered"],
  [Decision.STOP_BUDGET, "linkscore_budget"],
]);
/**
 * What the budget of a crawl still allows, as the answers to its pages say. Until the first page is answered one fetch may
 * begin at a time: a crawl that was there may have spent all.
 */
export class Allowance {
  /** Why the crawl ends, `linkscore_budget` for example; empty while it goes on. */
  reason = "";
  /** The same in a sentence. */
  why = "";
  private left: number;
  /** Fetches that the server has not counted, for ever if it refused them. */
  private unknown = 0;
  private answered = false;
  private seq = 0n;
  private spent = false;

  constructor({ maxFetches = Infinity, maxCost = Infinity, fetchCost }: Budget = {}) {
    this.left = Math.min(maxFetches, fetchCost ? Math.floor(maxCost / fetchCost) : Infinity);
  }

  /** Notes a fetch that the server is told of now or later. */
  begin(): void {
    this.unknown++;
  }

  /** Takes over what the answer to a page says. One that another overtook cannot raise what is left. */
  take(result: PageResult | undefined): void {
    this.answered = true;
    this.unknown--;
    if (!result) return;
    const isLatest = result.eventSeq >= this.seq;
    if (isLatest) this.seq = result.eventSeq;
    const said = result.standing;
    if (!said) return;
    const left = said.fetchesLeft === undefined ? Infinity : Number(said.fetchesLeft);
    this.left = isLatest ? left : Math.min(this.left, left);
    if (isLatest || said.spent || !this.spent) {
      [this.spent, this.reason, this.why] = [said.spent, STOPS.get(said.decision) ?? "", said.reason];
    }
  }

  /** Whether no fetch may begin beside those under way; start pages may, which may be of a site that has not stopped. */
  full(underWay: number, seeds: boolean): boolean {
    if (this.spent || (this.reason && !seeds)) return true;
    if (this.left === Infinity) return false;
    if (!underWay && this.unknown >= this.left && !this.reason) {
      [this.reason, this.why] = ["linkscore_budget", `${this.unknown} fetches that the server does not know are all that was left`];
    }
    return underWay + this.unknown >= this.left || (!this.answered && underWay > 0);
  }
}
