import { afterAll, beforeAll, beforeEach, describe, expect, it, test } from "vitest";
import { MailboxState } from "../../src/tools/mailbox-state.js";
import { DANA, MARCUS } from "../runs/demo-setup.js";
import { type DemoTools, type Found, openDemoTools, type ReadMail } from "./demo-tools.js";

/** From Marcus to his team. */
const DUES = "<27689241.1075840308675.JavaMail.demo@kestrel>";

/** To Marcus and others. */
let received: string;

interface Marked {
  readonly changed: readonly { readonly message_id: string; readonly labels?: readonly string[] }[];
}

interface Drafted {
  readonly draft_id: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly subject: string;
}

let demo: DemoTools;
let state: MailboxState;

beforeAll(async () => {
  demo = await openDemoTools();
  received = demo.db
    .prepare("SELECT message_id FROM emails WHERE sender <> ? AND recipients LIKE ? AND recipients LIKE '%,%' LIMIT 1")
    .pluck()
    .get(MARCUS, `%${MARCUS}%`) as string;
});

beforeEach(() => {
  state = new MailboxState({ owner: MARCUS, now: "2001-05-14T12:00:00Z" });
});

afterAll(() => demo.close());

const act = <T>(id: string, args: object) => demo.value<T>(id, args as never, { state });
const refused = (id: string, args: object) => demo.refusal(id, args as never, { state });
const search = (query: string, more: object = {}) => act<Found>("email_search", { query, inbox_id: MARCUS, ...more });

