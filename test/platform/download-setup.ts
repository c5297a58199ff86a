import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "vitest";
import type { DownloadRequest } from "../../src/platform/download.js";
import { hubHints } from "../../src/platform/huggingface.js";
import { parquetOf, questionRows } from "../questions/question-rows.js";
import { type Handler, type HubServer, never, QUICK, startHub } from "./hub-server.js";

export const FILE = parquetOf(questionRows(300));
export const SHA256 = createHash("sha256").update(FILE).digest("hex");
export const THIRD = Math.floor(FILE.length / 3);

/** A cache folder of its own for every test of a file, and hubs that are closed after it. */
export function downloadSetup() {
  let folder = "";
  let servers: HubServer[] = [];

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "download-"));
    servers = [];
  });

  afterEach(async () => {
    for (const server of servers) await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  return {
    /** The folder the target lies in; made by the download. */
    cache: () => join(folder, "cache"),
    target: () => join(folder, "cache", "test.parquet"),
    async hub(handler: Handler): Promise<HubServer> {
      const server = await startHub(handler);
      servers.push(server);
      return server;
    },
    request(endpoint: string, changes: Partial<DownloadRequest> = {}): DownloadRequest {
      return {
        url: `${endpoint}/data/test.parquet`,
        headers: {},
        target: join(folder, "cache", "test.parquet"),
        revision: "a".repeat(40),
        magic: "PAR1",
        retry: QUICK,
        signal: never,
        hints: hubHints("Or give the file yourself: --dataset FILE."),
        ...changes,
      };
    },
    /** What lies in the target's folder. */
    async left(): Promise<string[]> {
      return (await readdir(join(folder, "cache"))).sort();
    },
  };
}
