import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { JsonValue } from "../../domain/json.js";
import { replaceFile } from "../../platform/atomic-file.js";
import { parseJsonOrNull } from "../../platform/parse-json.js";

/** What was found out before, by everything that decides it. */
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
  const pathOf = (key: JsonValue) => {
    const name = createHash("sha256").update(JSON.stringify(key)).digest("hex");
    return join(folder, name.slice(0, 2), `${name}.json`);
  };
  return {
    get(key) {
      try {
        return parseJsonOrNull(readFileSync(pathOf(key), "utf8"));
      } catch {
        return null;
      }
    },
    async put(key, value) {
      const path = pathOf(key);
      try {
        await mkdir(dirname(path), { recursive: true });
        await replaceFile(path, [JSON.stringify(value)], { sync: false });
      } catch {
        // Nothing is lost but the money to ask again.
      }
    },
  };
}
