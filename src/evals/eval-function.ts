// Runs an exported eval as a function of a program, without a database.
import { z } from "zod";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { NEVER } from "../platform/deadline.js";
import { UserError } from "../platform/errors.js";
import { firstIssue, type JsonObject } from "../platform/json.js";
import { BY_PERSON, type EvalDefinition, type EvaluatedTrace, evalDefinitionSchema, isDataEval } from "./definition.js";
import { type EvalOutcome, withoutPassOfFailure } from "./eval-outcome.js";
import { runDataEvals } from "./run-evals/run-rules.js";

/** The arguments of an eval in TypeScript. */
interface EvalCall {
  readonly input: {
    readonly question: string;
    readonly inbox: string | null;
    readonly date: string | null;
    readonly taskId: number | string | null;
    readonly suite: string | null;
  };
  readonly output: string;
  /** A trace without its task, its scores and its verdict. */
  readonly trace: object;
}

/**
 * Reads an exported eval. The fields that only the database needs can be absent. Throws a UserError if it is invalid or
 * its kind is code or a judge.
 */
export function readExportedEval(exported: unknown): EvalDefinition {
  const fields = z.record(z.string(), z.unknown()).safeParse(exported).data ?? {};
  const { data, error } = evalDefinitionSchema.safeParse({
    version: 1,
    origin: BY_PERSON,
    ...fields,
    reference: false,
  });
  if (data === undefined) throw invalid(firstIssue(error, "the eval"));
  if (data.kind === "python" || data.kind === "typescript") throw invalid(`the kind ${data.kind} is code`);
  if (data.kind === "judge") throw invalid("a judge needs gold answers, which evals in TypeScript do not have");
  return data;
}

function invalid(why: string): UserError {
  return new UserError(
    "eval_invalid",
    `Cannot run the eval: ${why}.`,
    `Export it again with ${commandLine`art-e evals export`}.`,
  );
}

/** Runs an exported eval as a function of the arguments of an eval in TypeScript. */
export async function runExportedEval(
  definition: EvalDefinition,
  call: EvalCall,
  settings: AppSettings,
): Promise<EvalOutcome> {
  const trace = toTrace(call);
  if (isDataEval(definition)) {
    const [outcome] = runDataEvals([definition], trace);
    if (outcome === undefined) throw new Error("a data eval has no outcome");
    return withoutPassOfFailure(outcome, trace.ending);
  }
  const { openEvalBackends, runEvals } = await import("./run-evals.js");
  const [outcomes] = await runEvals([definition], [trace], openEvalBackends(settings), NEVER);
  const [outcome] = outcomes ?? [];
  if (outcome === undefined) throw new Error("an eval has no outcome");
  return outcome;
}

/** Restores a trace, with an empty gold answer. */
function toTrace({ input, output, trace }: EvalCall): EvaluatedTrace {
  const { question, inbox, date, taskId, suite } = input;
  const visible: JsonObject = {
    answer: output,
    sources: [],
    toolCalls: [],
    turns: [],
    messages: [],
    ...trace,
    scores: {},
  };
  const mailTask = {
    question,
    answer: "",
    message_ids: [],
    inbox_address: inbox ?? undefined,
    query_date: date ?? undefined,
  };
  const restored =
    visible.kind === "chat"
      ? { ...visible, question, inbox, queryDate: date }
      : suite === null
        ? { ...visible, kind: "question", taskId, task: { id: taskId, ...mailTask } }
        : {
            ...visible,
            kind: "suite",
            taskId,
            task: { id: taskId, suite, instruction: question, ...mailQuestion(mailTask) },
          };
  return restored as unknown as EvaluatedTrace;
}

function mailQuestion(mailTask: { readonly inbox_address: string | undefined }) {
  return mailTask.inbox_address === undefined ? {} : { emailQuestion: mailTask };
}
