import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { checkedEndpoint, type Hub } from "../../src/platform/huggingface.js";
import { loadQuestions } from "../../src/questions/dataset/download-questions.js";
import { QUESTIONS_REVISION } from "../../src/questions/published-dataset.js";
import { parquetOf, questionRows } from "../questions/question-rows.js";
import { type Handler, hubSetup, never, QUICK, sendFile, sendJson } from "./hub-server.js";

const COMMIT = "0123456789abcdef0123456789abcdef01234567";

const { folder, hub } = hubSetup();

function load(
  endpoint: string,
  changes: { useJson?: boolean; revision?: string; token?: string; split?: "test" | "train" } = {},
) {
  const { useJson = false, revision = COMMIT, token = null, split = "test" } = changes;
  const where: Hub = { endpoint, rowsEndpoint: endpoint, token, retry: QUICK };
  return loadQuestions({ split, dataset: null, useJson, hub: { ...where, revision }, cacheDir: folder() }, never);
}

describe("checkedEndpoint", () => {
  it.each(["huggingface.co", "ftp://huggingface.co", "https://name:secret@mirror.example.com"])(
    "rejects %s, and does not repeat it",
    (address) => {
      expect(() => checkedEndpoint(address)).toThrow(
        /^Cannot use the hub's URL: expected a plain http or https URL\.$/,
      );
    },
  );

  it("removes trailing slashes", () => {
    expect(checkedEndpoint("https://mirror.example.com/hf/")).toBe("https://mirror.example.com/hf");
  });
});

describe("questions from the Parquet file", () => {
  const FILE = parquetOf(questionRows(5));

  it("cause an error if the pinned revision has a different size", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    await expect(load(server.endpoint, { revision: QUESTIONS_REVISION })).rejects.toMatchObject({
      message: expect.stringContaining(`has ${FILE.length} bytes, not 267520`),
    });
  });

  it("cause an error with the row's number if a row is invalid", async () => {
    const bad = parquetOf(questionRows(5).map((row) => ({ ...row, query_date: "some day" })));
    const server = await hub((req, res) => sendFile(req, res, bad));
    await expect(load(server.endpoint)).rejects.toMatchObject({ message: expect.stringMatching(/row 1.*5 of 5 rows/) });
  });

  it("come from the file of their split at the commit, with the token", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    const set = await load(server.endpoint, { split: "train", token: "hf_secret" });
    expect(server.seen).toMatchObject([
      {
        path: `/datasets/corbt/enron_emails_sample_questions/resolve/${COMMIT}/data/train-00000-of-00001.parquet`,
        headers: { authorization: "Bearer hf_secret" },
      },
    ]);
    expect(set).toEqual({
      source: `corbt/enron_emails_sample_questions@${COMMIT}`,
      revision: COMMIT,
      sha256: createHash("sha256").update(FILE).digest("hex"),
      split: "train",
      questions: questionRows(5).map((row) => ({ ...row, split: "train" })),
    });
  });

  it("cause no further request once cached", async () => {
    const server = await hub((req, res) => sendFile(req, res, FILE));
    const first = await load(server.endpoint);
    expect(await load("http://127.0.0.1:1")).toEqual(first);
    expect(server.seen).toHaveLength(1);
  });

  it("come from the branch's commit if the revision is a branch", async () => {
    const server = await hub((req, res) => {
      if (req.url?.includes("/revision/")) sendJson(res, { sha: COMMIT });
      else sendFile(req, res, FILE);
    });
    const set = await load(server.endpoint, { revision: "refs/convert/parquet" });
    expect(set.revision).toBe(COMMIT);
    expect(server.seen[0]?.path).toBe(
      "/api/datasets/corbt/enron_emails_sample_questions/revision/refs%2Fconvert%2Fparquet",
    );
    expect(server.seen[1]?.path).toContain(`/resolve/${COMMIT}/`);
  });
});

