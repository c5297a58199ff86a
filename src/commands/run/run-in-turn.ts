import { Interrupted } from "../../app/use-case-context.js";
import { EXIT, type ExitCode, UserError } from "../../domain/errors.js";
import type { CommandContext } from "../cli/command.js";
import type { PreparedRun } from "./prepare-run.js";

type Execute = (run: PreparedRun, context: CommandContext) => Promise<ExitCode>;

/** How one of several runs ended. */
interface EndedRun {
  readonly name: string;
  readonly exitCode: ExitCode;
  /** What it would have printed with --json; empty where it did not come to that. */
  readonly result: object;
  readonly error: UserError | Interrupted | null;
}

/** From the worst to the best. */
const WORST_FIRST = [EXIT.interrupted, EXIT.failed, EXIT.usage, EXIT.gate] as const;

/**
 * Does several runs one after another; one that fails or misses a gate does not keep the others from running. With
 * --json one document has the results of all. Throws at the end what gives the worst of the exit codes.
 */
export async function runInTurn(
  runs: readonly PreparedRun[],
  context: CommandContext,
  execute: Execute,
): Promise<ExitCode> {
  const ended: EndedRun[] = [];
  try {
    for (const [i, run] of runs.entries()) {
      if (context.signal.aborted) break;
      context.note(`\nRun ${nameOf(run)} (${i + 1} of ${runs.length})`);
      ended.push(await runOne(run, context, execute));
    }
  } finally {
    if (context.settings.json) context.out.result({ runs: ended.map(toJson) }, () => "");
  }
  throwIfAnyFailed(ended, runs);
  return EXIT.done;
}

async function runOne(run: PreparedRun, context: CommandContext, execute: Execute): Promise<EndedRun> {
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

function throwIfAnyFailed(ended: readonly EndedRun[], runs: readonly PreparedRun[]): void {
  const notBegun = runs.slice(ended.length).map(nameOf);
  if (notBegun.length > 0 || ended.some(({ exitCode }) => exitCode === EXIT.interrupted)) {
    const last = ended.at(-1)?.error;
    const rest = notBegun.length === 0 ? "" : ` Not begun: ${notBegun.join(", ")}. ${again(notBegun, runs)}`;
    throw new Interrupted(`${last instanceof Interrupted ? last.message : "stopped between two runs."}${rest}`);
  }
  const failed = ended.filter(({ exitCode }) => exitCode !== EXIT.done);
  const worst = WORST_FIRST.find((code) => failed.some(({ exitCode }) => exitCode === code));
  if (worst === undefined) return;
  throw new UserError(
    "runs_failed",
    `${failed.length} of ${runs.length} runs did not pass: ${failed.map(({ name, exitCode }) => `${name} (exit code ${exitCode})`).join(", ")}.`,
    `Each said why above. ${again(
      failed.map(({ name }) => name),
      runs,
    )}`,
    worst,
  );
}

function again(names: readonly string[], [first]: readonly PreparedRun[]): string {
  return `To run them: art-e run --config ${first?.configured.path} --only ${names.join(",")}`;
}

const nameOf = ({ configured }: PreparedRun) => configured.run ?? "";
