import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runDataEvals } from "../src/evals/run-evals/run-rules.js";
import { evalsWithoutModels } from "../src/evals/scoring-evals.js";
import { getEval } from "../src/evals/store.js";
import { conditionOf, type EvalTemplate, TEMPLATES } from "../src/evals/templates.js";
import { testEval } from "../src/evals/test-eval.js";
import { contextOf } from "../src/library/options/context.js";
import type { AppSettings } from "../src/platform/app-context.js";
import { UserError } from "../src/platform/errors.js";
import type { Estimate } from "../src/statistics/estimate.js";
import { seededRandom } from "../src/statistics/seeded-random.js";
import { type Db, openStore } from "../src/store/open-store.js";
import { listedMails, openedMail, type ReturnedMail } from "../src/traces/returned-mails.js";
import type { QuestionTrace } from "../src/traces/trace.js";

/** Faults to plant in traces of the demo, and the clean traces to plant them in. */

/** The change that plants the fault in bad traces, and the preparation of all traces for it. */
export interface Fault {
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
export const WITH_TEMPLATE: Readonly<Record<string, Fault>> = {
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
  addresses_from_tools: {
    // The template judges only answers with an address.
    all: ({ answer, task }) => ({ answer: `${answer} Ask ${task.inbox_address}.` }),
    bad: ({ answer }) => ({ answer: `${answer} Ask nobody@nowhere.example.` }),
  },
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
      ending: "dont_know",
      answer: "I don't know.",
      sources: [],
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
          ...call,
          arguments: { query: `again ${i}` },
          result: null,
          error: "the index is locked",
          errorKind: "failed" as const,
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
export const WITHOUT_TEMPLATE: Readonly<Record<string, Fault>> = {
  answer_to_another_question: { bad: (_, other) => ({ answer: other.answer }) },
  half_of_the_answer: { bad: ({ answer }) => ({ answer: answer?.slice(0, Math.ceil(answer.length / 2)) ?? null }) },
  the_opposite: { bad: ({ answer }) => ({ answer: `It is not so that ${answer}` }) },
  rude: { bad: ({ answer }) => ({ answer: `${answer} You should have known.` }) },
};

export const FAULTS: Readonly<Record<string, Fault>> = { ...WITH_TEMPLATE, ...WITHOUT_TEMPLATE };

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

/** Returns the traces of the demo without faults, in a fixed order and with durations that do not vary between runs. */
export function cleanTraces(texts: readonly string[]): QuestionTrace[] {
  return texts
    .map((text) => JSON.parse(text) as QuestionTrace)
    .filter(isClean)
    .sort((a, b) => Number(a.taskId) - Number(b.taskId))
    .map((trace, i) => ({ ...trace, durationMs: 5 + (i % 7) }));
}

/** A trace that passes all applicable templates with a fixed bound. */
function isClean(trace: QuestionTrace): boolean {
  const rules = TEMPLATES.filter(({ name, bound }) => bound !== "cut" && name in FAULTS).map(ruleOf);
  return runDataEvals(rules, trace).every(({ score }) => score !== 0) && trace.sources.length > 0;
}

export function ruleOf(template: EvalTemplate) {
  const { name, criterion } = template;
  const origin = { by: "person", seed: null, labels: null } as const;
  const pass = { all: [conditionOf(template, 0)] };
  return { name, version: 1, kind: "rules", reference: false, criterion, pass, origin } as const;
}

export async function withDatabase<T>(use: (db: Db, settings: AppSettings) => Promise<T>): Promise<T> {
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

/** Traces of chats, each with its own question. */
export function saveTraces(
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

/** Tests an eval on the held-out labels of a criterion, and returns whether it passes the default thresholds. */
export async function isAccepted(name: string, criterion: string, settings: AppSettings): Promise<boolean> {
  try {
    const { test } = await testEval({ name, criterion, thresholds: "usable" }, contextOf(settings));
    return test.rejections.length === 0;
  } catch (error) {
    if (error instanceof UserError) return false;
    throw error;
  }
}

export interface TrueRates {
  readonly tpr: number | null;
  readonly tnr: number | null;
}

/** Returns an eval's rates over at most `limit` traces without any label that the eval judges. */
export async function ratesOnUnlabeled(
  db: Db,
  name: string,
  isBad: (traceId: string) => boolean,
  limit: number,
): Promise<TrueRates> {
  const rows = db
    .prepare("SELECT trace FROM traces WHERE id NOT IN (SELECT trace_id FROM eval_labels) ORDER BY id LIMIT ?")
    .pluck()
    .all(limit) as string[];
  const traces = rows.map((row) => JSON.parse(row) as QuestionTrace);
  const outcomes = await evalsWithoutModels([getEval(db, name)]).run(traces, new AbortController().signal);
  const judged = traces.flatMap(({ traceId }, i) => {
    const score = outcomes[i]?.[0]?.score ?? null;
    return score === null ? [] : [{ passed: score === 1, isBad: isBad(traceId) }];
  });
  const rate = (ofBad: boolean, passed: boolean) => {
    const some = judged.filter((one) => one.isBad === ofBad);
    return some.length === 0 ? null : some.filter((one) => one.passed === passed).length / some.length;
  };
  return { tpr: rate(false, true), tnr: rate(true, false) };
}

export function isWithin({ low, high }: Estimate, value: number): boolean {
  return (low ?? 0) <= value && value <= (high ?? 1);
}

export function chance(seed: number): () => number {
  const random = seededRandom(seed);
  return () => random(1_000_000) / 1_000_000;
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
