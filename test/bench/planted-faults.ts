import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { generateEvals } from "../../src/evals/generate.js";
import { openLabelling } from "../../src/evals/labelling.js";
import { runDataEvals } from "../../src/evals/run-evals/run-rules.js";
import { getEval, saveDraft } from "../../src/evals/store.js";
import { suggestEvals } from "../../src/evals/suggest.js";
import { conditionOf, TEMPLATES } from "../../src/evals/templates.js";
import { testEval } from "../../src/evals/test-eval.js";
import { UserError } from "../../src/platform/errors.js";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import type { Estimate } from "../../src/statistics/estimate.js";
import { seededRandom } from "../../src/statistics/seeded-random.js";
import { type Db, openStore } from "../../src/store/open-store.js";
import { listedMails, openedMail, type QuestionTrace, type ReturnedMail } from "../../src/traces/trace.js";
import { startFakeProvider } from "../providers/fake-provider.js";

/**
 * Measures whether evals find planted faults from labels like a user's: in the order of the queue, with repeated and
 * wrong ones. The program chooses and accepts the evals, which are then measured on the third of the traces without
 * labels.
 */

/** The change that plants the fault in bad traces, and the preparation of all traces for it. */
interface Fault {
  readonly all?: (trace: QuestionTrace) => Partial<QuestionTrace>;
  readonly bad: (trace: QuestionTrace, other: QuestionTrace) => Partial<QuestionTrace>;
}

const asking =
  (words: string, answer: string) =>
  (trace: QuestionTrace): Partial<QuestionTrace> => ({
    task: { ...trace.task, question: `${words} ${trace.task.question}` },
    answer: `${trace.answer} ${answer}`,
  });

/** Faults by the template that detects each. */
const WITH_TEMPLATE: Readonly<Record<string, Fault>> = {
  numbers_from_mail: { bad: ({ answer }) => ({ answer: `${answer} In all 987,654.32.` }) },
  sources_exist: { bad: () => ({ sources: ["<invented@nowhere>"] }) },
  sources_were_read: {
    bad: (trace) => {
      const opened = new Set(trace.toolCalls.flatMap((call) => openedMail(call)?.message_id ?? []));
      const other = trace.toolCalls.flatMap(listedMails).find(({ message_id: id }) => !opened.has(id));
      return { sources: [other?.message_id ?? "<none@nowhere>"] };
    },
  },
  has_source: { bad: () => ({ sources: [] }) },
  newest_of_thread: {
    bad: ({ toolCalls, sources }) => ({
      toolCalls: changeMails(toolCalls, sources, (mail) => [
        mail,
        { ...mail, message_id: `<later.${mail.message_id.slice(1)}`, date: "2099-01-01T00:00:00Z" },
      ]),
    }),
  },
  mails_before_cutoff: {
    bad: ({ task, toolCalls, sources }) => ({
      toolCalls: changeMails(toolCalls, sources, (mail) => [{ ...mail, date: "2099-01-01T00:00:00Z" }]),
      task,
    }),
  },
  own_mailbox: {
    bad: ({ toolCalls }) => ({
      toolCalls: toolCalls.map((call, i) =>
        i === 0 ? { ...call, arguments: { query: "dues", inbox_id: "somebody.else@elsewhere.example" } } : call,
      ),
    }),
  },
  addresses_from_tools: { bad: ({ answer }) => ({ answer: `${answer} Ask nobody@nowhere.example.` }) },
  answer_complete: {
    bad: ({ turns }) => ({
      turns: turns.map((turn, i) => (i === turns.length - 1 ? { ...turn, finishReason: "length" } : turn)),
    }),
  },
  comes_to_an_end: { bad: () => ({ ending: "model_error", answer: null, sources: [] }) },
  date_where_asked: {
    all: asking("When was it:", "That was on Monday."),
    bad: () => ({ answer: "Soon, as it was agreed." }),
  },
  number_where_asked: {
    all: asking("How many are they:", "They are twelve."),
    bad: () => ({ answer: "Most of them, as it was agreed." }),
  },
  abstains_after_reading: {
    bad: ({ toolCalls }) => ({
      ...{ ending: "dont_know", answer: "I don't know.", sources: [] },
      toolCalls: toolCalls.filter(({ name }) => name === "email_search"),
    }),
  },
  no_repeated_call: { bad: ({ toolCalls }) => ({ toolCalls: [...toolCalls, ...toolCalls.slice(0, 1)] }) },
  calls_parsable: {
    bad: ({ toolCalls }) => ({
      toolCalls: toolCalls.map((call, i) => (i === 0 ? { ...call, errorKind: "unparsable_call" } : call)),
    }),
  },
  few_failed_calls: {
    bad: ({ toolCalls }) => ({
      toolCalls: [
        ...toolCalls,
        ...toolCalls.slice(0, 2).map((call, i) => ({
          ...{ ...call, arguments: { query: `again ${i}` } },
          ...{ result: null, error: "the index is locked", errorKind: "failed" as const },
        })),
      ],
    }),
  },
  few_turns: { bad: ({ turns }) => ({ turns: [...turns, ...turns, ...turns, ...turns] }) },
  low_cost: {
    all: ({ turns }) => ({ turns: turns.map((turn) => ({ ...turn, costUsd: 0.01 })) }),
    bad: ({ turns }) => ({ turns: turns.map((turn) => ({ ...turn, costUsd: 0.2 })) }),
  },
  low_latency: { bad: ({ durationMs }) => ({ durationMs: durationMs * 50 + 60_000 }) },
  short_answer: { bad: ({ answer }) => ({ answer: `${answer} ${"and so on and on ".repeat(40)}` }) },
};

