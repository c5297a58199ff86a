// The command `run`: one run, or each run of a config file.
import { API_KEY_VARIABLES, isProvider } from "../../models/model-names.js";
import { Interrupted } from "../../platform/app-context.js";
import { commandLine, flagName } from "../../platform/command-line.js";
import type { Environment } from "../../platform/environment.js";
import { EXIT, type ExitCode, UserError } from "../../platform/errors.js";
import { limitHeapGrowth } from "../../platform/heap-growth.js";
import { programVersion } from "../../platform/program-files.js";
import { LIMIT_FLAGS } from "../../runs/budget.js";
import type { OpenMonitor, OpenQueue } from "../../runs/execute-run.js";
import { RUN_FLAG_GROUPS, type RunOptions, runSchema } from "../../runs/run-flags.js";
import { agentOfNewRun, inputsOf, outputsOf, type RunRequest, sendsTraces } from "../../runs/run-options.js";
import type { RunStop, SessionEnd } from "../../runs/run-tasks.js";
import type { RunTracker } from "../../runs/run-tracker.js";
import type { RunPage } from "../../server/run-page.js";
import { checkOutputs, type InputFile } from "../../trace-formats/output-files.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { type ConfiguredFlags, explainConfigured, readConfiguredRuns } from "../config/merge-config.js";
import { contradiction, declaredIn, givenFlags, readFlags } from "../flags/define-command.js";
import { printEstimate, printTotals, terminalProgress } from "../output/print-run.js";

/** Outcome of one of several runs. */
interface EndedRun {
  readonly name: string;
  readonly exitCode: ExitCode;
  /** The result printed with --json, or an empty object if the run ended without one. */
  readonly result: object;
  readonly error: UserError | Interrupted | null;
}

/** A stop that leaves the run's question open. */
type EarlyStop = Exclude<RunStop, { by: "evidence" }>;

/** A run whose flags have been checked, before it costs anything. */
interface PreparedRun {
  readonly configured: ConfiguredFlags;
  readonly flags: RunOptions;
  readonly request: RunRequest;
}

/** Names as typed, per group. */
const FLAG_GROUPS = Object.fromEntries(
  Object.entries(RUN_FLAG_GROUPS).map(([title, names]) => [title, names.map((name) => flagName(name).slice(2))]),
);

/** What a first month with the program needs. `run --help all` lists the others. */
const COMMON_FLAGS = [
  ["agent", "name", "watch", "resume", "repeat", "retry-failed", "dry-run"],
  ["split", "limit", "inbox", "epochs", "dataset", "suite", "model-id", "base-url", "agent-command", "agent-url"],
  ["concurrency", "max-cost", "until", "perturb", "judge", "output", "fail-under", "baseline"],
].flat();

export const runCommand: CommandDefinition = (usage) => ({
  ...declaredIn(runSchema, usage),
  flagGroups: FLAG_GROUPS,
  commonFlags: COMMON_FLAGS,
  async run(argv, context) {
    limitHeapGrowth();
    const runs = await prepareRuns(await readConfiguredRuns(argv, context), context);
    const [only, ...others] = runs;
    if (only !== undefined && others.length === 0) return execute(only, context);

    return runInTurn(runs, context);
  },
});

// BullMQ takes a fifth of a second to load.
const openQueue: OpenQueue = async (...run) => (await import("../../queue/coordinator.js")).queueAnswerer(...run);

function execute(prepared: PreparedRun, context: CommandContext): Promise<ExitCode> {
  return executeRun(prepared, context).catch((error) => {
    throw explainConfigured(error, prepared.configured);
  });
}

