import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../platform/files.js";
import { type JsonValue, parseJsonOrNull } from "../platform/json.js";
import { type Completion, completionSchema, type Model, type ModelRequest } from "./model.js";
import { parseModelName } from "./model-names.js";
import type { RequestExtras } from "./request-extras.js";
import { reasoningRoom, rulesFor } from "./request-parameters.js";

/** `sha256` is over the completion: a byte that was turned over on the disk makes no other answer. */
const keptSchema = z.object({ key: z.string(), sha256: z.string(), completion: completionSchema });

/**
 * A model whose replies are kept in `folder`, one file each, and given again with the latency, usage, cost and retries
 * they had. To be put outside of retries and throttle: a hit takes no place and no rate. Errors are not kept. A file
 * that cannot be read, is damaged or is another request's is a miss, and is written anew.
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
      // The reply is paid for and stays good; a full disk costs the next run a call, not this one its task.
      await writeOrLeave(path, { key, sha256: digest(completion), completion });
      return completion;
    },
  };
}

async function readCached(path: string, key: string): Promise<Completion | null> {
  try {
    const { completion, ...kept } = keptSchema.parse(JSON.parse(await readFile(path, "utf8")));
    return kept.key === key && kept.sha256 === digest(completion) ? completion : null;
  } catch {
    return null;
  }
}

export interface JsonFileCache {
  /** Null where it is not known, or cannot be read any more. */
  get(key: JsonValue): unknown;
  put(key: JsonValue, value: JsonValue): Promise<void>;
}

/**
 * One small JSON file each in `folder`, named by the SHA-256 of its key and written whole or not at all, so that
 * several processes may share it. A folder that cannot be written to keeps nothing.
 */
export function openJsonFileCache(folder: string): JsonFileCache {
  const pathOf = (key: JsonValue) => pathIn(folder, createHash("sha256").update(JSON.stringify(key)).digest("hex"));
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

/** Where it cannot be written, nothing is lost but the money to ask again. */
async function writeOrLeave(path: string, value: unknown): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, [JSON.stringify(value)], { sync: false });
  } catch {
    // As above.
  }
}

/** SHA-256 over everything that decides a reply, and whose it is; the order of an object's keys aside. */
export function requestKey(modelId: string, request: ModelRequest): string {
  return digest({ modelId, ...deciding(request), task: request.task });
}

/** The same over what decides a reply, the server and the repeat: whichever task of whichever run asks. */
export function cacheKey(server: CachedServer, request: ModelRequest): string {
  const { model, baseUrl, wireApi, extraHeaders, extraBody } = server;
  const rules = rulesFor(parseModelName(model, null), wireApi ?? "chat");
  // A reply that was cut off while it reasoned is not asked for again where there is more room now.
  const reasoningTokens = reasoningRoom(rules, request) || undefined;
  const epoch = request.task?.epoch ?? 1;
  const extras = { extraHeaders, extraBody };
  return digest({ model, baseUrl, wireApi, ...extras, ...deciding(request), reasoningTokens, epoch });
}

interface CachedServer extends RequestExtras {
  readonly model: string;
  readonly baseUrl: string | null;
  readonly wireApi: "chat" | "responses" | null;
}

function deciding(request: ModelRequest) {
  const { system, messages, tools, toolChoice, maxTokens, reasoningTokens, reasoningEffort, temperature } = request;
  return { system, messages, tools, toolChoice, maxTokens, reasoningTokens, reasoningEffort, temperature };
}

export function digest(value: unknown): string {
  return createHash("sha256").update(canonicalJson(value)).digest("hex");
}

function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