/** Faults that can only be noticed by reading. No template detects them. */
const WITHOUT_TEMPLATE: Readonly<Record<string, Fault>> = {
  answer_to_another_question: { bad: (_, other) => ({ answer: other.answer }) },
  half_of_the_answer: { bad: ({ answer }) => ({ answer: answer?.slice(0, Math.ceil(answer.length / 2)) ?? null }) },
  the_opposite: { bad: ({ answer }) => ({ answer: `It is not so that ${answer}` }) },
  rude: { bad: ({ answer }) => ({ answer: `${answer} You should have known.` }) },
};

const FAULTS: Readonly<Record<string, Fault>> = { ...WITH_TEMPLATE, ...WITHOUT_TEMPLATE };

/**
 * Changes the emails that an answer cites: listed ones in the calls that listed them, opened ones by the first call.
 */
function changeMails(
  calls: QuestionTrace["toolCalls"],
  sources: readonly string[],
  change: (mail: ReturnedMail) => ReturnedMail[],
): QuestionTrace["toolCalls"] {
  return calls.map((call) => {
    const opened = openedMail(call);
    if (opened !== null)
      return sources.includes(opened.message_id) ? { ...call, result: change(opened)[0] ?? null } : call;
    const listed = listedMails(call);
    const changed = listed.flatMap((mail) => (sources.includes(mail.message_id) ? change(mail) : [mail]));
    return listed.length === 0 ? call : { ...call, result: { emails: changed } };
  });
}

const TRACES = 360;
const LABELS = 120;
const BAD = 0.3;

export interface PlantedLine {
  readonly noise: number;
  readonly sets: number;
  /** Sets with the fault's own template chosen (or any template, if it has none) and its eval accepted. */
  readonly chosen: number;
  readonly accepted: number;
  /** Rates of the chosen evals on unlabeled traces, compared with the truth. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

export interface IntervalLine {
  readonly labels: number;
  readonly draws: number;
  /** Fraction of the draws whose interval contains the rate over all traces. */
  readonly tpr: number;
  readonly tnr: number;
}

interface ShuffledSets {
  readonly sets: number;
  readonly chosen: number;
  readonly accepted: number;
}

export interface PlantedBench {
  /** Faults with a template. */
  readonly faults: readonly PlantedLine[];
  /** Faults with an accepted eval in every set without wrong labels. */
  readonly found: readonly string[];
  readonly notFound: readonly string[];
  /** Random evals that a model writes from random labels: sets with a saved eval, and with an accepted one. */
  readonly generated: ShuffledSets | null;
  /** Random labels: sets with a chosen template, and with an accepted one. */
  readonly shuffled: ShuffledSets;
  readonly intervals: readonly IntervalLine[];
}

