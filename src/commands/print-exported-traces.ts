import type { Exported } from "../app/traces/export-traces.js";
import type { TraceSelection } from "../app/traces/trace-filter.js";
import { UserError } from "../domain/errors.js";
import { BANDS } from "../domain/scores/score-bands.js";
import { count } from "../reports/text/format-number.js";
import type { CommandContext } from "./cli/command.js";

/** Says what was written, and what was left out. */
export function printExported({ traces, runId, leftOut, notes }: Exported, output: string | undefined, out: Out): void {
  const left = Object.entries(leftOut);
  const missing = left.reduce((sum, [, n]) => sum + n, 0);
  const where = output === undefined ? "" : ` to ${output}`;
  const written = traces - missing;
  out.note(`${count(written)} ${written === 1 ? "trace" : "traces"} of ${runId ?? "chats"} written${where}.`);
  const reasons = left.map(([reason, n]) => `${count(n)} ${reason}`).join(", ");
  if (missing > 0) out.note(`${count(missing)} left out: ${reasons}.`);
  for (const note of notes) out.note(note);
}

type Out = CommandContext["out"];

interface EvalsFlags {
  readonly run: string;
  readonly output?: string | undefined;
}

/** Writes the folder of `--for evals` and says what is in it. */
export async function printEvals(
  { run, output }: EvalsFlags,
  selection: TraceSelection,
  given: ReadonlySet<string>,
  { settings, out }: CommandContext,
): Promise<void> {
  const other = ["format", "band", "failed", "chats", "session"].find((flag) => given.has(flag));
  if (other !== undefined) {
    throw new UserError(
      "flags_contradict",
      `--for evals writes the bands of a run as our own lines, and --${other} asks for something else.`,
      `Leave out --${other}.`,
    );
  }
  if (output === undefined)
    throw new UserError("flag_missing", "--for evals writes a folder.", "Name it with --output.");
  const { exportScoreBands } = await import("../app/traces/export-score-bands.js");
  const manifest = await exportScoreBands({ run, folder: output, selection }, settings);
  if (settings.json) out.result({ ...manifest, output }, () => "");
  const bands = BANDS.map((band) => `${count(manifest.bands[band].count)} ${band}`).join(", ");
  const unscored = Object.values(manifest.unscored).reduce((sum, n) => sum + n, 0);
  out.note(`Traces of ${manifest.runId} by ${manifest.scorer} written to ${output}: ${bands}.`);
  if (unscored > 0) out.note(`${count(unscored)} have no such score and are in none.`);
}
