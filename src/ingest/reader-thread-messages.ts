import { type ExitCode, UserError } from "../domain/errors.js";
import type { CorpusFormat } from "../domain/mail/email.js";
import type { PackedBatch } from "./packed-batch.js";
import type { ImportFilter } from "./prepare-mail.js";

/** The request to the reading thread. */
export interface ReadRequest {
  readonly path: string;
  readonly format: CorpusFormat;
  readonly filter: ImportFilter;
  readonly ahead: number;
}

/** Its messages: batches, then one of the others. */
export type ReadMessage =
  | { readonly batch: PackedBatch }
  | { readonly failure: Failure }
  | { readonly aborted: true }
  | { readonly end: true };

/** An error between threads: structured cloning drops its class. */
interface Failure {
  readonly name: string;
  readonly message: string;
  readonly stack?: string | undefined;
  readonly user?: { readonly code: string; readonly hint: string; readonly exitCode: ExitCode };
}

export function serializeError(error: unknown): Failure {
  if (!(error instanceof Error)) return { name: "Error", message: String(error) };
  const { name, message, stack } = error;
  if (!(error instanceof UserError)) return { name, message, stack };
  return { name, message, stack, user: { code: error.code, hint: error.hint, exitCode: error.exitCode } };
}

export function deserializeError({ message, stack, user }: Failure): Error {
  const error = user === undefined ? new Error(message) : new UserError(user.code, message, user.hint, user.exitCode);
  if (stack !== undefined) error.stack = stack;
  return error;
}
