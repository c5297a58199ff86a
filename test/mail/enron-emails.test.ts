import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { downloadEnronEmails, type Hub } from "../../src/platform/huggingface.js";
import { type Handler, never, QUICK, sendFile, sendJson, startHub } from "../platform/hub-server.js";
import { parquetOf, questionRows } from "../questions/question-rows.js";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

let folder: string;
let open: AsyncDisposable[];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hub-"));
  open = [];
});

afterEach(async () => {
  for (const server of open) await server[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function hub(handler: Handler) {
  const server = await startHub(handler);
  open.push(server);
  return server;
}

describe("the mail", () => {
  const SHARDS = [0, 1, 2].map((i) => ({
    path: `data/train-0000${i}-of-00003.parquet`,
    bytes: parquetOf(questionRows(50 + i, i * 100)),
  }));
  const TOTAL = SHARDS.reduce((sum, shard) => sum + shard.bytes.length, 0);

  function tree(shards = SHARDS) {
    return shards.map(({ path, bytes }) => ({
      type: "file",
      path,
      oid: "0".repeat(40),
      size: bytes.length,
      lfs: { oid: createHash("sha256").update(bytes).digest("hex"), size: bytes.length, pointerSize: 130 },
    }));
  }

  /** A hub with the dataset of the mail; `change` may answer a request otherwise. */
  function mailHub(change: (req: IncomingMessage, res: ServerResponse) => boolean = () => false) {
    return hub((req, res) => {
      if (change(req, res)) return;
      if (req.url === "/api/datasets/corbt/enron-emails/revision/main") return sendJson(res, { sha: COMMIT });
      if (req.url === `/api/datasets/corbt/enron-emails/tree/${COMMIT}/data`) return sendJson(res, tree());
      const shard = SHARDS.find(({ path }) => req.url === `/datasets/corbt/enron-emails/resolve/${COMMIT}/${path}`);
      if (shard === undefined) res.writeHead(404).end();
      else sendFile(req, res, shard.bytes);
    });
  }

  const at = (endpoint: string): Hub => ({ endpoint, token: null, retry: QUICK });

  it("is refused where a shard is missing from the list", async () => {
    const server = await mailHub((req, res) => {
      if (!req.url?.includes("/tree/")) return false;
      sendJson(res, tree(SHARDS.slice(1)));
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder, never)).rejects.toMatchObject({
      message: expect.stringContaining("lists 2 of 3 shards"),
      hint: expect.stringContaining("art-e import FOLDER"),
    });
  });

  it("is refused where a shard is not what the list says", async () => {
    const other = Buffer.from(SHARDS[1]?.bytes ?? []);
    other[100] = (other[100] ?? 0) ^ 1;
    const server = await mailHub((req, res) => {
      if (!req.url?.includes("00001-of-00003")) return false;
      sendFile(req, res, other);
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder, never)).rejects.toMatchObject({
      message: expect.stringContaining("its SHA-256 is"),
    });
  });

  it("is refused where the hub cannot be reached, with what to do by hand", async () => {
    await expect(downloadEnronEmails(at("http://127.0.0.1:1"), folder, never)).rejects.toMatchObject({
      code: "download_failed",
      hint: expect.stringContaining("art-e import FOLDER"),
    });
  });

  it("comes in three shards of one commit, which is recorded", async () => {
    const server = await mailHub();
    const progress: [number, number | null][] = [];
    const shards = await downloadEnronEmails(at(server.endpoint), folder, never, (bytes, total) => {
      progress.push([bytes, total]);
    });
    expect(shards).toBe(join(folder, "corbt", "enron-emails", COMMIT));
    for (const { path, bytes } of SHARDS) {
      expect(await readFile(join(shards, path.replace("data/", "")))).toEqual(bytes);
    }
    expect((await readdir(shards)).filter((name) => !name.endsWith(".parquet.json"))).toHaveLength(3);
    expect(progress.at(-1)).toEqual([TOTAL, TOTAL]);
    expect(progress.map(([bytes]) => bytes)).toEqual(progress.map(([bytes]) => bytes).sort((a, b) => a - b));
    expect(JSON.parse(await readFile(join(folder, "corbt", "enron-emails", "main.json"), "utf8"))).toMatchObject({
      commit: COMMIT,
    });
  });

  it("is not asked for again once it is cached, not even what main stands for", async () => {
    const server = await mailHub();
    const first = await downloadEnronEmails(at(server.endpoint), folder, never);
    expect(server.seen).toHaveLength(5);
    expect(await downloadEnronEmails(at("http://127.0.0.1:1"), folder, never)).toBe(first);
  });

  it("that failed at a shard stays at its commit and fetches only what is missing", async () => {
    let failing = true;
    const server = await mailHub((req, res) => {
      if (!failing || !req.url?.includes("00002-of-00003")) return false;
      res.writeHead(404).end();
      return true;
    });
    await expect(downloadEnronEmails(at(server.endpoint), folder, never)).rejects.toThrow(/404/);
    failing = false;
    const before = server.seen.length;
    await downloadEnronEmails(at(server.endpoint), folder, never);
    expect(server.seen.slice(before).map((seen) => seen.path)).toEqual([
      `/datasets/corbt/enron-emails/resolve/${COMMIT}/data/train-00002-of-00003.parquet`,
    ]);
  });
});
