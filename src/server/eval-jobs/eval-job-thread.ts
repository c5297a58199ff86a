// The thread of one job on evals.
import { workerData } from "node:worker_threads";
import { adviseModes } from "../../error-analysis/advise-modes.js";
import { reviewEval } from "../../evals/review-eval.js";
import { testEvals } from "../../evals/test-eval.js";
import type { AppContext, ProgressBar } from "../../platform/app-context.js";
import { showDatabase } from "../../platform/command-line.js";
import { readEnvironment } from "../../platform/environment.js";
import { serveCalls } from "../../platform/worker-rpc.js";
import { evalLabel } from "../../reports/eval-text.js";
import { adviceSentences, chosenTemplates, failureText } from "../../reports/mode-text.js";
import type { EvalJobEventJson } from "../response-shapes.js";
import type { EvalJobAnswer, EvalJobCall, EvalJobData } from "./stream-eval-job.js";

const { path, cacheDir } = workerData as EvalJobData;

/** Maximum number of listed disagreements. */
const MAX_LISTED = 200;

const SEED = 1;

// Messages go to clients.
showDatabase(null);

const abort = new AbortController();
let progress: EvalJobAnswer = null;

const context: Pick<AppContext, "settings" | "signal" | "progress"> = {
  settings: { db: path, cacheDir, agentStderr: null, env: readEnvironment() },
  signal: abort.signal,
  progress: (): ProgressBar => ({
    update: (done, total) => {
      progress = { type: "progress", done, total };
    },
    stop: () => undefined,
  }),
};

async function answer(call: EvalJobCall): Promise<EvalJobAnswer> {
  switch (call.action) {
    case "progress":
      return progress;
    case "abort":
      abort.abort();
      return null;
    case "suggest":
      return suggest(call.mode);
    case "test":
      return test(call.name, call.mode);
    case "review":
      return review(call.name, call.mode);
  }
}

async function suggest(mode: string): Promise<EvalJobEventJson> {
  const { advice, pass } = await adviseModes({ mode, seed: SEED }, context.settings);
  return {
    type: "suggested",
    sentences: advice.flatMap((one) => adviceSentences(one, pass)),
    evals: advice.flatMap((one) =>
      chosenTemplates("templates" in one ? one.templates : []).map(({ name, version, alignment, template, cut }) => ({
        id: evalLabel({ name, version: version ?? 1 }),
        true_positive_rate: 1 - alignment.falseFailureRate,
        true_negative_rate: alignment.trueNegativeRate,
        fails_if: failureText(template, cut ?? 0),
      })),
    ),
  };
}

async function test(name: string, criterion: string | undefined): Promise<EvalJobEventJson> {
  const tests = await testEvals({ names: [name], criterion, thresholds: "usable" }, context);
  return {
    type: "tested",
    tests: tests.map((one) => ({
      mode: one.criterion,
      rejections: [...(one.test?.rejections ?? [])],
      warnings: [...(one.test?.warnings ?? [])],
      error: one.test === null ? `${one.error.message} ${one.error.hint}` : null,
    })),
  };
}

async function review(name: string, criterion: string | undefined): Promise<EvalJobEventJson> {
  const { contradictions } = await reviewEval(name, criterion, context);
  return {
    type: "reviewed",
    total: contradictions.length,
    disagreements: contradictions.slice(0, MAX_LISTED).map(({ traceId, label, score, note, reason }) => ({
      trace_id: traceId,
      label,
      score,
      note,
      reason,
    })),
  };
}

serveCalls(answer);
