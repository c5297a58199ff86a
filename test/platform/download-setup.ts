import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { DownloadRequest } from "../../src/platform/download.js";
import { hubHints } from "../../src/platform/huggingface.js";
import { parquetOf, questionRows } from "../questions/question-rows.js";
import { hubSetup, never, QUICK } from "./hub-server.js";

export const FILE = parquetOf(questionRows(300));
export const SHA256 = createHash("sha256").update(FILE).digest("hex");
export const THIRD = Math.floor(FILE.length / 3);

/** Like `hubSetup`, with downloads to a cache folder. */
export function downloadSetup() {
  const { folder, hub } = hubSetup();
  /** Folder of the target, which the download creates. */
  const cache = () => join(folder(), "cache");
  const target = () => join(cache(), "test.parquet");
  return {
    hub,
    cache,
    target,
    request(endpoint: string, changes: Partial<DownloadRequest> = {}): DownloadRequest {
      return {
        url: `${endpoint}/data/test.parquet`,
        headers: {},
        target: target(),
        revision: "a".repeat(40),
        magic: "PAR1",
        retry: QUICK,
        signal: never,
        hints: hubHints("Or pass the file: --dataset FILE."),
        ...changes,
      };
    },
    /** Names of the files in the target's folder. */
    async left(): Promise<string[]> {
      return (await readdir(cache())).sort();
    },
  };
}
