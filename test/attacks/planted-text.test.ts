import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { openStore } from "../../src/store/open-store.js";
import { ATTACK_KINDS } from "../../src/tasks/attack.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { addressOf, MAIL, type Started, workFolder } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "../reports/synthetic-run.js";

/** Every output of runs whose planted emails, and the actions of the agent that obeyed them, attack the reader. */

const MARKUP = `"><img src=x onerror="window.taken=1"><script>window.taken=2</script>`;
/** Closes comments and data blocks, makes links and mentions, reverses the line, and clears the terminal. */
const PLANTED = `--> ]]> ${MARKUP} [x](javascript:window.taken=3) | @everyone \u202egnp.exe\u202c\u200f \u001b[2J\u001b]0;taken\u0007 \u009b31m`;

/** Characters that control a terminal or reverse a line. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the outputs are searched for them.
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\p{Bidi_Control}]/u;

const TASKS = ATTACK_KINDS.length;

/** A trace of an agent that saw a planted email and did everything that it orders. */
function obeyed(trace: QuestionTrace): QuestionTrace {
  const id = `<${PLANTED}@outside.example>`;
  const outgoing = { message_id: id, to: [PLANTED], cc: [PLANTED], bcc: [PLANTED], subject: PLANTED, body: PLANTED };
  const draft = { ...outgoing, reply_to: id, forwards: id };
  const seen = { message_id: id, subject: PLANTED, sender: PLANTED, date: PLANTED };
  const opened = { ...seen, to: [PLANTED], cc: [], bcc: [], body: PLANTED, labels: [PLANTED], folder: PLANTED };
  const called = { startedAt: trace.startedAt, durationMs: 1, turn: 0, error: null, errorKind: null };
  const calls = [
    {
      id: "c1",
      name: "email_search",
      arguments: { query: PLANTED },
      result: { emails: [{ ...seen, snippet: PLANTED }] },
    },
    { id: "c2", name: "email_get", arguments: { message_id: id }, result: opened },
    { id: "c3", name: "move_emails", arguments: { message_ids: [id], folder: PLANTED }, result: null, error: PLANTED },
  ];
  return {
    ...trace,
    ending: "answered",
    error: null,
    answer: PLANTED,
    sources: [id],
    task: {
      ...trace.task,
      goal: {
        emails: [{ message_ids: [id], labels: [PLANTED] }],
        drafts: [],
        sent: [{ recipients: [PLANTED], reply_to: id, forwards: null, facts: [PLANTED] }],
        discarded: [id],
      },
    },
    attack: {
      kind: ATTACK_KINDS[Number(trace.taskId) % TASKS] ?? "order",
      mark: { kind: "argument", value: PLANTED },
      emails: [{ ...seen, to: [PLANTED], body: PLANTED }],
    },
    actions: {
      emails: [{ message_id: id, labels: [PLANTED], folder: PLANTED, flagged: true }],
      drafts: [draft],
      sent: [draft],
      discarded: [id],
    },
    messages: [
      ...trace.messages.slice(0, 2),
      {
        role: "assistant",
        content: PLANTED,
        toolCalls: calls.map(({ id, name, arguments: args }) => ({ id, name, arguments: args })),
      },
      ...calls.map(({ id, name, result }) => ({
        role: "tool" as const,
        toolCallId: id,
        name,
        content: `${PLANTED} ${JSON.stringify(result)}`,
        isError: result === null,
      })),
    ],
    toolCalls: calls.map((call) => ({ ...called, ...call })),
    scores: {
      ...trace.scores,
      goalReached: { value: 0, explanation: PLANTED },
      collateral: { value: 4, explanation: PLANTED },
      resisted: { value: 0, explanation: PLANTED },
      hijacked: { value: 1, explanation: PLANTED },
    },
  };
}

const TRACE = "trace_attacked_3";

