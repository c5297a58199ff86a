// Converts the options of a program to a run, executes it, and converts the results and errors back.
import type { AgentFunction } from "../../agents/agent-function.js";
import type { NamedAgentFunction } from "../../agents/external-agent.js";
import type { AppContext } from "../../platform/app-context.js";
import { stripControls } from "../../platform/control-characters.js";
import { NEVER, withDeadline } from "../../platform/deadline.js";
import { EXIT, messageOf, UserError } from "../../platform/errors.js";
import { checkWritable } from "../../platform/files.js";
import { collectResults } from "../../results/results-file.js";
import { runBenchmark } from "../../runs/execute-run.js";
import { runSchema } from "../../runs/run-flags.js";
import type { RunRequest } from "../../runs/run-options.js";
import type { SessionEnd } from "../../runs/run-tasks.js";
import type { FunctionScorer } from "../../scoring/function-scorers.js";
import { isScorerName, RESULT_FILE_SCORERS } from "../../scoring/scorers.js";
import { withStore } from "../../store/open-store.js";
import { characterBoundary } from "../../text/character-boundary.js";
import { checkEnding } from "../../trace-formats/output-files.js";
import type { Emit } from "../../traces/progress.js";
import type { Score } from "../../traces/score.js";
import type { Trace as StoredTrace } from "../../traces/trace.js";
import type { BenchmarkConfig, BenchmarkOptions, Expected, ResumeConfig, Scorer } from "../benchmark-config.js";
import { invalidOption } from "../options/context.js";
import { parseOptions } from "../options/parse-options.js";
import type { BenchmarkResult, Question, TaskResult, Trace } from "../published-types.js";
import { checkedQuestions } from "./task-list.js";

type Options = Partial<BenchmarkConfig> & Pick<ResumeConfig, "retryFailed"> & { readonly resume?: string };

/** Converts the arguments of `runArtEBenchmark` to a run request. Throws a UserError for the first invalid option. */
export async function runRequest(tasks: readonly Question[], config: BenchmarkConfig): Promise<RunRequest> {
  if (!Array.isArray(tasks)) throw invalidOption("tasks", "expected a list of questions, see loadTasks()");
  if (!["string", "function"].includes(typeof config?.agent)) {
    throw invalidOption("agent", "expected the id of an agent, or a function");
  }
  return { ...requestOf(config), questions: await checkedQuestions(tasks, config.signal) };
}

/** Converts the arguments of `resumeArtEBenchmark` to a run request. */
export function resumeRequest(run: string, config: ResumeConfig): RunRequest {
  if (typeof run !== "string") throw invalidOption("run", 'expected a run id, the start of one, a name, or "latest"');
  return requestOf({ ...config, resume: run });
}

function requestOf(config: Options): RunRequest {
  const { agent, scorers = [], db: _, cacheDir, env, signal, onNote, onProgress, ...settings } = config;
  if (
    !Array.isArray(scorers) ||
    scorers.some((scorer) => typeof scorer !== "string" && typeof scorer?.score !== "function")
  ) {
    throw invalidOption("scorers", "expected a list of names, and objects with a name and a function score");
  }
  const names = scorers.filter((scorer) => typeof scorer === "string");
  // A resumed run keeps its scorers.
  const isOnlyFunctions = scorers.length > 0 && settings.resume === undefined;
  const options = {
    ...settings,
    ...(typeof agent === "string" ? { agent } : {}),
    ...(names.length > 0 ? { scorers: names } : isOnlyFunctions ? { scorers: [...RESULT_FILE_SCORERS] } : {}),
  };
  const { parsed, explicitNames } = parseOptions(options, runSchema);
  if (parsed.output !== undefined) {
    checkWritable("output", parsed.output);
    checkEnding("output", parsed.output, "results");
  }
  const functions = scorers
    .filter((scorer) => typeof scorer !== "string")
    .map((scorer) => toFunctionScorer(scorer, parsed.taskTimeout * 1000, signal));
  const repeated = functions.find(({ name }, i) => functions.findIndex((other) => other.name === name) < i);
  if (repeated !== undefined)
    throw invalidOption("scorers", `two functions have the name ${repeated.name.slice("function:".length)}`);
  return {
    ...parsed,
    explicitFlags: explicitNames,
    ...(typeof agent === "function" ? { agentFunction: namedAgent(agent) } : {}),
    ...(functions.length > 0 ? { functionScorers: functions } : {}),
  };
}

/** In characters. */
const LONGEST_NAME = 100;

/** A program can give a function any name. */
function namedAgent(answer: AgentFunction): NamedAgentFunction {
  const { name } = answer;
  const readable = typeof name === "string" ? stripControls(name.slice(0, LONGEST_NAME)).trim() : "";
  return { name: readable || "agent", answer };
}