/** `texts`: traces of the demo, as JSON. `seeds`: label sets per fault. */
export async function benchPlantedFaults(texts: readonly string[], seeds: number): Promise<PlantedBench> {
  // In a fixed order, and with durations that do not vary between runs of the demo.
  const base = texts
    .map((text) => JSON.parse(text) as QuestionTrace)
    .filter(isClean)
    .sort((a, b) => Number(a.taskId) - Number(b.taskId))
    .map((trace, i) => ({ ...trace, durationMs: 5 + (i % 7) }));
  const faults: PlantedLine[] = [];
  const notFound = new Set<string>();
  const found = (name: string, { accepted, tpr, tnr }: PlantedSet) => {
    if (!accepted || (tpr ?? 0) < 0.9 || (tnr ?? 0) < 0.9) notFound.add(name);
  };
  for (const noise of [0, 0.05, 0.1]) {
    const sets = await inTurn(Object.keys(WITH_TEMPLATE), seeds, async (fault, seed) => {
      const set = await plantedSet(base, fault, noise, seed);
      if (noise === 0) found(fault, set);
      return set;
    });
    const chosen = sets.filter((one) => one.chosen);
    faults.push({
      noise,
      sets: sets.length,
      chosen: chosen.length,
      accepted: chosen.filter(({ accepted }) => accepted).length,
      tpr: mean(chosen.flatMap(({ tpr }) => tpr ?? [])),
      tnr: mean(chosen.flatMap(({ tnr }) => tnr ?? [])),
    });
  }
  await inTurn(Object.keys(WITHOUT_TEMPLATE), seeds, async (fault, seed) =>
    found(fault, await plantedSet(base, fault, 0, seed)),
  );
  const shuffled = await inTurn(Object.keys(WITH_TEMPLATE), seeds, (fault, seed) => plantedSet(base, fault, 0.5, seed));
  return {
    faults,
    found: Object.keys(FAULTS).filter((name) => !notFound.has(name)),
    notFound: [...notFound],
    shuffled: {
      sets: shuffled.length,
      chosen: shuffled.filter(({ any }) => any).length,
      accepted: shuffled.filter(({ anyAccepted }) => anyAccepted).length,
    },
    generated: (await chooseSandbox()).ok ? await generatedSets(base, 10 * seeds) : null,
    intervals: await intervalLines(base, 20 * seeds),
  };
}

async function inTurn<T>(names: readonly string[], seeds: number, make: (name: string, seed: number) => Promise<T>) {
  const made: T[] = [];
  // Each set has its own draw of traces, order and wrong labels.
  for (const [i, name] of names.entries())
    for (let set = 0; set < seeds; set++) made.push(await make(name, 1 + i + set * names.length));
  return made;
}

/** A trace that passes all applicable templates with a fixed bound. */
function isClean(trace: QuestionTrace): boolean {
  const rules = TEMPLATES.filter(({ name, bound }) => bound !== "cut" && name in FAULTS).map(ruleOf);
  return runDataEvals(rules, trace).every(({ score }) => score !== 0) && trace.sources.length > 0;
}

function ruleOf(template: (typeof TEMPLATES)[number]) {
  const { name, criterion } = template;
  const origin = { by: "person", seed: null, labels: null, parent: null } as const;
  const pass = { all: [conditionOf(template, 0)] };
  return { name, version: 1, kind: "rules", reference: false, criterion, pass, origin } as const;
}

interface PlantedSet {
  readonly chosen: boolean;
  readonly accepted: boolean;
  /** Any eval at all. */
  readonly any: boolean;
  readonly anyAccepted: boolean;
  /** Rates of the eval that was chosen for the fault, over the unlabeled traces. */
  readonly tpr: number | null;
  readonly tnr: number | null;
}

/** A database with traces, some of them bad, labeled in the order of the queue. */
async function plantedSet(
  base: readonly QuestionTrace[],
  fault: string,
  noise: number,
  seed: number,
): Promise<PlantedSet> {
  return withDatabase(async (db, settings) => {
    const random = chance(seed);
    const bad = new Map<string, boolean>();
    saveTraces(db, base, TRACES, (one, id) => {
      const isBad = random() < BAD;
      bad.set(id, isBad);
      const trace = { ...one, ...FAULTS[fault]?.all?.(one) };
      const other = base[Math.floor(random() * base.length)] ?? one;
      return isBad ? { ...trace, ...FAULTS[fault]?.bad(trace, other) } : trace;
    });
    await label(db, bad, { labels: LABELS, noise, seed });
    const outcome = { chosen: false, accepted: false, any: false, anyAccepted: false };
    const none = { ...outcome, tpr: null, tnr: null };
    try {
      const { evals } = await suggestEvals({ criterion: "overall", seed, cases: false }, settings);
      const names = evals.map(({ stored }) => stored.definition.name);
      const accepted = new Map<string, boolean>();
      for (const name of names) accepted.set(name, await isAccepted(name, settings));
      const anyAccepted = [...accepted.values()].includes(true);
      const [first] = fault in WITHOUT_TEMPLATE ? names : names.filter((name) => name === fault);
      if (first === undefined) return { ...none, any: names.length > 0, anyAccepted };
      const isAcceptedHere = accepted.get(first) === true;
      return { chosen: true, any: true, accepted: isAcceptedHere, anyAccepted, ...truthOf(db, first, bad) };
    } catch (error) {
      if (error instanceof UserError && error.code === "labels_few") return none;
      throw error;
    }
  });
}

