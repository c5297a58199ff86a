import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { saveNote } from "../../src/error-analysis/coding.js";
import { changeModes } from "../../src/error-analysis/modes.js";
import { BY_PERSON, type EvalDraft } from "../../src/evals/definition.js";
import { saveDraft } from "../../src/evals/store.js";
import type { JsonValue } from "../../src/platform/json.js";
import { addRunTags, setRunName, setRunNote } from "../../src/traces/runs-store.js";
import type { QuestionTrace } from "../../src/traces/trace.js";
import { TestBrowser } from "../browser.js";
import { needs } from "../machine-requirements.js";
import { saveSuiteRun, suiteTrace } from "../reports/suite-run.js";
import { saveSynthetic } from "../reports/synthetic-run.js";
import { MARCUS } from "../runs/demo-setup.js";
import { type DemoServer, eventsOf, openChat, says, startDemoServer } from "./demo-server.js";
import { everyPage } from "./every-page.js";

/** Every served page, while all names that imported traces, mail, suites and agents can contain are markup. */

const MARKUP = `"><img src=x onerror="window.taken=1"><script>window.taken=2</script>`;
/** Ends with a bidi override, which pages must replace. */
const HOSTILE = `javascript:window.taken=3//'${MARKUP}\u202e`;

/** Fields of a trace, of a tool result and of a suite task that contain a name. */
const NAME_FIELDS = new Set(
  "agentId model name inbox_address subject sender to cc suite tool snapshot tags relatedApps source".split(" "),
);

/** Replaces each name by markup. */
function withHostileNames(value: JsonValue, isName = false): JsonValue {
  if (typeof value === "string") return isName ? HOSTILE : value;
  if (Array.isArray(value)) return value.map((item) => withHostileNames(item, isName));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withHostileNames(item, NAME_FIELDS.has(key))]),
  );
}

function hostileTrace(trace: QuestionTrace): QuestionTrace {
  const changed = withHostileNames(trace as unknown as JsonValue) as unknown as QuestionTrace;
  const scores = { ...trace.scores, [`eval:${HOSTILE}`]: { value: 0 }, [`function:${HOSTILE}`]: { value: 1 } };
  return { ...changed, sources: [HOSTILE], scores };
}

interface Shown {
  readonly text: string;
  readonly images: number;
  readonly scripts: number;
  readonly links: readonly string[];
  readonly taken: boolean;
}

const EVAL: EvalDraft = {
  name: "short_answer",
  kind: "assertions",
  reference: false,
  criterion: HOSTILE,
  answer: { all: [{ lacks: HOSTILE }] },
  origin: BY_PERSON,
};

const LOOK = `
  for (const details of document.querySelectorAll("details")) details.open = true;
  ({
    text: document.body.textContent,
    images: document.querySelectorAll('img[src="x"]').length,
    scripts: document.body.querySelectorAll("script").length,
    links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")),
    taken: "taken" in window,
  })`;

/** Pages that show no names. */
const WITHOUT_NAMES = new Set(["no-runs", "run-unknown"]);

const PAGES = [
  ...everyPage({
    runs: ["run_a", "run_b"],
    task: "run_a/3/1",
    trace: "trace_run_a_3",
    session: "SESSION",
    mail: "MAIL",
    others: {},
    evalName: "short_answer",
  }),
  { name: "trace-suite", hash: "trace/TRACE", last: "main h3" },
  { name: "run-suite", hash: "runs/suite_run", last: "tr[data-index]" },
];

describe("names with markup", { ...needs("browser"), timeout: 60_000 }, () => {
  const browser = new TestBrowser();
  let demo: DemoServer;
  let page: Page;
  let wrong: () => string[];
  const ids = { SESSION: "", MAIL: "", TRACE: "" };

  beforeAll(async () => {
    demo = await startDemoServer();
    const { db } = demo;
    for (const id of ["run_a", "run_b"]) {
      saveSynthetic(db, { id, tasks: 5, skill: 0.5, agentId: HOSTILE, model: `x/${HOSTILE}`, change: hostileTrace });
      setRunName(db, id, `${id} ${HOSTILE}`);
      setRunNote(db, id, HOSTILE);
      addRunTags(db, id, [HOSTILE]);
    }
    const trace = suiteTrace(0, { id: HOSTILE, suite: HOSTILE, snapshot: HOSTILE, tags: [HOSTILE] });
    saveSuiteRun(db, "suite_run", [withHostileNames(trace as unknown as JsonValue) as unknown as typeof trace]);
    const traceId = "trace_run_a_1";
    saveNote(db, { traceId, note: HOSTILE, annotator: HOSTILE, isRepeat: false, drawnFrom: 5, probability: null });
    changeModes(db, { action: "assign", mode: "wrong_year", notes: [HOSTILE] });
    saveDraft(db, EVAL, "2026-01-01T00:00:00.000Z");
    const chat = { ...says("How much are the dues?"), variables: { inbox_address: MARCUS } };
    const events = await eventsOf(await openChat(demo.url, "baseline", chat));
    ids.SESSION = events.find(({ type }) => type === "session-info").sessionId;
    ids.MAIL = encodeURIComponent(db.prepare("SELECT message_id FROM messages LIMIT 1").pluck().get() as string);
    ids.TRACE = encodeURIComponent(`${trace.traceId}_suite_run`);
    // Names that only a program without checks could have written.
    for (const change of [
      "agents SET name = @hostile, description = @hostile, model = 'openai/' || @hostile",
      "tools SET name = @hostile, description = @hostile, category = @hostile",
      "mails SET subject = @hostile, sender = @hostile, recipients = json_array(@hostile), to_count = 1, cc_count = 0",
      "addresses SET address = id || @hostile",
      "sessions SET inbox = @hostile",
      "failure_modes SET name = @hostile",
      "runs SET source = @hostile",
    ]) {
      db.prepare(`UPDATE ${change}`).run({ hostile: HOSTILE });
    }
    ({ page, wrong } = await browser.openServed(demo.url));
    page.setDefaultTimeout(20_000);
  });
  afterAll(() => demo?.close());

  it.each(PAGES)("appear as text on the page $name", async ({ name, hash, last }) => {
    await page.goto("about:blank");
    await page.goto(`${demo.url}/#${hash.replace(/SESSION|MAIL|TRACE/, (id) => ids[id as keyof typeof ids])}`);
    await page.locator(last).first().waitFor();
    const { text, images, scripts, links, taken } = await page.evaluate<Shown>(LOOK);
    expect({ images, scripts, taken }).toEqual({ images: 0, scripts: 0, taken: false });
    expect(links.filter((link) => !/^(#|\/)/.test(link))).toEqual([]);
    expect(text.match(/.{0,80}\p{Bidi_Control}.{0,20}/gu)).toBeNull();
    if (!WITHOUT_NAMES.has(name)) expect(text).toContain(MARKUP);
    // The browser itself reports the 404 of an unknown run.
    expect(wrong().filter((text) => !text.includes(" 404 "))).toEqual([]);
  });
});
