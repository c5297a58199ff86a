import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonValue } from "../../domain/json.js";

/** What was found out before, by everything that decides it. */
export interface VerdictCache {
  /** Null where it is not known, or cannot be read any more. */
  get(key: JsonValue): unknown;
  put(key: JsonValue, value: JsonValue): void;
}

/**
 * One small JSON file each in `folder`, named by the SHA-256 of its key and written whole or not at all, so that several processes may share it. A
 * folder that cannot be written to keeps nothing.
 */
export function openVerdictCache(folder: string): VerdictCache {
  const pathOf = (key: JsonValue) => {
    const name = createHash("sha256").update(JSON.stringify(key)).digest("hex");
    return join(folder, name.slice(0, 2), `${name}.json`);
  };
  return {
    get(key) {
      try {
        return JSON.parse(readFileSync(pathOf(key), "utf8"));
      } catch {
        return null;
      }
    },
    put(key, value) {
      const path = pathOf(key);
      const draft = `${path}.${randomUUID().slice(0, 8)}.tmp`;
      try {
        mkdirSync(join(path, ".."), { recursive: true });
        writeFileSync(draft, JSON.stringify(value));
        renameSync(draft, path);
      } catch {
        // Nothing is lost but the money to ask again.
      }
    },
  };
}