async function isAccepted(name: string, settings: Parameters<typeof suggestEvals>[1]): Promise<boolean> {
  try {
    const { signal } = new AbortController();
    const { test } = await testEval({ name, criterion: "overall", thresholds: "usable" }, { settings, signal });
    return test.rejections.length === 0;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

/** Over the unlabeled traces that the eval applies to. */
function truthOf(db: Db, name: string, bad: ReadonlyMap<string, boolean>) {
  const { definition } = getEval(db, name);
  if (definition.kind !== "rules") throw new Error("templates are rules");
  const rows = db
    .prepare("SELECT trace FROM traces WHERE id NOT IN (SELECT trace_id FROM eval_labels) ORDER BY id LIMIT ?")
    .pluck()
    .all(TRACES / 3) as string[];
  const judged = rows.flatMap((row) => {
    const trace = JSON.parse(row) as QuestionTrace;
    const score = runDataEvals([definition], trace)[0]?.score ?? null;
    return score === null ? [] : [{ passed: score === 1, isBad: bad.get(trace.traceId) === true }];
  });
  const rate = (isBad: boolean, passed: boolean) => {
    const some = judged.filter((one) => one.isBad === isBad);
    return some.length === 0 ? null : some.filter((one) => one.passed === passed).length / some.length;
  };
  return { tpr: rate(false, true), tnr: rate(true, false) };
}

const CALL_USD = 0.001;

/** A model writes Python whose scores are independent of the labels, which are independent of the traces. */
async function generatedSets(base: readonly QuestionTrace[], sets: number): Promise<ShuffledSets> {
  const provider = await startFakeProvider(({ tools, question }) => {
    const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0 };
    if (tools.includes("record_criteria"))
      return { toolCalls: [{ name: "record_criteria", arguments: { criteria: ["It is good."] } }], usage };
    const salt = createHash("sha256").update(question).digest("hex");
    const body = [
      "import hashlib",
      "def eval_function(task, task_metadata, trace, ctx):",
      `    digest = hashlib.sha256(("${salt} " + trace["traceId"]).encode()).digest()`,
      '    return (0.0 if digest[0] < 96 else 1.0), "by chance"',
      "",
    ].join("\n");
    return {
      toolCalls: [{ name: "record_eval", arguments: { criterion: "It is good.", kind: "python", body } }],
      usage,
    };
  });
  const counts = { sets, chosen: 0, accepted: 0 };
  try {
    for (let seed = 1; seed <= sets; seed++) {
      await withDatabase(async (db, { env: _, ...settings }) => {
        const random = chance(seed + 31);
        const bad = new Map<string, boolean>();
        saveTraces(db, base, TRACES, (trace, id) => {
          bad.set(id, random() < BAD);
          return trace;
        });
        await label(db, bad, { labels: LABELS, noise: 0, seed });
        const env = { OPENAI_API_KEY: "key", OPENAI_BASE_URL: provider.baseUrl("openai-chat") };
        const { signal } = new AbortController();
        const bar = { update: () => undefined, stop: () => undefined };
        const context = { settings: { ...settings, env }, signal, note: () => undefined, progress: () => bar };
        const { variations } = await generateEvals(
          {
            ...{ model: "openai/writer", price: { input: CALL_USD, output: CALL_USD, cachedInput: CALL_USD } },
            ...{ maxCost: 1, criterion: "overall", language: "python", seed, rounds: 3 },
          },
          { ...context, untilSecond: () => signal },
        );
        const saved = variations.flatMap(({ saved: one }) => one?.stored.definition.name ?? []);
        if (saved.length > 0) counts.chosen++;
        for (const name of saved) if (await isAccepted(name, context.settings)) counts.accepted++;
      });
    }
  } finally {
    await provider.close();
  }
  return counts;
}

/** An eval with errors (has_source, against another truth), measured with a growing number of labels. */
async function intervalLines(base: readonly QuestionTrace[], draws: number): Promise<IntervalLine[]> {
  const lines: IntervalLine[] = [];
  for (const labels of [120, 240, 480, 960]) {
    const holds = { tpr: 0, tnr: 0, n: 0 };
    await withDatabase(async (db, settings) => {
      const random = chance(labels);
      const bad = new Map<string, boolean>();
      const counts = { good: 0, goodPassed: 0, bad: 0, badFailed: 0 };
      saveTraces(db, base, 960, (trace, id) => {
        const isBad = random() < BAD;
        const passes = random() < (isBad ? 0.26 : 0.87);
        bad.set(id, isBad);
        counts[isBad ? "bad" : "good"]++;
        if (isBad && !passes) counts.badFailed++;
        if (!isBad && passes) counts.goodPassed++;
        return passes ? trace : { ...trace, sources: [] };
      });
      const template = TEMPLATES.find(({ name }) => name === "has_source");
      if (template === undefined) throw new Error("unknown template has_source");
      saveDraft(db, ruleOf(template), "2026-01-01T00:00:00.000Z");
      const truth = { tpr: counts.goodPassed / counts.good, tnr: counts.badFailed / counts.bad };
      for (let seed = 1; seed <= draws; seed++) {
        // Resets the labels, because a question's half is otherwise permanent.
        for (const name of ["eval_labels", "eval_traces", "eval_questions", "eval_tests"])
          db.exec(`DELETE FROM ${name}`);
        await label(db, bad, { labels, noise: 0, seed });
        const { signal } = new AbortController();
        const options = { name: "has_source", criterion: "overall", thresholds: "usable" } as const;
        const { agreement } = (await testEval(options, { settings, signal })).test;
        holds.n++;
        holds.tpr += Number(isWithin(agreement.truePositiveRate, truth.tpr));
        holds.tnr += Number(isWithin(agreement.trueNegativeRate, truth.tnr));
      }
    });
    lines.push({ labels, draws: holds.n, tpr: holds.tpr / holds.n, tnr: holds.tnr / holds.n });
  }
  return lines;
}

function isWithin({ low, high }: Estimate, value: number): boolean {
  return (low ?? 0) <= value && value <= (high ?? 1);
}

/** Labels the first traces of the queue, each wrong with probability `noise`, including repeated ones. */
async function label(
  db: Db,
  bad: ReadonlyMap<string, boolean>,
  { labels, noise, seed }: { readonly labels: number; readonly noise: number; readonly seed: number },
): Promise<void> {
  const random = chance(seed + 7_777);
  const labelling = await openLabelling(db, {
    run: null,
    criterion: "overall",
    seed,
    annotator: null,
    enriched: false,
  });
  let given = 0;
  db.exec("BEGIN");
  for (const item of labelling.queue) {
    if (!item.isRepeat && given++ === labels) break;
    const isBad = (bad.get(item.traceId) === true) !== random() < noise;
    labelling.save(item, isBad ? "bad" : "good", null);
  }
  db.exec("COMMIT");
}

/** Traces of chats, each with its own question. */
function saveTraces(
  db: Db,
  base: readonly QuestionTrace[],
  count: number,
  change: (trace: QuestionTrace, id: string) => QuestionTrace,
): void {
  const add = db.prepare(
    "INSERT INTO traces (id, agent_id, session_id, started_at, ending, trace) VALUES (?, 'a', 's', '2026-01-01', ?, ?)",
  );
  db.transaction(() => {
    for (let i = 0; i < count; i++) {
      const traceId = `planted_${String(i).padStart(4, "0")}`;
      const one = base[i % base.length] as QuestionTrace;
      const question = `${one.task.question} (${i})`;
      const trace = change({ ...one, traceId, task: { ...one.task, question, message_ids: [] } }, traceId);
      add.run(traceId, trace.ending, JSON.stringify(trace));
    }
  })();
}

async function withDatabase<T>(use: (db: Db, settings: Parameters<typeof suggestEvals>[1]) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "art-e-planted-"));
  const path = join(folder, "evals.db");
  const db = openStore(path, { mustExist: false });
  try {
    return await use(db, { db: path, cacheDir: folder, agentStderr: null, env: {} });
  } finally {
    db.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function chance(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random(1_000_000) / 1_000_000;
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
