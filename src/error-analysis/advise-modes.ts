// `art-e evals suggest`: what each failure mode needs, based on its labels.
import type { MeasuredTemplate } from "../evals/choose-templates.js";
import { criterionSentence, listCriteria } from "../evals/criteria.js";
import { effectiveLabels } from "../evals/effective-labels.js";
import { unconfirmedTraces } from "../evals/labels.js";
import { evalSuggester, type Suggestion } from "../evals/suggest.js";
import type { AppSettings } from "../platform/app-context.js";
import { commandLine } from "../platform/command-line.js";
import { UserError } from "../platform/errors.js";
import { NO_ESTIMATE } from "../statistics/estimate.js";
import { type Db, withStore } from "../store/open-store.js";
import { type CodingPass, newestPass } from "./coding.js";
import { type FailureMode, readTaxonomy } from "./modes.js";

/** A mode with coding notes, or one that traces were labeled for directly. The rate of the latter is unknown. */
type AdvisedMode = Pick<FailureMode, "name" | "sentence" | "fix" | "traces" | "rate">;

/** A template with its figures, and the version of its draft, or null if it was not chosen. */
export interface TriedTemplate extends Omit<Suggestion["candidates"][number], "measured"> {
  readonly name: string;
  readonly template: MeasuredTemplate["template"];
  readonly version: number | null;
}

/**
 * What a failure mode needs. `prompt`: a fix in the agent's prompt first. `template`: templates detect it. `rubric`: no
 * template detects it. `labels`: too few labeled traces.
 */
export type ModeAdvice = { readonly mode: AdvisedMode } & (
  | { readonly kind: "prompt"; readonly reason: "marked" | "frequent" }
  | ({
      readonly kind: "template" | "rubric";
      readonly templates: readonly TriedTemplate[];
      /** Number of traces with the mode according to a note that was written once. */
      readonly unconfirmed: number;
    } & Pick<Suggestion, "good" | "bad" | "sources">)
  | { readonly kind: "labels"; readonly why: string; readonly hint: string }
);

/** Above this rate, the agent does it nearly always, so an instruction is likely missing. */
const FREQUENT = 0.5;

/**
 * Returns advice for one mode, or for each mode with notes or labels, the most frequent first, and the newest coding
 * pass. Saves the chosen templates as drafts. Throws a UserError if the only mode has too few labels.
 */
export function adviseModes(
  { mode: only, seed }: { readonly mode?: string | undefined; readonly seed: number },
  settings: AppSettings,
): Promise<{ readonly advice: readonly ModeAdvice[]; readonly pass: CodingPass | null }> {
  return withStore(settings, (db) => {
    const modes = allModes(db);
    if (modes.length === 0) {
      throw new UserError(
        "modes_missing",
        "No trace has a label or a note in a failure mode.",
        `Note what went wrong in some traces (${commandLine`art-e evals code`}), or label them (${commandLine`art-e evals label`}).`,
      );
    }
    const selected = only === undefined ? modes : [modes.find(({ name }) => name === only) ?? unknownMode(only)];
    const suggest = evalSuggester(db, seed);
    const isOnly = selected.length === 1;
    return { advice: selected.map((mode) => adviseMode(db, mode, suggest, isOnly)), pass: newestPass(db) };
  });
}

/** Returns the modes with notes, the most frequent first, and then those that traces were labeled for directly. */
export function allModes(db: Db): AdvisedMode[] {
  const { modes } = readTaxonomy(db, null);
  const direct = listCriteria(db).filter(
    ({ name, labeled }) => labeled > 0 && !modes.some((mode) => mode.name === name),
  );
  return [
    ...modes,
    ...direct.map(({ name }): AdvisedMode => {
      const traces = effectiveLabels(db, name).filter(({ label }) => label === "bad").length;
      return { ...unknownMode(name), sentence: criterionSentence(db, name), traces };
    }),
  ];
}

function unknownMode(name: string): AdvisedMode {
  return { name, sentence: null, fix: "eval", traces: 0, rate: NO_ESTIMATE };
}

function adviseMode(db: Db, mode: AdvisedMode, suggest: (mode: string) => Suggestion, isOnly: boolean): ModeAdvice {
  if (mode.fix === "prompt") return { mode, kind: "prompt", reason: "marked" };
  if (mode.rate.low !== null && mode.rate.low > FREQUENT) return { mode, kind: "prompt", reason: "frequent" };
  try {
    const { candidates, evals, ...labels } = suggest(mode.name);
    const templates = candidates.map(({ measured: { template }, ...one }): TriedTemplate => {
      const saved = evals.find(({ stored: { definition } }) => definition.name === template.name);
      const version = one.rejection === null ? (saved?.stored.definition.version ?? null) : null;
      return { ...one, name: template.name, template, version };
    });
    const unconfirmed = unconfirmedTraces(db, mode.name).length;
    return { mode, kind: evals.length === 0 ? "rubric" : "template", ...labels, templates, unconfirmed };
  } catch (error) {
    if (isOnly || !(error instanceof UserError) || error.code !== "labels_few") throw error;
    return { mode, kind: "labels", why: error.message, hint: error.hint };
  }
}
