import { afterEach, describe, expect, it } from "vitest";
import type { JsonValue } from "../../../src/platform/json.js";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, MARCUS, workFolder } from "../art-e.js";

const { artE } = workFolder({ mail: MAIL });

describe("art-e ask --needs-reply or --waiting-for", () => {
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
      `Unanswered emails to ${MARCUS}, 2002-02-05 to 2002-02-11, without newsletters and notices: 2`,
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
    expect(list).toMatchObject({
      kind: "needs-reply",
      inbox: MARCUS,
      window: { from: "2001-07-04", until: "2001-07-05" },
      model: null,
    });
    expect(list.emails.map(({ subject }: { subject: string }) => subject)).toContain("Teller gate key");
    expect(list.total).toBe(list.emails.length);
  });

  it("lists the owner's emails that wait for an answer, and asks the model about them", async () => {
    const line = ["ask", MARCUS, "--waiting-for", "--after", "2001-12-01"];
    const variables = await modelThatRecords([{ number: 1, needs_reply: true, reason: "It sets a deadline." }]);
    const { stdout } = await artE(line, variables);
    expect(stdout).toContain(
      [
        `Unanswered emails from ${MARCUS} that ask for something, 2001-12-01 to 2002-02-11: 1`,
        "",
        "<19350630.1075840453674.JavaMail.demo@kestrel>",
        "  2001-12-11  Ardmore renewal",
        "  Rule: sent to dana.okafor@kestrelplains.example and 2 others, contains a request",
        "  Model: needs a reply. It sets a deadline.",
      ].join("\n"),
    );
    const [request] = provider?.requests ?? [];
    const sent = JSON.stringify(request);
    expect(sent).toContain("A person sent the following emails, and nobody has answered them.");
    expect(sent).toContain(`need a reply to ${MARCUS}`);
  });

  it("says so if there is no email", async () => {
    const none = await artE(["ask", MARCUS, "--needs-reply", "--before", "1970-01-01"]);
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toBe(`The mailbox of ${MARCUS} has no dated emails in this period.\n`);
    const answered = await artE(["ask", MARCUS, "--needs-reply", "--after", "2002-02-12"]);
    expect(answered.stdout).toBe(`No emails since 2002-02-12 need a reply from ${MARCUS}.\n`);
    const waiting = await artE(["ask", MARCUS, "--waiting-for"]);
    expect(waiting.stdout).toBe(`No emails since 2002-01-29 need a reply to ${MARCUS}.\n`);
  });

  it.each([
    [["--needs-reply", "How much?"], "--needs-reply cannot be combined with a question."],
    [["--waiting-for", "How much?"], "--waiting-for cannot be combined with a question."],
    [["--needs-reply", "--waiting-for"], "--needs-reply and --waiting-for cannot be combined."],
    [["How much?", "--after", "2001-01-01"], "--after requires --needs-reply or --waiting-for."],
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