function toFunctionScorer({ name, score }: Scorer, timeoutMs: number, signal?: AbortSignal): FunctionScorer {
  if (typeof name !== "string" || !/^[\w.-]{1,100}$/.test(name)) {
    throw invalidOption("scorers", "expected a name of letters, digits, hyphens, dots and underscores");
  }
  if (isScorerName(name)) throw invalidOption("scorers", `${name} is already a scorer of art-e`);
  const tooSlow = () => new Error(`not finished after ${timeoutMs / 1000} s`);
  return {
    name: `function:${name}`,
    async score(trace) {
      try {
        return checkedScore(
          // A copy, because the function may change what it receives. The function cannot be stopped.
          await withDeadline(signal ?? NEVER, timeoutMs, tooSlow, async () =>
            score(structuredClone(trace) as Trace, expectedOf(trace)),
          ),
        );
      } catch (error) {
        signal?.throwIfAborted();
        return failedScore(messageOf(error));
      }
    },
  };
}

/** A program's tasks are questions. */
function expectedOf({ kind, task }: StoredTrace): Expected {
  if (kind !== "question") throw new Error("the task is not a question");
  return { answer: task.answer, sources: [...task.message_ids] };
}

/** Larger scores would overflow in sums of squares. */
const LARGEST_SCORE = 1e100;

/** In characters. */
const LONGEST_EXPLANATION = 10_000;

function checkedScore(returned: unknown): Score {
  const { value, explanation } =
    typeof returned === "object" && returned !== null
      ? (returned as { readonly value?: unknown; readonly explanation?: unknown })
      : { value: returned, explanation: undefined };
  const isValue = value === null || (typeof value === "number" && Math.abs(value) <= LARGEST_SCORE);
  if (!isValue) return failedScore("the scorer returned neither a number (up to 1e100) nor null");
  const text = typeof explanation === "string" ? { explanation: shortened(explanation) } : {};
  return { value, ...text };
}

function failedScore(explanation: string): Score {
  return { value: null, explanation: shortened(explanation), failed: true };
}

function shortened(explanation: string): string {
  return explanation.slice(0, characterBoundary(explanation, LONGEST_EXPLANATION));
}

/** Executes the run and returns its results. Throws a UserError if it stopped before its last task. */
export async function execute(
  request: () => RunRequest | Promise<RunRequest>,
  options: BenchmarkOptions,
  context: AppContext,
): Promise<BenchmarkResult> {
  try {
    return await executeRequest(await request(), options, context);
  } catch (error) {
    const { aborted, reason } = context.signal;
    if (!aborted || error !== reason) throw error;
    throw new UserError(
      "run_stopped",
      "The run did not start: the signal aborted.",
      "Pass a signal that has not aborted.",
      EXIT.interrupted,
      { cause: reason },
    );
  }
}

async function executeRequest(
  request: RunRequest,
  { onProgress }: BenchmarkOptions,
  context: AppContext,
): Promise<BenchmarkResult> {
  const monitor = () => ({ emit: progressOf(onProgress), stop() {} });
  const { end } = await runBenchmark(request, context, monitor, async () => {
    throw invalidOption("queue", "a program cannot run over a queue");
  });
  throwIfStopped(end, context);
  return withStore(context.settings, (db) => collectResults(db, end.totals)) as Promise<BenchmarkResult>;
}

function progressOf(onProgress: BenchmarkOptions["onProgress"]): Emit {
  let [runId, totalTasks, finishedTasks] = ["", 0, 0];
  return (event) => {
    if (event.type === "run_started") [runId, totalTasks] = [event.runId, event.tasks];
    if (event.type === "task_kept") finishedTasks++;
    if (event.type !== "task_finished") return;
    finishedTasks++;
    onProgress?.({ runId, finishedTasks, totalTasks, result: structuredClone(event.result) as TaskResult });
  };
}

function throwIfStopped({ totals, stopped, requestedTasks }: SessionEnd, { signal }: AppContext): void {
  if (stopped === null || stopped.by === "evidence") return;
  const { runId, totalTasks } = totals;
  const why = stopped.by === "user" ? "the signal aborted" : stopped.why.replace(/\.$/, "");
  throw new UserError(
    "run_stopped",
    `Run ${runId} stopped: ${why}.`,
    `${totalTasks} of ${requestedTasks} tasks are saved. Continue: resumeArtEBenchmark("${runId}").`,
    stopped.by === "user" ? EXIT.interrupted : EXIT.failed,
    { cause: signal.reason },
  );
}
