import { createHash } from "node:crypto";
import { afterAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/platform/json.js";
import { type Answer, startFakeProvider } from "../providers/fake-provider.js";
import { MARCUS, RUTH } from "../runs/demo-setup.js";
import { eventsOf, openChat, says, startDemoServer } from "./demo-server.js";

/** What agents change in the mailbox of a chat: seen by later messages of the chat, and by nothing else. */

const provider = await startFakeProvider();
const server = await startDemoServer({ modelServer: provider.baseUrl("openai-chat") });
afterAll(async () => {
  await server.close();
  await provider.close();
});

const call = (name: string, args: JsonObject): Answer => ({ toolCalls: [{ name, arguments: args }] });
const DONE = call("return_final_answer", { answer: "Done.", sources: [] });
const search = (query: string, inbox = MARCUS) => call("email_search", { query, inbox_id: inbox });
const FLAG = `Flag every email from ${RUTH} of May 2001.`;
const DRAFT = { to: ["ann@x.example"], subject: "Zanzibar", body: "Bring the zanzibar folder." };

/** One message of a chat, in which the model makes these calls. Returns the results and what the chat has changed. */
async function message(calls: readonly Answer[], body: object = {}, inbox: string | null = MARCUS) {
  provider.push(...calls, DONE);
  const variables = inbox === null ? {} : { variables: { inbox_address: inbox, query_date: "2001-12-31" } };
  const request = { modelId: "openai/test", ...says("Do it."), ...variables, ...body };
  const events = await eventsOf(await openChat(server.url, "mail-worker", request));
  const info = events.find(({ type }) => type === "session-info");
  const { trace } = (await server.ask("GET", `/api/traces/${info.traceId}`)).body;
  expect(trace.actions).toEqual(info.actions);
  const results = events.filter(({ type }) => type === "tool-result").map(({ result }) => result);
  return { sessionId: info.sessionId as string, actions: trace.actions, results };
}

async function firstHit(inbox = MARCUS): Promise<string> {
  const { results } = await message([search("dues", inbox)], {}, inbox);
  return results[0].emails[0].message_id;
}

/** A hash of everything that was imported. */
function mailDigest(): string {
  const hash = createHash("sha256");
  const tables = server.db
    .prepare(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name GLOB '*mail*' OR name IN ('messages', 'owners'))",
    )
    .pluck()
    .all() as string[];
  expect(tables).toEqual(expect.arrayContaining(["mails", "messages", "mail_order"]));
  for (const table of tables.sort()) {
    for (const row of server.db.prepare(`SELECT * FROM "${table}"`).raw().iterate()) {
      hash.update(JSON.stringify(row, (_, value) => (typeof value === "bigint" ? String(value) : value)));
    }
  }
  return hash.digest("hex");
}

