// `art-e evals suggest --modes`: what each failure mode needs, based on the labels of its coding passes.
import { unconfirmedTraces } from "../evals/labels.js";
import { type Detection, type Suggestion, suggestEvals } from "../evals/suggest.js";
import type { AppSettings } from "../platform/app-context.js";
import { UserError } from "../platform/errors.js";
import { withStore } from "../store/open-store.js";
import { type FailureMode, readTaxonomy } from "./modes.js";

/** A template that was chosen and saved as a draft. */
interface ChosenTemplate extends Detection {
  readonly name: string;
  /** Version of the draft. */
  readonly version: number;
}

/**
 * What a failure mode needs. `prompt`: a fix in the agent's prompt first. `template`: templates detect it. `rubric`: no
 * template detects it. `labels`: too few labeled traces.
 */
export type ModeAdvice = { readonly mode: FailureMode } & (
  | { readonly kind: "prompt"; readonly reason: "marked" | "frequent" }
  | {
      readonly kind: "template";
      readonly templates: readonly ChosenTemplate[];
      /** Number of traces with the mode according to a note that was written once. */
      readonly unconfirmed: number;
    }
  | { readonly kind: "rubric" }
  | { readonly kind: "labels"; readonly why: string }
);

/** Above this rate, the agent does it nearly always, so an instruction is likely missing. */
const FREQUENT = 0.5;

/**
 * Returns advice for each mode, the most frequent first, and the number of coded traces. Saves the chosen templates as
 * drafts.
 */
export async function adviseModes(
  { seed }: { readonly seed: number },
  settings: AppSettings,
): Promise<{ readonly advice: readonly ModeAdvice[]; readonly coded: number }> {
  const { modes, coded } = await withStore(settings, (db) => readTaxonomy(db, null));
  if (modes.length === 0) {
    throw new UserError(
      "modes_missing",
      "There are no failure modes yet.",
      "Code some traces (art-e evals code), then group the notes: art-e modes assign MODE NOTE",
    );
  }
  const advice: ModeAdvice[] = [];
  for (const mode of modes) advice.push(await adviseMode(mode, seed, settings));
  return { advice, coded };
}

async function adviseMode(mode: FailureMode, seed: number, settings: AppSettings): Promise<ModeAdvice> {
  if (mode.fix === "prompt") return { mode, kind: "prompt", reason: "marked" };
  if (mode.rate.low !== null && mode.rate.low > FREQUENT) return { mode, kind: "prompt", reason: "frequent" };
  const suggestion = await suggestOrWhy(mode.name, seed, settings);
  if (typeof suggestion === "string") return { mode, kind: "labels", why: suggestion };
  const accepted = suggestion.candidates.filter(({ rejection }) => rejection === null);
  if (accepted.length === 0) return { mode, kind: "rubric" };
  const templates = accepted.map(({ measured: { template }, detection }): ChosenTemplate => {
    const saved = suggestion.evals.find(({ stored: { definition } }) => definition.name === template.name);
    return { name: template.name, version: saved?.stored.definition.version ?? 1, ...detection };
  });
  const { length } = await withStore(settings, (db) => unconfirmedTraces(db, mode.name));
  return { mode, kind: "template", templates, unconfirmed: length };
}

/** Returns the reason if there are too few labels. */
async function suggestOrWhy(criterion: string, seed: number, settings: AppSettings): Promise<Suggestion | string> {
  try {
    return await suggestEvals({ criterion, seed, cases: false }, settings);
  } catch (error) {
    if (error instanceof UserError && error.code === "labels_few") return error.message;
    throw error;
  }
}