async function executeRun({ configured, flags, request }: PreparedRun, context: CommandContext): Promise<ExitCode> {
  if (flags.stats) {
    const { printDatasetFigures } = await import("./stats.js");
    await printDatasetFigures(flags, context);
    return EXIT.done;
  }
  const { estimateBenchmark, runBenchmark } = await import("../../runs/execute-run.js");
  if (flags.dryRun) {
    printEstimate(await estimateBenchmark(request, context), configured, context);
    return EXIT.done;
  }
  let tracked: RunTracker | null = null;
  const openProgress: OpenMonitor = (tracker) => {
    tracked = tracker;
    return terminalProgress(context.settings, tracker);
  };
  const { end, gates, output, shortfall } = await withRunPage(flags, context, openProgress, (openMonitor) =>
    runBenchmark(request, context, openMonitor, openQueue),
  );
  // A run that could not start answering has nothing to show in a table.
  const isEmpty = end.totals.totalTasks === 0 && end.stopped !== null && end.stopped.by !== "user";
  if (!isEmpty || context.settings.json) {
    await printTotals(end.totals, { gates, until: end.until }, { ...flags, output }, context);
    const { retriesUnderWay: uncounted = 0 } = (tracked as RunTracker | null) ?? {};
    if (uncounted > 0) {
      context.note(
        `art-e: ${uncounted} more calls were retried for tasks that have no result. The totals exclude them.`,
      );
    }
  }
  if (shortfall !== null) context.note(`${shortfall}. Retry: ${commandLine`art-e score --run ${end.totals.runId}`}`);
  const code = exitCodeOf(end, context);
  const { throwIfMissed } = await import("../../results/gates.js");
  throwIfMissed(end.totals.runId, gates);
  return code;
}

function exitCodeOf(end: SessionEnd, { note }: CommandContext): ExitCode {
  const { runId, failedTasks, totalTasks, notRunnableTasks = 0 } = end.totals;
  if (end.stopped !== null && end.stopped.by !== "evidence") throw stoppedError(end, end.stopped);
  if (notRunnableTasks > 0) {
    note(
      `art-e: ${notRunnableTasks} of ${totalTasks} tasks cannot run on this machine, and averages exclude them. See why: ${commandLine`art-e export-traces --run ${runId} --failed`}; exclude them: --runnable`,
    );
  }
  const attempted = totalTasks - notRunnableTasks;
  if (failedTasks * 2 <= attempted && (attempted > 0 || totalTasks === 0)) return EXIT.done;
  if (attempted === 0) return EXIT.gate;
  note(
    `art-e: ${failedTasks} of ${attempted} tasks failed. See why: ${commandLine`art-e export-traces --run ${runId} --failed`}; retry them: ${commandLine`art-e run --resume ${runId} --retry-failed`}`,
  );
  return EXIT.gate;
}

/** Exit codes from worst to best. */
const WORST_FIRST = [EXIT.interrupted, EXIT.failed, EXIT.usage, EXIT.gate] as const;

/**
 * Executes several runs one after another. A run that fails or misses a gate does not stop the others. With --json,
 * prints one document with the results of all runs. If any run failed, finally throws an error with the worst exit
 * code.
 */
async function runInTurn(runs: readonly PreparedRun[], context: CommandContext): Promise<ExitCode> {
  const endedRuns: EndedRun[] = [];
  try {
    for (const [i, run] of runs.entries()) {
      if (context.signal.aborted) break;
      context.note(`\nRun ${nameOf(run)} (${i + 1} of ${runs.length})`);
      endedRuns.push(await runOne(run, context));
    }
  } finally {
    if (context.settings.json) context.out.result({ runs: endedRuns.map(toJson) }, () => "");
  }
  throwIfAnyFailed(endedRuns, runs);
  return EXIT.done;
}

async function runOne(run: PreparedRun, context: CommandContext): Promise<EndedRun> {
  const name = nameOf(run);
  let result: object = {};
  const keepResult = (json: unknown) => {
    result = json as object;
  };
  const out = context.settings.json ? { ...context.out, result: keepResult } : context.out;
  try {
    return { name, exitCode: await execute(run, { ...context, out }), result, error: null };
  } catch (error) {
    if (error instanceof Interrupted) return { name, exitCode: EXIT.interrupted, result, error };
    if (!(error instanceof UserError)) throw error;
    context.note(`art-e: ${error.message}\n       ${error.hint}`);
    return { name, exitCode: error.exitCode, result, error };
  }
}