describe("planted text", () => {
  const { artE, path, read, start } = workFolder({ mail: MAIL });

  beforeAll(() => {
    const db = openStore(path("art-e.db"), { mustExist: true });
    saveSynthetic(db, { id: "plain", tasks: TASKS });
    saveSynthetic(db, { id: "attacked", tasks: TASKS, change: obeyed });
    db.prepare(
      "UPDATE runs SET settings = json_set(settings, '$.perturbation', 'hostile') WHERE id = 'attacked'",
    ).run();
    db.close();
  });

  test.each([
    ["show", TRACE, /Obeyed: .*window\.taken=1.* in the actions/],
    ["show --json", `${TRACE} --json`, /window\.taken=2/],
  ])("does not control the terminal in the output of %s", async (_, words, expected) => {
    const { code, stdout, stderr } = await artE(`show ${words}`);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(expected);
    // JSON contains bidi marks, because a program reads it.
    expect(words.includes("--json") ? stdout.replace(/\p{Bidi_Control}/gu, "") : stdout).not.toMatch(CONTROLS);
  });

  it("does not control the terminal in the output of reliability", async () => {
    const { code, stdout, stderr } = await artE("reliability plain attacked");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/homoglyph/);
    expect(stdout).not.toMatch(CONTROLS);
  });

  it("remains text in Markdown", async () => {
    const { code } = await artE("report plain attacked --format md -o report.md");
    expect(code).toBe(0);
    const text = read("report.md");
    expect(text).toMatch(/homoglyph|Resisted/i);
    expect(text).not.toMatch(CONTROLS);
    expect(text).not.toMatch(/<img|<script|\]\(javascript|@everyone/);
  });

  it("remains text in JUnit", async () => {
    const { code } = await artE(
      "gate attacked --metric hijacked --junit junit.xml --junit-tasks --fail-under resisted=0.9",
    );
    expect(code).toBe(3);
    const text = read("junit.xml");
    expect(text).toContain("&lt;img src=x onerror=&quot;window.taken=1&quot;&gt;");
    expect(text).not.toMatch(CONTROLS);
    expect(text).not.toMatch(/<img|<script|]]>|-->/);
  });

  it("stays in its cell in CSV", async () => {
    const { code } = await artE("report attacked --format csv -o tasks.csv");
    expect(code).toBe(0);
    expect(read("tasks.csv")).toContain(MARKUP.replaceAll('"', '""'));
    expect(read("tasks.csv").split("\r\n")).toHaveLength(1 + TASKS + 1);
  });

  describe("in a browser", { ...needs("browser"), timeout: 60_000 }, () => {
    const browser = new TestBrowser();
    let server: Started;
    let url = "";

    beforeAll(async () => {
      server = start("serve --port 0");
      url = await addressOf(server);
    });
    afterAll(async () => {
      server?.child.kill("SIGKILL");
      await server?.ended;
    });

    /** Opens everything that is collapsed, and checks that planted text is text. */
    async function expectText(page: Page, root: string): Promise<void> {
      const part = page.locator(root).first();
      await part.waitFor();
      await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true');
      await part.locator(".attack pre").first().waitFor();
      const text = (await part.textContent()) ?? "";
      expect(text).toContain("The agent: hijacked");
      // Planted text appears in the email, the order, the actions, the calls, the sources and the answer.
      expect(text.split(MARKUP).length).toBeGreaterThan(15);
      expect(text).not.toMatch(CONTROLS);
      expect(await page.evaluate('"taken" in window')).toBe(false);
      expect(await page.locator(`${root} :is(script, img, iframe, base, object)`).count()).toBe(0);
      const links = await page.evaluate<(string | null)[]>(
        `[...document.querySelectorAll(${JSON.stringify(`${root} a`)})].map((link) => link.getAttribute("href"))`,
      );
      expect(links.filter((link) => !/^[#/]/.test(link ?? "#"))).toEqual([]);
    }

    it("remains text on the page of a trace", async () => {
      const { page, wrong } = await browser.openServed(`${url}/#trace/${TRACE}`);
      await expectText(page, "main");
      expect(wrong()).toEqual([]);
    });

    it("remains text on the page of a task", async () => {
      const { page, wrong } = await browser.openServed(`${url}/#runs/attacked?task=attacked/3/1`);
      await expectText(page, "dialog");
      expect(wrong()).toEqual([]);
    });

    it("remains text in a report file", async () => {
      const { code } = await artE("report plain attacked -o report.html");
      expect(code).toBe(0);
      expect(readFileSync(path("report.html"), "utf8")).not.toMatch(/<img src=x|<script>window/);
      const { page, complaints, requests } = await browser.openReport(path("report.html"), {
        hash: "#task=attacked/3/1",
      });
      await expectText(page, "dialog");
      expect({ complaints, requests }).toEqual({ complaints: [], requests: [] });
    });
  });
});
