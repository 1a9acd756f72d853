import assert from "node:assert/strict";
import { test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Decision } from "../src/gen/linkscore/v1/common_pb.js";
import { PageResultSchema } from "../src/gen/linkscore/v1/link_scoring_service_pb.js";
import { Allowance } from "../src/index.js";

function result(eventSeq: number, fetchesLeft: number) {
  const spent = fetchesLeft === 0;
  const why = spent ? { decision: Decision.STOP_BUDGET, reason: "all spent" } : {};
  return create(PageResultSchema, { eventSeq: BigInt(eventSeq), standing: { fetchesLeft: BigInt(fetchesLeft), spent, ...why } });
}

test("an answer that another overtook leaves no more", () => {
  const allowance = new Allowance();
  for (let n = 0; n < 5; n++) allowance.begin();
  allowance.take(result(8, 2));
  allowance.take(result(7, 3));
  assert.equal(allowance.full(2, false), true);
  allowance.take(result(10, 0));
  allowance.take(result(9, 1));
  assert.deepEqual([allowance.full(0, false), allowance.why], [true, "all spent"]);
  allowance.take(result(11, 9)); // the budget was raised meanwhile
  assert.deepEqual([allowance.full(8, false), allowance.full(9, false)], [false, true]);
});