function toJson({ name, exitCode, result, error }: EndedRun): object {
  if (!(error instanceof UserError)) return { name, exitCode, ...result };
  const { code, message, hint } = error;
  return { name, exitCode, ...result, error: { code, message, hint } };
}

function throwIfAnyFailed(endedRuns: readonly EndedRun[], runs: readonly PreparedRun[]): void {
  const notBegun = runs.slice(endedRuns.length).map(nameOf);
  if (notBegun.length > 0 || endedRuns.some(({ exitCode }) => exitCode === EXIT.interrupted)) {
    const last = endedRuns.at(-1)?.error;
    const rest = notBegun.length === 0 ? "" : ` Not started: ${notBegun.join(", ")}. ${again(notBegun, runs)}`;
    throw new Interrupted(`${last instanceof Interrupted ? last.message : "interrupted between two runs."}${rest}`);
  }
  const failed = endedRuns.filter(({ exitCode }) => exitCode !== EXIT.done);
  const worst = WORST_FIRST.find((code) => failed.some(({ exitCode }) => exitCode === code));
  if (worst === undefined) return;
  throw new UserError(
    "runs_failed",
    `${failed.length} of ${runs.length} runs did not pass: ${failed.map(({ name, exitCode }) => `${name} (exit code ${exitCode})`).join(", ")}.`,
    `See the errors above. ${again(
      failed.map(({ name }) => name),
      runs,
    )}`,
    worst,
  );
}

function again(names: readonly string[], [first]: readonly PreparedRun[]): string {
  return `Run them again: ${commandLine`art-e run --config ${first?.configured.path ?? "FILE"} --only ${names.join(",")}`}`;
}

const nameOf = ({ configured }: PreparedRun) => configured.run ?? "";

/** Returns the error for a run that ended before its last task, with the reason and how to resume the run. */
function stoppedError({ totals, requestedTasks }: SessionEnd, stopped: EarlyStop): Error {
  const { runId, totalTasks, model } = totals;
  const saved = `${totalTasks} of ${requestedTasks} tasks are saved.`;
  const resume = commandLine`art-e run --resume ${runId}`;
  if (stopped.by === "user") return new Interrupted(`run ${runId} stopped: ${saved} Continue: ${resume}`);
  const { why } = stopped;
  const hint = `${saved} ${hintFor(stopped, { resume, model, hasAnswers: totalTasks > 0 })}`;
  return new UserError("run_stopped", `Run ${runId} stopped: ${why}${why.endsWith(".") ? "" : "."}`, hint, EXIT.failed);
}

function hintFor(
  stopped: Exclude<EarlyStop, { by: "user" }>,
  { resume, model, hasAnswers }: { resume: string; model: string; hasAnswers: boolean },
): string {
  switch (stopped.by) {
    case "limit":
      if (stopped.flag === "--max-failures") return `Continue: ${resume}`;
      return `Continue with a higher limit: ${resume} ${stopped.flag} ${LIMIT_FLAGS[stopped.flag]}`;
    case "key":
      return `Check ${keyOf(model)} and the account behind it; once the provider accepts it, continue: ${resume}`;
    case "account":
      if (model.startsWith("human/")) return `Continue: ${resume}`;
      return `Check that the account behind ${keyOf(model)} has credit and is below its limits, then continue: ${resume}`;
    case "model":
      if (model.startsWith("command/"))
        return `Check that the program exists and can be started, then continue: ${resume}`;
      if (/^(playground|endpoint)\//.test(model)) {
        return `Check ${addressFlag(model)}, and that the server has this agent, then continue: ${resume}. Another agent needs a new run (-a AGENT).`;
      }
      return hasAnswers
        ? `Continue with a model of the server: ${resume} --force --model-id PROVIDER/NAME`
        : "Start a new run with a model of the server (--model-id PROVIDER/NAME), and check --base-url.";
    case "tools":
      return `Remove the tools that the server rejects (${commandLine`art-e agents detach AGENT TOOL`}), then start a new run.`;
    case "server":
      return `Check that it is running and reachable, then continue: ${resume}${movedHint(model)}`;
  }
}

