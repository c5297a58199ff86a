import type { Context, MiddlewareHandler } from "hono";
import { jsonDepth, MAX_JSON_DEPTH } from "../../domain/json-depth.js";
import { ByteBudget } from "../../platform/byte-budget.js";
import { ApiError } from "./api-error.js";
import type { Env } from "./route.js";

const MAX_BODY_BYTES = 4_000_000;

/** The total of all bodies still being received, so that many half-sent ones cannot fill the memory. */
const MAX_RECEIVING_BYTES = 32_000_000;

/** Of each body, not counted in that total. */
const FREE_BYTES = 64_000;

/**
 * Reads a JSON body for the validators after it. Throws an ApiError where it is too large, breaks off, is not JSON or
 * is nested too deep. hono's bodyLimit bounds one body only; this bounds the total of all bodies being received as
 * well.
 */
export function readJsonBody(): MiddlewareHandler<Env> {
  const budget = new ByteBudget(MAX_RECEIVING_BYTES, FREE_BYTES);
  return async (c, next) => {
    const text = await readBody(c, budget);
    parseJson(text, "The body");
    // hono keeps promises here; the validator's c.req.json() parses this text.
    Object.assign(c.req.bodyCache, { text: Promise.resolve(text) });
    await next();
  };
}

async function readBody(c: Context<Env>, budget: ByteBudget): Promise<string> {
  if (Number(c.req.header("content-length") ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  const held = budget.hold();
  try {
    // By default, leaving the loop early would destroy the connection before the error is sent.
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
    throw new ApiError("VALIDATION_ERROR", "The body was not received completely.");
  } finally {
    held.release();
  }
}

/** Throws an ApiError where the text is not JSON or is nested too deep. */
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
