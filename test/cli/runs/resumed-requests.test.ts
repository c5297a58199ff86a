import { copyFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/sqlite.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import type { ParsedRequest } from "../../providers/wire-request.js";
import { demoQuestion, MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** Stored replies of a killed run whose requests change when it is resumed. */

const { artE, path, start } = workFolder({ mail: MAIL });
const { question } = demoQuestion(1);

/** Turns that were requested. */
let turns: number[] = [];
let isHanging = true;
let provider: FakeProvider;
let other: FakeProvider;

beforeAll(async () => {
  [provider, other] = await Promise.all([startFakeProvider(reply), startFakeProvider(reply)]);
  const line = `run -a email-search --model-id openai/test --dataset ${QUESTIONS} -l 1 --no-judge --body seed=1 --name killed`;
  const { child, ended } = start(line, variables());
  await provider.received(2);
  child.kill("SIGKILL");
  await ended;
  isHanging = false;
  const db = new Database(path("art-e.db"));
  db.pragma("wal_checkpoint(TRUNCATE)");
  db.close();
  copyFileSync(path("art-e.db"), path("killed.db"));
});
afterAll(async () => {
  await provider.close();
  await other.close();
});

/** Searches, and answers in the next turn, in which the run is killed. */
async function reply({ turn }: ParsedRequest) {
  turns.push(turn);
  if (turn === 0) return { toolCalls: [{ name: "email_search", arguments: { query: question } }] };
  if (isHanging) await new Promise(() => {});
  return { toolCalls: [{ name: "return_final_answer", arguments: { answer: "42", sources: [] } }] };
}

const variables = () => ({ OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") });

/** Resumes a copy of the killed run. Returns the notes about stored replies, and the turns that were requested. */
async function resumed(flags: string) {
  copyFileSync(path("killed.db"), path("resumed.db"));
  turns = [];
  const { code, stderr } = await artE(`run --resume killed --db resumed.db --no-progress ${flags}`, variables());
  expect({ code, stderr: code === 0 ? "" : stderr }).toEqual({ code: 0, stderr: "" });
  return { notes: stderr.match(/^art-e: .*stored repl.*$/gm), turns };
}

describe("a killed run", () => {
  it("continues with its stored reply if its requests are the same", async () => {
    expect(await resumed("")).toEqual({
      notes: ["art-e: 1 unfinished task will continue with 1 stored reply. Its tool calls are executed again."],
      turns: [1],
    });
  });

  it.each([
    ["base URL", () => `--base-url ${other.baseUrl("openai-chat")}`],
    ["header", () => "--header X-Team=blue"],
    ["body field", () => "--body team=7"],
    ["seed", () => "--body seed=2"],
    ["model", () => "--model-id openai/other"],
    ["temperature", () => "--temperature 0.7"],
    ["reasoning effort", () => "--reasoning-effort high"],
    ["token limit", () => "--max-tokens 999"],
  ])("does not use replies to requests with another %s, and says so", async (_, flags) => {
    expect(await resumed(`--force ${flags()}`)).toEqual({
      notes: [
        "art-e: 1 stored reply is not used, because the model, its server or its requests have changed. The calls are made again.",
      ],
      turns: [0, 1],
    });
  });
});
