import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { QuestionTrace as Trace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { writeReport } from "../cli/reports/report-file.js";
import { needs } from "../machine-requirements.js";
import { saveSynthetic } from "./synthetic-run.js";

/** Email texts that attempt injection. */
const PAYLOADS = [
  "<script>window.taken = 1; alert(1)</script>",
  "</script><script>window.taken = 2</script>",
  "<!-- <script> --> --!> ]]>",
  '<img src="https://evil.example/x.png" onerror="window.taken = 3">',
  '"><svg onload="window.taken = 4"></svg>',
  "javascript:alert(5)",
  '<a href="javascript:window.taken = 6">click</a>',
  "<style>body { display: none }</style><base href='https://evil.example/'>",
  "&lt;b&gt; &amp; &#60;",
  `$\{window.taken = 7} \`backtick\` {{x}} __proto__`,
];
const TEXT = PAYLOADS.join("\n");
/** A bidi override, a bell, an escape sequence, and JavaScript's line separators. */
const INVISIBLE = "\u202egnp.exe\u202c \u0007 \u001b[31m \u2028 \u2029 end";
const SHOWN = "\ufffdgnp.exe\ufffd ␇ ␛[31m";

function hostile(trace: Trace): Trace {
  const text = `${TEXT}\n${INVISIBLE}`;
  const line = text.replaceAll("\n", " ");
  const mail = {
    message_id: trace.task.message_ids[0] ?? "",
    subject: line,
    sender: line,
    to: [line],
    cc: [],
    bcc: [],
    date: line,
  };
  return {
    ...trace,
    ending: "answered",
    error: null,
    answer: text,
    sources: [line],
    agentId: line,
    model: line,
    task: { ...trace.task, question: text, answer: text, inbox_address: line },
    messages: [
      { role: "system", content: text },
      { role: "user", content: text },
      {
        role: "assistant",
        content: text,
        toolCalls: ["c1", "c2", "c3"].map((id) => ({ id, name: line, arguments: { [line]: text, __proto__: text } })),
      },
    ],
    toolCalls: [
      {
        ...callOf("c1"),
        name: line,
        arguments: { q: text },
        result: { emails: [{ ...mail, snippet: text }], total: 1 },
      },
      { ...callOf("c2"), name: line, arguments: { q: text }, result: { ...mail, body: text } },
      { ...callOf("c3"), name: line, arguments: { q: text }, result: null, error: text },
    ],
    scores: { semanticScore: { value: 0.5, explanation: text }, exactMatch: { value: 0 } },
  };
}

function callOf(id: string): Trace["toolCalls"][number] {
  const times = { startedAt: "2026-01-01T00:00:00.000Z", durationMs: 1 };
  return { id, name: "", arguments: null, result: null, error: null, errorKind: null, turn: 0, ...times };
}

const browser = new TestBrowser();

describe.each(["embed", "folder"])("a report of hostile mail, with its conversations in the %s", (traces) => {
  let report: Awaited<ReturnType<typeof writeReport>>;

  beforeAll(async () => {
    const run = { id: "run_hostile", tasks: 3, agentId: TEXT.replaceAll("\n", " "), model: INVISIBLE };
    report = await writeReport((db) => saveSynthetic(db, { ...run, change: hostile }), { traces });
  }, 120_000);
  afterAll(() => report?.close());

  it("contains no characters of the mail that HTML or a script would interpret", () => {
    const html = readFileSync(report.file, "utf8");
    const blocks = [...html.matchAll(/<script type="[^"]+" id="[^"]+">(.*?)<\/script>/gs)].map(
      ([, block = ""]) => block,
    );
    expect(blocks).toHaveLength(traces === "embed" ? 6 : 3);
    for (const block of blocks) expect(block).not.toMatch(/[<>&\u2028\u2029]/);
    // The four scripts, and the data elements.
    expect(html.match(/<script/g)).toHaveLength(blocks.length + 4);
    expect(html).not.toContain('window.taken = 3">');
    if (traces === "embed") return;
    const folder = join(report.folder, "report-traces");
    const files = readdirSync(folder).filter((name) => name.endsWith(".js"));
    expect(files).toHaveLength(3);
    for (const name of files) {
      expect(readFileSync(join(folder, name), "utf8")).toMatch(/^artETrace\("0-\d+-1", "[\w+/=]+"\);\n$/);
    }
  });

  describe("in a browser", { ...needs("browser"), timeout: 180_000 }, () => {
    it("shows every line as text, executes nothing, fetches nothing, and finds the text in a search", async () => {
      const { page, complaints, requests } = await browser.openReport(report.file);
      await page.locator("tr[data-index]").first().click();
      const dialog = page.getByRole("dialog");
      await dialog.locator(".conversation").waitFor();
      for (const details of await dialog.locator("details").all()) {
        await details.evaluate((element) => element.setAttribute("open", ""));
      }
      const said = await dialog.textContent();
      for (const payload of PAYLOADS) expect(said?.split(payload).length, payload).toBeGreaterThan(8);
      expect(said).toContain(SHOWN);
      expect(said).not.toMatch(/\p{Bidi_Control}/u);
      expect(await page.locator("h1").textContent()).toContain(SHOWN);
      expect(await page.locator("tr[data-index]").first().textContent()).toContain(PAYLOADS[0]);
      expect(await page.evaluate('"taken" in window')).toBe(false);
      const foreign = "#report :is(script, img, iframe, base, object, link, form)";
      expect(await page.locator(foreign).count()).toBe(0);
      const links = await page.evaluate<string[]>(
        '[...document.querySelectorAll("a")].map((link) => link.getAttribute("href") ?? link.getAttribute("xlink:href"))',
      );
      expect(links.length).toBeGreaterThan(5);
      expect(links.filter((link) => !link.startsWith("#"))).toEqual([]);
      expect(requests.filter((url) => !url.includes("/report-traces/0-"))).toEqual([]);
      await page.keyboard.press("Escape");
      await page.getByRole("searchbox").fill("</script><script>window.taken");
      await expect.poll(() => page.url()).toContain("search=");
      expect(await page.locator(".count").textContent()).toBe("3 tasks");
      expect(complaints).toEqual([]);
    });
  });
});
