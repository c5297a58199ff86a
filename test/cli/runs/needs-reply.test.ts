import { afterEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/platform/json.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, MARCUS, workFolder } from "../art-e.js";

const { artE } = workFolder({ mail: MAIL });

describe("art-e ask --needs-reply", () => {
  let provider: FakeProvider | null = null;

  afterEach(async () => {
    await provider?.close();
    provider = null;
  });

  /** Starts a server whose model records these opinions, and returns the variables that select it. */
  async function modelThatRecords(emails: readonly JsonValue[]): Promise<Record<string, string>> {
    provider = await startFakeProvider(() => ({ toolCalls: [{ name: "record_opinions", arguments: { emails } }] }));
    return { OPENAI_API_KEY: "test-key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
  }

  it("lists unanswered emails with the rule's reasons, newest first", async () => {
    const { code, stdout, stderr } = await artE(["ask", MARCUS, "--needs-reply"]);
    expect([code, stderr]).toEqual([0, expect.stringMatching(/^No API key is set .*: only the rule's reasons/)]);
    expect(stdout).toContain(
      `Unanswered emails from 2002-02-05 to 2002-02-11 to ${MARCUS}, without newsletters and notices: 2`,
    );
    expect(stdout.match(/^ {2}\d{4}-\d\d-\d\d {2}\S+ {2}.+\n {2}Rule: .+$/gm)).toEqual([
      "  2002-02-11  howard.mapes@kestrelplains.example  Heron\n  Rule: addressed to you and 2 others",
      "  2002-02-06  rhaskins@sandhillpipe.example  Monthly meter statement - January 2002\n  Rule: addressed to you and 2 others, contains a request",
    ]);
  });

  it("prints one document with --json, as of the day before --before", async () => {
    const line = [
      "ask",
      MARCUS,
      "--needs-reply",
      "--before",
      "2001-07-06",
      "--after",
      "2001-07-04",
      "--json",
      "--quiet",
    ];
    const { stdout } = await artE(line);
    const list = JSON.parse(stdout);
    expect(list).toMatchObject({ inbox: MARCUS, window: { from: "2001-07-04", until: "2001-07-05" }, model: null });
    expect(list.emails.map(({ subject }: { subject: string }) => subject)).toContain("Teller gate key");
    expect(list.total).toBe(list.emails.length);
  });

  it("says so if there is no email", async () => {
    const none = await artE(["ask", MARCUS, "--needs-reply", "--before", "1970-01-01"]);
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toBe(`The mailbox of ${MARCUS} has no dated emails in this period.\n`);
    const answered = await artE(["ask", MARCUS, "--needs-reply", "--after", "2002-02-12"]);
    expect(answered.stdout).toBe(`No emails since 2002-02-12 need a reply from ${MARCUS}.\n`);
  });

  it.each([
    [["--needs-reply", "How much?"], "--needs-reply cannot be combined with a question."],
    [["How much?", "--after", "2001-01-01"], "--after requires --needs-reply."],
    [[], "QUESTION is required."],
  ])("rejects the words %j", async (words, message) => {
    const { code, stderr } = await artE(["ask", "--inbox", MARCUS, ...words]);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)]);
  });

  it("adds the model's reason to each email, with one call", async () => {
    const variables = await modelThatRecords([
      { number: 2, needs_reply: true, reason: "The meter statement\nmust be confirmed." },
      { number: 1, needs_reply: false, reason: "It only informs." },
    ]);
    const { stdout } = await artE(["ask", MARCUS, "--needs-reply"], variables);
    expect(stdout.match(/^ {2}Model: .+$/gm)).toEqual([
      "  Model: no reply needed. It only informs.",
      "  Model: needs a reply. The meter statement must be confirmed.",
    ]);
    expect(provider?.requests).toHaveLength(1);
    expect(JSON.stringify(provider?.requests[0]?.body)).toContain("Monthly meter statement");
    const offline = await artE(["ask", MARCUS, "--needs-reply", "-a", "baseline"], variables);
    expect(offline.stdout).not.toContain("Model:");
    expect(provider?.requests).toHaveLength(1);
  });

  it.each([
    ["an email is missing", [{ number: 1, needs_reply: true, reason: "x" }], "each of the 2 emails once"],
    [
      "a number is unknown",
      [1, 2, 3].map((number) => ({ number, needs_reply: true, reason: "x" })),
      "each of the 2 emails once",
    ],
    ["a reason is missing", [{ number: 1, needs_reply: true }], "emails.0.reason"],
  ])("rejects a reply in which %s", async (_, emails, message) => {
    const { code, stderr, stdout } = await artE(["ask", MARCUS, "--needs-reply"], await modelThatRecords(emails));
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(message);
    expect(stderr).toContain("--agent baseline");
  });
});