describe("questions from the rows API", () => {
  const ROWS = questionRows(230);

  function page(request: IncomingMessage, total = ROWS.length) {
    const query = new URL(request.url ?? "", "http://hub").searchParams;
    const offset = Number(query.get("offset"));
    const rows = ROWS.slice(offset, offset + Number(query.get("length")));
    return {
      rows: rows.map((row, i) => ({ row_idx: offset + i, row, truncated_cells: [] as string[] })),
      num_rows_total: total,
      partial: false,
    };
  }

  it.each<[string, Handler, string]>([
    [
      "the API has only a part of them",
      (req, res) => sendJson(res, { ...page(req), partial: true }),
      "only part of the dataset",
    ],
    ["there are none", (_, res) => sendJson(res, { rows: [], num_rows_total: 0 }), "the split is empty"],
    [
      "a cell was truncated",
      (req, res) => {
        const { rows, ...rest } = page(req);
        sendJson(res, { ...rest, rows: rows.map((row) => ({ ...row, truncated_cells: ["answer"] })) });
      },
      "truncated cells: answer",
    ],
    [
      "pages end before the last row",
      (req, res) => sendJson(res, page(req, 231)),
      "expected rows from 230 to 231, got none",
    ],
    [
      "a page is not the requested one",
      (req, res, count) => {
        if (count === 2 && req.url !== undefined) req.url = req.url.replace("offset=100", "offset=0");
        sendJson(res, page(req));
      },
      "expected row 100, got row 0",
    ],
    [
      "the dataset changes between two pages",
      (req, res, count) => sendJson(res, page(req), { "x-revision": `commit-${count}` }),
      "changed during the download",
    ],
    ["the response is not JSON", (_, res) => res.end("<html>"), "not JSON"],
    ["the response is an error", (_, res) => sendJson(res, { error: "no such config" }), "rows"],
    [
      "only a part of them arrived",
      (req, res, count) => {
        if (count <= 2) sendJson(res, page(req));
        else res.writeHead(404).end();
      },
      "404",
    ],
  ])("cause an error if %s, and the cache stays empty", async (_, handler, message) => {
    const server = await hub(handler);
    await expect(load(server.endpoint, { useJson: true })).rejects.toMatchObject({
      code: "download_failed",
      message: expect.stringContaining(message),
    });
    expect(await readdir(folder())).toEqual([]);
  });

  it("arrive completely, page by page, despite a 429, a 500 and a lost connection", async () => {
    const server = await hub((req, res, count) => {
      if (count === 2) res.writeHead(429, { "retry-after": "0" }).end();
      else if (count === 4) res.writeHead(500).end();
      else if (count === 5) req.socket.destroy();
      else sendJson(res, page(req), { "x-revision": COMMIT });
    });
    const set = await load(server.endpoint, { useJson: true });
    expect(set.questions).toEqual(ROWS.map((row) => ({ ...row, split: "test" })));
    expect(set).toMatchObject({
      source: `corbt/enron_emails_sample_questions@${COMMIT} (rows API)`,
      revision: COMMIT,
      split: "test",
    });
    const offsets = server.seen.map((seen) => new URL(seen.path, "http://hub").searchParams.get("offset"));
    expect(offsets).toEqual(["0", "100", "100", "200", "200", "200"]);
    expect(server.seen[0]?.path).toBe(
      "/rows?dataset=corbt%2Fenron_emails_sample_questions&config=default&split=test&offset=0&length=100",
    );
  });

  it("cause another request only if the cache is damaged", async () => {
    const server = await hub((req, res) => sendJson(res, page(req)));
    const first = await load(server.endpoint, { useJson: true });
    expect(await load(server.endpoint, { useJson: true })).toEqual(first);
    expect(server.seen).toHaveLength(3);
    const path = join(folder(), "corbt", "enron_emails_sample_questions", "rows-api", "test.jsonl");
    const lines = (await readFile(path, "utf8")).split("\n");
    await writeFile(path, lines.slice(0, 100).join("\n"));
    expect(await load(server.endpoint, { useJson: true })).toEqual(first);
    expect(server.seen).toHaveLength(6);
  });
});
