import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { getAgent } from "../../src/agents/registry-store.js";
import type { Rollout } from "../../src/agents/rollout.js";
import { endOfDay } from "../../src/mail/date-range.js";
import { replayModel } from "../../src/models/replay.js";
import { withoutDataMarks } from "../../src/models/tool-results.js";
import type { JsonValue } from "../../src/platform/json.js";
import { loadTools } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import { DANA, MARCUS, never, openDemo, type TestDb } from "../runs/demo-setup.js";
import { play as answerWith } from "./scripted-model.js";

/** Responses to an agent that tries to access hidden mail, over the real tools and mail, scripted in a replay file. */

const DANAS = "<12224738.1075840196582.JavaMail.demo@kestrel>";
const RATIO = "<15512517.1075840196361.JavaMail.demo@kestrel>";
const QUERY_DATE = "2002-02-05";

let demo: TestDb;
beforeAll(async () => {
  demo = await openDemo();
});
afterAll(() => demo.close());

/** A script with one call per turn, then the answer. */
async function play(
  agent: string,
  calls: readonly { readonly name: string; readonly arguments: JsonValue }[],
  cutoff: string | null = endOfDay(QUERY_DATE),
): Promise<Rollout> {
  const last = { name: "return_final_answer", arguments: { answer: "I don't know", sources: [] } };
  const file = join(demo.folder, "script.json");
  writeFileSync(file, JSON.stringify({ replies: [...calls, last].map((call) => ({ toolCalls: [call] })) }));
  const { settings, id } = getAgent(demo.db, agent);
  const tools = loadTools(demo.db, id, { mailbox: openMailbox(demo.db) });
  const context = { inbox: MARCUS, cutoff, signal: never };
  return answerWith(await replayModel(file), tools, { settings, context, maxTurns: settings.maxTurns });
}

const everythingSaid = ({ messages }: Rollout) => messages.map((message) => message.content).join("\n");
const results = ({ messages }: Rollout) => messages.filter((message) => message.role === "tool");

describe("an agent bound to a mailbox", () => {
  test("receives the name of the permitted mailbox, and no mail, if it searches another one", async () => {
    const search = (inbox_id: string) => ({ name: "email_search", arguments: { query: "standstill", inbox_id } });
    const rollout = await play("email-search", [search(DANA), search(MARCUS)]);
    const [refused, own] = results(rollout);
    expect(refused).toMatchObject({ isError: true });
    expect(refused?.content).toContain(`You may search only the mailbox ${MARCUS}`);
    expect(own).toMatchObject({ isError: false });
    expect(everythingSaid(rollout)).not.toMatch(/twenty-four|Ms\. Adler|signed page/);
    expect(rollout).toMatchObject({ ending: "dont_know" });
    expect(rollout.toolCalls[0]).toMatchObject({ result: null, errorKind: "bad_arguments" });
  });

  test.each([
    ["email-search", "email_get"],
    ["art-e", "read_email"],
  ])("receives a hint, and no text, if it reads an email outside its mailbox (%s)", async (agent, name) => {
    const rollout = await play(agent, [{ name, arguments: { message_id: DANAS } }]);
    expect(results(rollout)[0]).toMatchObject({
      isError: true,
      content: `Unknown email ${DANAS} in the mailbox ${MARCUS} up to ${QUERY_DATE}. Use a message_id from a search result unchanged.`,
    });
    expect(everythingSaid(rollout)).not.toMatch(/standstill|Adler|twenty-four/);
    expect(rollout.toolCalls[0]).toMatchObject({ result: null, errorKind: "invalid_email" });
  });

  test.each([
    [
      "email-search",
      "email_search",
      { query: "Heron exchange ratio collar", inbox_id: MARCUS, limit: 50 },
      "email_get",
    ],
    ["art-e", "search_emails", { keywords: ["ratio"] }, "read_email"],
  ])("neither finds nor reads emails from the future (%s)", async (agent, search, args, read) => {
    const calls = [
      { name: search, arguments: args },
      { name: read, arguments: { message_id: RATIO } },
    ];
    const rollout = await play(agent, calls);
    const [found, refused] = results(rollout);
    expect(found).toMatchObject({ isError: false });
    expect(found?.content).not.toContain(RATIO);
    expect(refused).toMatchObject({ isError: true });
    expect(refused?.content).toContain(`Unknown email ${RATIO}`);
    expect(everythingSaid(rollout)).not.toMatch(/0\.62|tell the printers/);

    const open = await play(agent, calls, null);
    expect(results(open)[0]?.content).toContain(RATIO);
    expect(results(open)[1]?.content).toContain("0.62 of a Halvorsen share");
  });

  test("receives instructions in an email only as text in a result", async () => {
    const id = "<25791446.1075840732287.JavaMail.demo@kestrel>";
    const rollout = await play("email-search", [{ name: "email_get", arguments: { message_id: id } }]);
    expect(JSON.parse(withoutDataMarks(results(rollout)[0]?.content ?? ""))).toMatchObject({ message_id: id });
    expect(rollout).toMatchObject({ ending: "dont_know", answer: "I don't know" });
    expect(rollout.messages.filter((message) => message.role === "system")).toHaveLength(1);
  });
});