describe("the tools that act in a mailbox", () => {
  it("label, move and mark emails, which searches and reads then show", async () => {
    await act("label_emails", { message_ids: [DUES], add: ["Team", "To pay"] });
    await act("label_emails", { message_ids: [DUES], remove: ["to pay"] });
    await act("move_emails", { message_ids: [DUES], folder: "League" });
    expect(await act<Marked>("mark_emails", { message_ids: [DUES], unread: true, flagged: true })).toEqual({
      changed: [{ message_id: DUES, labels: ["Team"], folder: "League", unread: true, flagged: true }],
    });
    const marks = { labels: ["Team"], folder: "League", unread: true, flagged: true };
    expect(await act<ReadMail>("email_get", { message_id: DUES })).toMatchObject(marks);
    const { emails } = await search("softball dues");
    expect(emails.find(({ message_id }) => message_id === DUES)).toMatchObject(marks);
    expect(emails.filter((email) => "labels" in email)).toHaveLength(1);
  });

  it("leave the imported mail and other attempts as they are", async () => {
    const { db } = demo;
    const changes = () => db.prepare("SELECT total_changes()").pluck().get();
    const before = changes();
    const { draft_id } = await act<Drafted>("create_draft", { to: ["ann@x.example"], body: "secret plan" });
    await act("send_draft", { draft_id });
    await act("move_emails", { message_ids: [DUES], folder: "archive" });
    expect(changes()).toBe(before);
    state = new MailboxState({ owner: MARCUS, now: "2001-05-14T12:00:00Z" });
    expect(await act("email_get", { message_id: DUES })).not.toHaveProperty("folder");
    expect((await search("secret plan")).emails.map(({ message_id }) => message_id)).not.toContain(draft_id);
    expect(await refused("email_get", { message_id: draft_id })).toMatchObject({ kind: "invalid_email" });
  });

  it("return the same search results until something changed", async () => {
    expect(await search("softball dues")).toEqual(
      await demo.value("email_search", { query: "softball dues", inbox_id: MARCUS }),
    );
  });

  it("show the first 200 characters of drafts in searches", async () => {
    const body = "Zanzibar ".repeat(30);
    await act("create_draft", { to: ["ann@x.example"], subject: "", body });
    expect((await search("zanzibar")).emails.map(({ snippet }) => snippet)).toEqual([body.slice(0, 200)]);
  });

  it("find drafts and sent emails by their words, recipients and dates", async () => {
    const { draft_id } = await act<Drafted>("create_draft", {
      to: ["Ann Ray <Ann@X.example>"],
      subject: "Zanzibar trip",
      body: "Tickets are booked.",
    });
    const found = async (query: string, more: object = {}) =>
      (await search(query, more)).emails.some(({ message_id }) => message_id === draft_id);
    expect(await found("zanzibar tickets")).toBe(true);
    expect(await found("zanzibar hotel")).toBe(false);
    expect(await found("zanzibar", { to: "ann@x" })).toBe(true);
    expect(await found("zanzibar", { sent_before: "2001-05-14" })).toBe(false);
    // Drafts never hide the error of a search in another mailbox.
    for (const filters of [{}, { from: MARCUS }, { to: "ann@x" }]) {
      expect(await refused("email_search", { query: "zanzibar", inbox_id: DANA, ...filters })).toMatchObject({
        kind: "bad_arguments",
        error: expect.stringContaining(`You may search only the mailbox ${MARCUS}`),
      });
    }
    expect(await act("search_emails", { keywords: ["zanzibar"] })).toMatchObject([{ message_id: draft_id }]);
    expect(await act("email_get", { message_id: draft_id })).toMatchObject({ folder: "drafts", to: ["ann@x.example"] });
    await act("send_draft", { draft_id });
    expect(await act("email_get", { message_id: draft_id })).toMatchObject({
      folder: "sent",
      body: "Tickets are booked.",
    });
    expect(await act("list_drafts", {})).toEqual({ drafts: [] });
  });

  it("address a reply to the sender, to everyone, or to the given recipients", async () => {
    const mail = demo.mailbox.mails.get(received);
    const reply = await act<Drafted>("create_draft", { reply_to: received, body: "Paid." });
    expect(reply).toMatchObject({ to: [mail?.sender], cc: [], subject: `Re: ${mail?.subject}` });
    const all = await act<Drafted>("create_draft", { reply_to: received, reply_all: true });
    expect([...all.to, ...all.cc]).not.toContain(MARCUS);
    expect(new Set([...all.to, ...all.cc])).toEqual(
      new Set([mail?.sender, ...(mail?.to ?? []), ...(mail?.cc ?? [])].filter((address) => address !== MARCUS)),
    );
    expect(await act("create_draft", { reply_to: received, to: ["bo@x.example"], subject: "Other" })).toMatchObject({
      to: ["bo@x.example"],
      subject: "Other",
    });
    expect(await act("create_draft", { forward: received, to: ["bo@x.example"] })).toMatchObject({
      subject: `Fwd: ${mail?.subject}`,
    });
    expect(
      state
        .changes()
        .drafts.map(({ reply_to, forwards }) => [reply_to, forwards])
        .sort(),
    ).toEqual(
      [
        [received, null],
        [received, null],
        [received, null],
        [null, received],
      ].sort(),
    );
  });

  it("reject all emails of a call if one of them is not in the mailbox", async () => {
    const hidden = demo.db
      .prepare("SELECT message_id FROM emails WHERE sender = ? AND recipients NOT LIKE ? LIMIT 1")
      .pluck()
      .get(DANA, `%${MARCUS}%`);
    const refusal = await refused("label_emails", { message_ids: [DUES, hidden], add: ["x"] });
    expect(refusal).toMatchObject({ kind: "invalid_email", error: expect.stringContaining(String(hidden)) });
    expect(state.changes().emails).toEqual([]);
  });

  test.each([
    ["label_emails", { message_ids: [DUES] }, "Pass labels in add or remove."],
    ["mark_emails", { message_ids: [DUES] }, "Pass unread or flagged, or both."],
    ["move_emails", { message_ids: [DUES], folder: "Sent" }, "cannot be moved to the folder Sent"],
    ["create_draft", { body: "To whom?" }, "Pass the recipients in to."],
    ["create_draft", { to: ["ann"] }, "expected one email address"],
    ["create_draft", { to: ["ann@x.example, bo@x.example"] }, "expected one email address"],
    ["create_draft", { to: ["ann@x.example"], reply_to: DUES, forward: DUES }, "reply_to or forward, not both"],
    ["send_draft", { draft_id: "<none@x>" }, "Unknown draft <none@x>."],
    ["discard_draft", { draft_id: "<none@x>" }, "Unknown draft <none@x>."],
  ])("%s rejects %j", async (id, args, message) => {
    expect(await refused(id, args)).toMatchObject({ kind: "bad_arguments", error: expect.stringContaining(message) });
  });

  test.each([
    ["label_emails", { message_ids: [DUES], add: ["x"] }],
    ["move_emails", { message_ids: [DUES], folder: "x" }],
    ["mark_emails", { message_ids: [DUES], unread: true }],
    ["create_draft", { to: [DANA] }],
    ["list_drafts", {}],
    ["send_draft", { draft_id: "<none@x>" }],
    ["discard_draft", { draft_id: "<none@x>" }],
  ])("%s works only in a task about a mailbox", async (id, args) => {
    expect(await demo.refusal(id, args as never)).toMatchObject({
      kind: "failed",
      error: "Emails can be changed only in a task or chat with a mailbox.",
    });
  });

  test.each([
    ["label_emails", { message_ids: [DUES] }, "add", 50, (i: number) => `label ${i}`],
    ["mark_emails", { unread: true }, "message_ids", 200, () => DUES],
    ["create_draft", { subject: "x" }, "to", 100, (i: number) => `p${i}@x.example`],
  ] as const)("%s with %j limits %s to %i values", async (id, args, list, most, value) => {
    const call = (count: number) => ({ ...args, [list]: Array.from({ length: count }, (_, i) => value(i)) });
    await act(id, call(most));
    expect(await refused(id, call(most + 1))).toMatchObject({ kind: "bad_arguments" });
  });
});
