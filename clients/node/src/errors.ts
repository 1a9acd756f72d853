import { type DescMessage, fromBinary, type MessageShape } from "@bufbuild/protobuf";
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { type Metadata, type ServiceError, status as Code } from "@grpc/grpc-js";

import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "./gen/google/rpc/error_details_pb.js";
import { type Status, StatusSchema } from "./gen/google/rpc/status_pb.js";

/** Status codes of gRPC: `Code.NOT_FOUND` and the like. */
export { Code };

/** One field of a request that breaks a rule. */
export interface FieldViolation {
  field: string;
  description: string;
}

/**
 * What a call failed with, its details decoded. `code` is a gRPC status: INVALID_ARGUMENT (`violations` name each field),
 * RESOURCE_EXHAUSTED (`retryAfterMs` says when to come back), UNAVAILABLE (was retried already) and so on.
 */
export class LinkscoreError extends Error {
  override readonly name = "LinkscoreError";

  constructor(
    message: string,
    readonly code: Code,
    readonly violations: readonly FieldViolation[] = [],
    /** Stable UPPER_SNAKE reason of the server; empty if it gave none. */
    readonly reason = "",
    /** How long the server asks to wait, 0 if it does not say. */
    readonly retryAfterMs = 0,
    readonly metadata: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    super(message, { cause });
  }

  /** Turns whatever a call threw into an error of this class. */
  static from(thrown: unknown): LinkscoreError {
    if (thrown instanceof LinkscoreError) return thrown;
    const { code = Code.UNKNOWN, details, message, metadata } = thrown as Partial<ServiceError>;
    const said = statusOf(metadata);
    const info = detail(said, ErrorInfoSchema);
    const delay = detail(said, RetryInfoSchema)?.retryDelay;
    const violations = detail(said, BadRequestSchema)?.fieldViolations ?? [];
    return new LinkscoreError(
      details || message || String(thrown),
      code,
      violations.map(({ field, description }) => ({ field, description })),
      info?.reason,
      delay ? Number(delay.seconds) * 1000 + delay.nanos / 1e6 : 0,
      info?.metadata,
      thrown,
    );
  }
}

function statusOf(metadata: Metadata | undefined): Status | undefined {
  const [packed] = metadata?.get("grpc-status-details-bin") ?? [];
  if (!(packed instanceof Buffer)) return undefined;
  try {
    return fromBinary(StatusSchema, packed);
  } catch {
    return undefined; // a proxy's details, not the server's
  }
}

function detail<S extends DescMessage>(said: Status | undefined, schema: S): MessageShape<S> | undefined {
  for (const packed of said?.details ?? []) {
    const found = anyUnpack(packed, schema);
    if (found) return found;
  }
  return undefined;
}
