/** The contract's services on @grpc/grpc-js, with the messages of protobuf-es. */
import {
  create,
  type DescMessage,
  type DescMethodUnary,
  type DescService,
  fromBinary,
  type MessageInitShape,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { Client as Channel, Metadata, type ServiceError } from "@grpc/grpc-js";

import { LinkscoreError } from "./errors.js";

export interface CallOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

type Unary<M> = M extends DescMethodUnary<infer I, infer O>
  ? (request: MessageInitShape<I>, options?: CallOptions) => Promise<MessageShape<O>>
  : never;

/** One function for each unary method of a service. */
export type Stub<S extends DescService> = {
  [K in keyof S["method"] as S["method"][K] extends DescMethodUnary ? K : never]: Unary<S["method"][K]>;
};

/** What every call of a client shares. */
export interface Calls {
  channel: Channel;
  timeoutMs: number;
  metadata(): Promise<Metadata>;
}

export function stub<S extends DescService>(service: S, calls: Calls): Stub<S> {
  const unary = service.methods.filter((method) => method.methodKind === "unary");
  const functions = unary.map((method) => [
    method.localName,
    (request: object, options?: CallOptions) => callUnary(calls, method as DescMethodUnary, request, options),
  ]);
  return Object.fromEntries(functions) as Stub<S>;
}

async function callUnary(calls: Calls, method: DescMethodUnary, request: object, options: CallOptions = {}) {
  const metadata = await calls.metadata();
  const { signal, timeoutMs = calls.timeoutMs } = options;
  return new Promise<object>((resolve, reject) => {
    const done = (error: ServiceError | null, answer?: object) => {
      signal?.removeEventListener("abort", abort);
      if (error) reject(LinkscoreError.from(error));
      else resolve(answer as object);
    };
    const call = calls.channel.makeUnaryRequest(
      `/${method.parent.typeName}/${method.name}`,
      (message: MessageShape<DescMessage>) => Buffer.from(toBinary(method.input, message)),
      (bytes) => fromBinary(method.output, bytes) as object,
      create(method.input, request as Record<string, unknown>),
      metadata,
      { deadline: Date.now() + timeoutMs },
      done,
    );
    const abort = () => call.cancel();
    signal?.addEventListener("abort", abort);
    if (signal?.aborted) abort();
  });
}
