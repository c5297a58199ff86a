// Stores replies of models in files, so that the same request is free the next time.
import { readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../platform/files.js";
import { type JsonValue, parseJsonOrNull } from "../platform/json.js";
import { sha256Of } from "../platform/sha256.js";
import { type Completion, completionSchema, type Model, type ModelRequest } from "./model.js";
import { parseModelName } from "./model-names.js";
import type { RequestExtras } from "./request-extras.js";
import { reasoningRoom, rulesFor } from "./request-parameters.js";

export interface JsonFileCache {
  /** Returns null if the value is missing or unreadable. */
  get(key: JsonValue): unknown;
  put(key: JsonValue, value: JsonValue): Promise<void>;
}

interface CachedServer extends RequestExtras {
  readonly model: string;
  readonly baseUrl: string | null;
  readonly wireApi: "chat" | "responses" | null;
}

/** `sha256` is the hash of the completion. It detects corrupted files. */
const keptSchema = z.object({ key: z.string(), sha256: z.string(), completion: completionSchema });

/**
 * Decorates a model: stores its replies in `folder`, one file per reply, and returns them again with their original
 * latency, usage, cost and retries. Apply it outside retries and rate limiting, because a cache hit uses neither a slot
 * nor the request rate. Errors are not stored. A file that is unreadable or damaged, or that belongs to another
 * request, counts as a miss and is overwritten.
 */
export function cachingReplies(model: Model, server: CachedServer, folder: string): Model {
  return {
    id: model.id,
    async complete(request, signal) {
      signal.throwIfAborted();
      const key = cacheKey(server, request);
      const path = pathIn(folder, key);
      const cachedReply = await readCached(path, key);
      if (cachedReply !== null) return { ...cachedReply, cached: true };
      const completion = await model.complete(request, signal);
      // The reply has been billed and is valid. If the disk is full, this task does not fail, but the next run repeats
      // the call.
      await writeOrLeave(path, { key, sha256: digest(completion), completion });
      return completion;
    },
  };
}

async function readCached(path: string, key: string): Promise<Completion | null> {
  try {
    const { completion, ...entry } = keptSchema.parse(JSON.parse(await readFile(path, "utf8")));
    return entry.key === key && entry.sha256 === digest(completion) ? completion : null;
  } catch {
    return null;
  }
}

/**
 * Cache with one small JSON file per entry in `folder`. Files are named after the SHA-256 of their key and written
 * atomically, so several processes can share the folder. If the folder is not writable, nothing is stored.
 */
export function openJsonFileCache(folder: string): JsonFileCache {
  const pathOf = (key: JsonValue) => pathIn(folder, sha256Of(JSON.stringify(key)));
  return {
    get(key) {
      try {
        return parseJsonOrNull(readFileSync(pathOf(key), "utf8"));
      } catch {
        return null;
      }
    },
    put: (key, value) => writeOrLeave(pathOf(key), value),
  };
}

function pathIn(folder: string, name: string): string {
  return join(folder, name.slice(0, 2), `${name}.json`);
}

/** Ignores write errors: a missing entry only costs another request. */
async function writeOrLeave(path: string, value: unknown): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, [JSON.stringify(value)], { sync: false });
  } catch {
    // See above.
  }
}

/**
 * Returns the SHA-256 of the model, the task and everything in the request that affects the reply. The order of object
 * keys does not matter.
 */
export function requestKey(modelId: string, request: ModelRequest): string {
  return digest({ modelId, ...deciding(request), task: request.task });
}

/**
 * Like `requestKey`, but contains the server and the repeat number instead of the task, so tasks and runs share
 * replies.
 */
export function cacheKey(server: CachedServer, request: ModelRequest): string {
  const { model, baseUrl, wireApi, extraHeaders, extraBody } = server;
  const rules = rulesFor(parseModelName(model, null), wireApi ?? "chat");
  // A reply that was truncated during reasoning must not be reused if there is more room now.
  const reasoningTokens = reasoningRoom(rules, request) || undefined;
  const epoch = request.task?.epoch ?? 1;
  const extras = { extraHeaders, extraBody };
  return digest({ model, baseUrl, wireApi, ...extras, ...deciding(request), reasoningTokens, epoch });
}

/** Returns the parts of a request that affect the reply. */
export function deciding(request: ModelRequest) {
  const { system, messages, tools, toolChoice, maxTokens, reasoningTokens, reasoningEffort, temperature } = request;
  return { system, messages, tools, toolChoice, maxTokens, reasoningTokens, reasoningEffort, temperature };
}

export function digest(value: unknown): string {
  return sha256Of(canonicalJson(value));
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