describe("actions in a chat", () => {
  it("reach later messages of the chat, which continue from them", async () => {
    const id = await firstHit();
    const first = await message([
      call("label_emails", { message_ids: [id], add: ["Budget"] }),
      call("move_emails", { message_ids: [id], folder: "archive" }),
      call("create_draft", DRAFT),
    ]);
    expect(first.actions).toMatchObject({
      emails: [{ labels: ["Budget"], folder: "archive" }],
      drafts: [{ to: ["ann@x.example"], subject: "Zanzibar" }],
      sent: [],
      discarded: [],
    });
    const draftId = first.actions.drafts[0].message_id;
    const second = await message(
      [search("dues"), call("email_get", { message_id: id }), search("zanzibar"), call("list_drafts", {})],
      { sessionId: first.sessionId },
    );
    const [found, opened, drafts, listed] = second.results;
    expect(found.emails[0]).toMatchObject({ labels: ["Budget"], folder: "archive" });
    expect(opened).toMatchObject({ labels: ["Budget"], folder: "archive" });
    expect(drafts.emails[0]).toMatchObject({ subject: "Zanzibar", folder: "drafts", draft_id: draftId });
    expect(listed.drafts).toHaveLength(1);
    expect(second.actions).toEqual(first.actions);
    const third = await message(
      [
        call("send_draft", { draft_id: draftId }),
        call("label_emails", { message_ids: [id], remove: ["budget"] }),
        call("move_emails", { message_ids: [id], folder: "inbox" }),
      ],
      { sessionId: first.sessionId },
    );
    expect(third.actions).toEqual({ emails: [], drafts: [], sent: [first.actions.drafts[0]], discarded: [] });
  });

  it("disappear if they cancel each other", async () => {
    const id = await firstHit();
    const { sessionId } = await message([call("mark_emails", { message_ids: [id], flagged: true })]);
    const { actions } = await message([call("mark_emails", { message_ids: [id], flagged: false })], { sessionId });
    expect(actions).toBeUndefined();
    const { results } = await message([search("dues")], { sessionId });
    expect(results[0].emails[0]).not.toHaveProperty("flagged");
  });

  it("remain if the message in which they happened failed", async () => {
    provider.push(call("create_draft", DRAFT), { fail: "status", status: 401 });
    const variables = { inbox_address: MARCUS, query_date: "2001-12-31" };
    const request = { modelId: "openai/test", ...says("Do it."), variables };
    const events = await eventsOf(await openChat(server.url, "mail-worker", request));
    expect(events.some(({ type }) => type === "error")).toBe(true);
    const { sessionId } = events.find(({ type }) => type === "session-info");
    const { results } = await message([call("list_drafts", {})], { sessionId });
    expect(results[0].drafts).toHaveLength(1);
  });

  it("never reach another chat, the chat of another mailbox, the OpenAI API or the imported mail", async () => {
    const before = mailDigest();
    const id = await firstHit();
    const { sessionId } = await message([
      call("label_emails", { message_ids: [id], add: ["Budget"] }),
      call("create_draft", DRAFT),
    ]);
    for (const inbox of [MARCUS, RUTH]) {
      const other = await message(
        [search("dues", inbox), call("list_drafts", {}), search("zanzibar", inbox)],
        {},
        inbox,
      );
      expect(JSON.stringify(other.results)).not.toMatch(/Budget|Zanzibar/);
      expect(other.results[1]).toEqual({ drafts: [] });
      expect(other.actions).toBeUndefined();
    }
    const { body } = await server.ask("POST", "/v1/chat/completions", {
      model: "mail-rules",
      ...says(FLAG),
      metadata: { inbox_address: MARCUS },
    });
    const { trace } = (await server.ask("GET", `/api/traces/${body.art_e.trace_id}`)).body;
    expect(trace.actions.emails.length).toBeGreaterThan(0);
    expect(JSON.stringify(trace)).not.toMatch(/Budget|Zanzibar/);
    expect((await server.ask("GET", `/api/mails/${encodeURIComponent(id)}`)).body).not.toHaveProperty("labels");
    expect(mailDigest()).toBe(before);
    const own = await message([call("list_drafts", {})], { sessionId });
    expect(own.results[0].drafts).toHaveLength(1);
  });

  it("never mix between chats that run concurrently", async () => {
    const chats = await Promise.all(
      Array.from({ length: 8 }, async (_, i) => {
        const variables = { inbox_address: MARCUS, query_date: "2001-12-31" };
        const request = {
          modelProvider: "offline",
          modelId: "offline/mail-rules",
          ...says(`Flag every email from ${RUTH} of May 2001. ${i}`),
          variables,
        };
        return eventsOf(await openChat(server.url, "mail-rules", request));
      }),
    );
    const actions = chats.map((events) => events.find(({ type }) => type === "session-info").actions);
    expect(actions[0].emails.length).toBeGreaterThan(0);
    expect(new Set(actions.map((one) => JSON.stringify(one))).size).toBe(1);
  });

  it("fail with a reason if the chat has no mailbox", async () => {
    const { results, actions } = await message([call("create_draft", DRAFT)], {}, null);
    expect(results[0]).toEqual({ error: "Emails can be changed only in a task or chat with a mailbox." });
    expect(actions).toBeUndefined();
  });
});
