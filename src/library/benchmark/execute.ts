import type { AgentFunction } from "../../agents/agent-function.js";
import type { NamedAgentFunction } from "../../agents/external-agent.js";
import type { AppContext } from "../../platform/app-context.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { traitsOf } from "../../platform/flag-values.js";
import { runBenchmark } from "../../runs/execute-run.js";
import { collectResults } from "../../runs/results-file.js";
import { RUN_FLAGS, type RunFlagName, runSchema } from "../../runs/run-flags.js";
import type { RunRequest } from "../../runs/run-options.js";
import type { SessionEnd } from "../../runs/run-tasks.js";
import type { FunctionScorer } from "../../scoring/function-scorers.js";
import { isScorerName } from "../../scoring/scorers.js";
import { withStore } from "../../store/open-store.js";
import type { Emit } from "../../traces/progress.js";
import type { Score } from "../../traces/score.js";
import type { BenchmarkConfig, BenchmarkOptions, ResumeConfig, Scorer } from "../benchmark-config.js";
import type { BenchmarkResult, Question, TaskResult, Trace } from "../published-types.js";
import { toTaskList } from "./task-list.js";

type Options = Partial<BenchmarkConfig> & Pick<ResumeConfig, "retryFailed"> & { readonly resume?: string };

/** Converts the arguments of `runArtEBenchmark` to a run request. Throws a UserError for the first invalid option. */
export async function runRequest(tasks: readonly Question[], config: BenchmarkConfig): Promise<RunRequest> {
  const { agent } = config;
  if (agent === undefined) throw invalid("agent", "expected the id of an agent, or a function");
  return { ...requestOf(config), questions: await toTaskList(tasks, config.signal) };
}

/** Converts the arguments of `resumeArtEBenchmark` to a run request. */
export function resumeRequest(run: string, config: ResumeConfig): RunRequest {
  return requestOf({ ...config, resume: run });
}

function requestOf(config: Options): RunRequest {
  const { agent, scorers = [], db: _, cacheDir, env, signal, onNote, onProgress, ...settings } = config;
  const names = scorers.filter((scorer) => typeof scorer === "string");
  const options = {
    ...settings,
    ...(typeof agent === "string" ? { agent } : {}),
    ...(names.length > 0 ? { scorers: names } : {}),
  };
  const explicitOptions = Object.entries(options).filter(([, value]) => value !== undefined);
  const parsed = runSchema.safeParse(
    Object.fromEntries(explicitOptions.map(([name, value]) => [name, asFlag(name, value)])),
  );
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw invalid(String(issue?.path[0] ?? "config"), issue?.message ?? "cannot be used");
  }
  const functions = scorers.filter((scorer) => typeof scorer !== "string").map(toFunctionScorer);
  return {
    ...parsed.data,
    explicitFlags: new Set(explicitOptions.map(([name]) => name)),
    ...(typeof agent === "function" ? { agentFunction: namedAgent(agent) } : {}),
    ...(functions.length > 0 ? { functionScorers: functions } : {}),
  };
}

/** Converts a value as in the config file, such as a list, to the value of the flag. */
function asFlag(name: string, value: unknown): unknown {
  if (!Object.hasOwn(RUN_FLAGS, name)) throw invalid(name, "unknown option");
  const { inConfig } = traitsOf(RUN_FLAGS[name as RunFlagName].schema);
  if (inConfig === undefined) return value;
  const parsed = inConfig.safeParse(value);
  if (parsed.success) return parsed.data;
  throw invalid(name, parsed.error.issues[0]?.message ?? "cannot be used");
}

function invalid(option: string, message: string): UserError {
  return new UserError("option_invalid", `${option}: ${message}.`, "See docs/library.md.");
}

function namedAgent(answer: AgentFunction): NamedAgentFunction {
  return { name: answer.name || "agent", answer };
}

function toFunctionScorer({ name, score }: Scorer): FunctionScorer {
  if (typeof name !== "string" || !/^[\w.-]{1,100}$/.test(name)) {
    throw invalid("scorers", "expected a name of letters, digits, hyphens, dots and underscores");
  }
  if (isScorerName(name)) throw invalid("scorers", `${name} is already a scorer of art-e`);
  return {
    name: `function:${name}`,
    async score(trace) {
      try {
        return checkedScore(await score(trace as Trace));
      } catch (error) {
        return failedScore(error instanceof Error ? error.message : String(error));
      }
    },
  };
}

function checkedScore(returned: unknown): Score {
  const { value, explanation } =
    typeof returned === "object" && returned !== null
      ? (returned as { readonly value?: unknown; readonly explanation?: unknown })
      : { value: returned, explanation: undefined };
  const isValue = value === null || (typeof value === "number" && Number.isFinite(value));
  if (!isValue) return failedScore("the scorer returned neither a number nor null");
  return { value, ...(typeof explanation === "string" ? { explanation } : {}) };
}

function failedScore(explanation: string): Score {
  return { value: null, explanation, failed: true };
}

/** Executes the run and returns its results. Throws a UserError if it stopped before its last task. */
export async function execute(
  request: RunRequest,
  { onProgress }: BenchmarkOptions,
  context: AppContext,
): Promise<BenchmarkResult> {
  const monitor = () => ({ emit: progressOf(onProgress), underWay: () => 0, stop() {} });
  const { end } = await runBenchmark(request, context, monitor, async () => {
    throw invalid("queue", "a program cannot run over a queue");
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
    onProgress?.({ runId, finishedTasks, totalTasks, result: event.result as TaskResult });
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
