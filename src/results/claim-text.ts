// The grammar of `--until`.
import { compact } from "../platform/optional-values.js";
import { type UntilSettings, untilSchema } from "../traces/run-settings.js";

/** A claim as typed. Margins are in the score's unit. */
export interface TypedClaim extends Pick<UntilSettings, "relation" | "by" | "notBy"> {
  /** Run id, name, `latest`, or a results file. */
  readonly run: string;
  readonly metric: string | undefined;
}

const NUMBER = "(\\d*\\.?\\d+)";
const CLAIM = new RegExp(
  `^(better than|no worse than|different from) (\\S.*?)(?: by ${NUMBER})?(?: or not by ${NUMBER})?(?: on (\\S+))?$`,
);

const RELATIONS: Readonly<Record<string, UntilSettings["relation"]>> = {
  "better than": "better",
  "no worse than": "no_worse",
  "different from": "different",
};

export const CLAIM_FORMS =
  '"better than RUN [by N] [or not by N] [on SCORE]", "no worse than RUN by N [on SCORE]" or "different from RUN [or not by N] [on SCORE]"';

/** Parses a claim, such as `better than nightly by 0.03 on accuracy`. */
export function parseClaim(text: string): { ok: true; value: TypedClaim } | { ok: false; problem: string } {
  const match = CLAIM.exec(text.trim().replace(/\s+/g, " "));
  if (match === null) return { ok: false, problem: `expected ${CLAIM_FORMS}` };
  const [, words = "", run = "", byText, notByText, metric] = match;
  const [, notNumber] = / by (\S+)$/.exec(run) ?? [];
  if (notNumber !== undefined) return { ok: false, problem: `expected a number after "by", not "${notNumber}"` };
  const relation = RELATIONS[words] ?? "better";
  const by = Number(byText ?? 0);
  const notBy = notByText === undefined ? null : Number(notByText);
  const problem = problemOf(relation, byText !== undefined, by, notBy);
  return problem === null ? { ok: true, value: { relation, run, by, notBy, metric } } : { ok: false, problem };
}

function problemOf(
  relation: UntilSettings["relation"],
  hasBy: boolean,
  by: number,
  notBy: number | null,
): string | null {
  switch (relation) {
    case "better":
      return notBy !== null && notBy <= by ? `"or not by ${notBy}" must be more than "by ${by}"` : null;
    case "no_worse":
      if (notBy !== null) return '"no worse than" has no "or not by"';
      return by > 0 ? null : '"no worse than RUN by N" requires a margin above 0';
    case "different":
      if (hasBy) return '"different from" has no "by", only "or not by N"';
      return notBy === null || notBy > 0 ? null : '"or not by N" requires a margin above 0';
  }
}

/** Formats a stored claim like a typed one. */
export function claimText({ relation, baseline, by, notBy, metric }: UntilSettings): string {
  const words = Object.entries(RELATIONS).find(([, name]) => name === relation)?.[0] ?? relation;
  return compact([
    `${words} ${baseline}`,
    by > 0 && `by ${by}`,
    notBy !== null && `or not by ${notBy}`,
    `on ${metric}`,
  ]).join(" ");
}

/** Formats the claim in settings that can come from a results file, or returns null if the run has none. */
export function claimOf({ until }: Readonly<Record<string, unknown>>): string | null {
  const { data } = untilSchema.safeParse(until);
  return data === undefined ? null : claimText(data);
}
