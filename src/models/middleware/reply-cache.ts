import { mkdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import type { Completion, Model } from "../../domain/models/model.js";
import { replaceFile } from "../../platform/atomic-file.js";
import { type CachedServer, cacheKey, digest } from "./cache-key.js";
import { completionSchema } from "./completion-schema.js";

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
      const path = join(folder, key.slice(0, 2), `${key}.json`);
      const cachedReply = await readCached(path, key);
      if (cachedReply !== null) return { ...cachedReply, cached: true };
      const completion = await model.complete(request, signal);
      await writeCached(path, key, completion);
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

async function writeCached(path: string, key: string, completion: Completion): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await replaceFile(path, [JSON.stringify({ key, sha256: digest(completion), completion })], { sync: false });
  } catch {
    // The reply is paid for and stays good; a full disk costs the next run a call, not this one its task.
  }
}
