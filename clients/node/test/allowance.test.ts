import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Decision } from "../src/gen/linkscore/v1/common_pb.js";
import { PageResultSchema } from "../src/gen/linkscore/v1/link_scoring_service_pb.js";
import { Allowance } from "../src/index.js";

function result(fetchesLeft: number, spent = false) {
  const standing = { fetchesLeft: BigInt(fetchesLeft), spent, ...(spent ? { decision: Decision.STOP_BUDGET, reason: "all spent" } : {}) };
  return create(PageResultSchema, { standing });
}

test("an answer that another overtook leaves no more", () => {
  const allowance = new Allowance();
  const begun = [allowance.begin(), allowance.begin()] as const;
  allowance.take(result(2), begun[0]);
  allowance.take(result(3), begun[1]);
  assert.equal(allowance.full(2, 0, false), true);
  const late = allowance.begin();
  allowance.take(result(0, true), allowance.begin());
  allowance.take(result(1), late);
  assert.deepEqual([allowance.full(0, 0, false), allowance.why], [true, "all spent"]);
  allowance.take(result(9), allowance.begin());
  assert.deepEqual([allowance.full(8, 0, false), allowance.full(9, 0, false)], [false, true]);
});
