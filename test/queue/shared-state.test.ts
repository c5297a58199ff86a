import { randomBytes } from "node:crypto";
import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  compressJson,
  MessageTooLarge,
  parseQueueUrl,
  readCompressed,
  readMessage,
} from "../../src/queue/connection/redis.js";
import {
  PROTOCOL,
  resultMessageSchema,
  runManifestSchema,
  taskMessageSchema,
} from "../../src/queue/protocol/shared-state.js";

const question = {
  id: 1,
  question: "When?",
  answer: "Now",
  message_ids: [],
  how_realistic: 1,
  inbox_address: "a@b.example",
  query_date: "2001-01-01",
};

describe("a queue message", () => {
  it("stays the same after writing and reading", async () => {
    const value = { text: "émojis 🦊 and \u0000", list: [1, null, { deep: true }] };
    expect(await readCompressed("it", await compressJson("it", value), z.json())).toEqual(value);
  });

  it("causes an error with its name if it is too large", async () => {
    const noise = randomBytes(17 * 1024 * 1024).toString("base64");
    await expect(compressJson("Its trace", noise)).rejects.toThrow(
      /^Its trace has \d+\.\d MB compressed, but the queue accepts at most 16\.0 MB$/,
    );
    await expect(compressJson("Its trace", noise)).rejects.toBeInstanceOf(MessageTooLarge);
  });

  it("causes an error if it inflates to too many bytes", async () => {
    const bomb = deflateRawSync(Buffer.alloc(130 * 1024 * 1024)).toString("base64");
    await expect(readCompressed("The trace", bomb, z.json())).rejects.toThrow(/^The trace cannot be read: /);
  });

  it.each([
    ["invalid base64", "?"],
    ["uncompressed bytes", Buffer.from("hello").toString("base64")],
    ["compressed text that is not JSON", deflateRawSync("{").toString("base64")],
    ["JSON of another type", deflateRawSync("[]").toString("base64")],
  ])("causes an error if it contains %s", async (_, text) => {
    await expect(readCompressed("It", text, z.strictObject({}))).rejects.toThrow(/^It (cannot be read|is invalid)/);
  });

  it.each([
    ["a task without a question", taskMessageSchema, { epoch: 1 }],
    ["an entire suite task", taskMessageSchema, { task: { id: "x", instruction: "rm" }, epoch: 1 }],
    ["a task with an unknown field", taskMessageSchema, { task: question, epoch: 1, run: "rm -rf" }],
    ["a question with an unknown field", taskMessageSchema, { task: { ...question, tool: "x" }, epoch: 1 }],
    ["epoch 0", taskMessageSchema, { task: question, epoch: 0 }],
    [
      "a result without a trace",
      resultMessageSchema,
      { worker: "a", isHeld: false, isStopped: false, server: "answering" },
    ],
    ["a run with an invalid id", runManifestSchema, { protocol: PROTOCOL, runId: "../../x" }],
    ["a run with a different protocol version", runManifestSchema, { protocol: PROTOCOL + 1, runId: "run_1" }],
  ])("causes an error if it is %s", (_, schema, value) => {
    expect(() => readMessage("It", value, schema)).toThrow(/^It is invalid: /);
  });

  it.each([{ timeoutMs: 1e12 }, { timeoutMs: "9" }, { timeoutMs: -1 }, { rpm: 0 }, { rpm: 1e300 }, { tpm: -1 }])(
    "causes an error if its requests have the limit %o",
    (limit) => {
      const requests = { timeoutMs: 1_000, rpm: null, tpm: 1, cache: false };
      const { shape } = runManifestSchema;
      expect(shape.requests.safeParse(requests).success).toBe(true);
      expect(shape.requests.safeParse({ ...requests, ...limit }).success).toBe(false);
    },
  );

  it("reaches the worker if it contains a valid task", () => {
    expect(readMessage("It", { task: question, epoch: 2 }, taskMessageSchema)).toEqual({ task: question, epoch: 2 });
  });
});

describe("parseQueueUrl", () => {
  it.each([
    ["redis://localhost", "redis://localhost", []],
    ["rediss://user:p%40ss@redis.example:6380/2", "rediss://redis.example:6380/2", ["p@ss", "p%40ss"]],
    ["redis://:secret@10.0.0.1:6379/", "redis://10.0.0.1:6379", ["secret", "secret"]],
  ])("shows %s as %s", (text, shown, secrets) => {
    expect(parseQueueUrl(text)).toEqual({ url: text, displayUrl: shown, secrets });
  });

  it.each(["localhost:6379", "http://x", "redis://", "redis://h/db", "redis://:hidden-word@h/1?x=1", ""])(
    "rejects %s, and does not repeat it",
    (text) => {
      expect(() => parseQueueUrl(text)).toThrow("--queue (or ART_E_QUEUE_URL): expected the URL of a Redis server.");
    },
  );
});
