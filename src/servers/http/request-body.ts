import type { Context } from "hono";
import { jsonDepth, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import { ByteBudget } from "../../platform/byte-budget.js";
import { ApiError } from "./api-error.js";
import type { Env } from "./route.js";

const MAX_BODY_BYTES = 4_000_000;

/** Of all bodies that are still coming in together: many that are half sent must not fill the memory. */
const MAX_ARRIVING_BYTES = 32_000_000;

/** Of each body, beyond those. */
const FREE_BYTES = 64_000;

/** Reads the bodies of one server's requests. */
export class RequestBodies {
  private readonly budget = new ByteBudget(MAX_ARRIVING_BYTES, FREE_BYTES);

  /** Throws an ApiError where the body is too large, does not arrive, or is no JSON that can be worked with. */
  async readJson(c: Context<Env>): Promise<unknown> {
    return parseJson(await this.read(c), "The body");
  }

  private async read(c: Context<Env>): Promise<string> {
    if (Number(c.req.header("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
    const chunks: Buffer[] = [];
    let bytes = 0;
    const held = this.budget.hold();
    try {
      // Ended early, the iterator would end the connection and with it the answer.
      const incoming = c.env.incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
      for await (const chunk of incoming) {
        bytes += chunk.length;
        if (bytes > MAX_BODY_BYTES) throw tooLarge();
        if (!held.add(chunk.length)) throw noRoom();
        chunks.push(chunk);
      }
      return Buffer.concat(chunks).toString("utf8");
    } catch (error) {
      if (error instanceof ApiError) throw error;
      throw new ApiError("VALIDATION_ERROR", "The body did not arrive whole.");
    } finally {
      held.release();
    }
  }
}

/** JSON that is not deeper than what is done with it can bear. */
export function parseJson(text: string, what: string): unknown {
  if (jsonDepth(text) > MAX_JSON_DEPTH) {
    throw new ApiError("VALIDATION_ERROR", `${what} is nested more than ${MAX_JSON_DEPTH} deep.`);
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new ApiError("VALIDATION_ERROR", `${what} is not JSON.`);
  }
}

function tooLarge(): ApiError {
  return new ApiError("PAYLOAD_TOO_LARGE", `A body may have ${MAX_BODY_BYTES} bytes.`);
}

function noRoom(): ApiError {
  const headers = { "retry-after": "2", connection: "close" };
  return new ApiError("OVERLOADED", "Too much is being sent at once.", null, headers);
}