/** Local servers often restart on another port. */
function movedHint(model: string): string {
  return /^(openai|playground|endpoint)\//.test(model) ? ` (at another URL: add ${addressFlag(model)} URL)` : "";
}

function addressFlag(model: string): string {
  if (model.startsWith("playground/")) return "--api-url";
  return model.startsWith("endpoint/") ? "--agent-url" : "--base-url";
}

function keyOf(model: string): string {
  const [provider = ""] = model.split("/");
  const variables = isProvider(provider) ? API_KEY_VARIABLES[provider] : [];
  return variables.length === 0 ? "the key" : `the key in ${variables.join(" or ")}`;
}

/**
 * Checks runs that are executed one after another, as far as possible. Throws a UserError before the first run starts.
 */
async function prepareRuns(all: readonly ConfiguredFlags[], context: CommandContext): Promise<readonly PreparedRun[]> {
  const runs: PreparedRun[] = [];
  for (const configured of all) {
    try {
      runs.push(await prepareRun(configured, runs.flatMap(outputsOfRun), context));
    } catch (error) {
      throw explainConfigured(error, configured);
    }
  }
  return runs;
}

async function prepareRun(
  configured: ConfiguredFlags,
  inputFiles: readonly InputFile[],
  { settings }: CommandContext,
): Promise<PreparedRun> {
  const preset = await withPresets(configured.argv, settings.env);
  const flags = readFlags("run", runSchema, preset);
  const { refuseContradictions } = await import("../../questions/dataset.js");
  refuseContradictions(flags);
  const queue = flags.queue ?? (settings.env.ART_E_QUEUE_URL || undefined);
  const tags = configured.run === null ? [] : [configured.run];
  const request = { ...flags, queue, tags, explicitFlags: givenFlags(preset) };
  if (flags.stats) return { configured, flags, request };
  if (flags.watch && flags.dryRun) {
    throw contradiction("--watch and --dry-run cannot be combined.", "Remove one of them.");
  }
  sendsTraces(flags);
  if (flags.resume === undefined && flags.repeat === undefined) agentOfNewRun(request);
  const inputs = [{ name: "the config file", path: configured.path }, ...inputsOf(flags), ...inputFiles];
  checkOutputs(outputsOf(flags), inputs, { db: settings.db, overwrite: flags.overwrite });
  return { configured, flags, request };
}

function outputsOfRun({ configured, flags }: PreparedRun): readonly InputFile[] {
  return outputsOf(flags).map(({ flag, path }) => ({ name: `${flag} of the run ${configured.run}`, path }));
}

/** Adds the values of `--protocol` for unspecified flags. */
async function withPresets(argv: ConfiguredFlags["argv"], env: Environment): Promise<ConfiguredFlags["argv"]> {
  if (argv.protocol === undefined) return argv;
  const { withProtocol } = await import("../flags/art-protocol.js");
  return withProtocol(argv, env);
}

/** Calls `use` with a monitor. With --watch, the monitor also serves the run's page. */
async function withRunPage<T>(
  { watch }: { readonly watch: boolean },
  context: CommandContext,
  openMonitor: OpenMonitor,
  use: (openMonitor: OpenMonitor) => Promise<T>,
): Promise<T> {
  if (!watch) return use(openMonitor);
  const { tokenOf } = await import("../flags/server-flags.js");
  const token = tokenOf({}, context.settings);
  const { RunPage } = await import("../../server/run-page.js");
  let page: RunPage | null = null;
  const openBoth: OpenMonitor = (tracker) => {
    const monitor = openMonitor(tracker);
    const runPage = new RunPage({
      path: context.settings.db,
      version: programVersion(),
      token,
      tracker,
      note: context.note,
    });
    page = runPage;
    return {
      ...monitor,
      emit(event) {
        monitor.emit(event);
        runPage.add(event);
      },
    };
  };
  try {
    return await use(openBoth);
  } finally {
    await (page as RunPage | null)?.close();
  }
}
