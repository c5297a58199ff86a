import { promisify } from "node:util";
import { deflateRaw, inflateRaw } from "node:zlib";
import type { z } from "zod";
import { parseJsonOrNull } from "../platform/parse-json.js";

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Bytes of one compressed message. A trace of 200 turns with pages of mail takes a hundredth of it. */
export const MAX_COMPRESSED_BYTES = 16 * 1024 * 1024;

/** A small message may be made to unfold into any size. */
const MAX_INFLATED_BYTES = 128 * 1024 * 1024;

/** A message that is too large for the queue. */
export class MessageTooLarge extends Error {
  override readonly name = "MessageTooLarge";
}

/** A message that cannot be read, or is not what it should be. */
export class StrangeMessage extends Error {
  override readonly name = "StrangeMessage";
}

/** JSON as compressed text. Compression runs on a thread. */
export async function compressJson(what: string, value: unknown): Promise<string> {
  const bytes = await deflate(JSON.stringify(value), { level: 6 });
  if (bytes.length <= MAX_COMPRESSED_BYTES) return bytes.toString("base64");
  const mb = (size: number) => `${(size / 1024 / 1024).toFixed(1)} MB`;
  throw new MessageTooLarge(
    `${what} has ${mb(bytes.length)} compressed; the queue takes ${mb(MAX_COMPRESSED_BYTES)} at most`,
  );
}

/** Reads what `compressJson` wrote, and checks it. */
export async function readCompressed<T extends z.ZodType>(what: string, text: string, schema: T): Promise<z.output<T>> {
  let json: string;
  try {
    json = (await inflate(Buffer.from(text, "base64"), { maxOutputLength: MAX_INFLATED_BYTES })).toString("utf8");
  } catch (error) {
    throw new StrangeMessage(`${what} cannot be read: ${(error as Error).message}`);
  }
  return readMessage(what, parseJsonOrNull(json), schema);
}

/** Checks a message. The error names its first fault. */
export function readMessage<T extends z.ZodType>(what: string, value: unknown, schema: T): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw new StrangeMessage(`${what} is not what art-e writes: ${issue?.path.join(".") || "it"}: ${issue?.message}`);
}
