import { z } from "zod";
import type { Suggestion } from "../../app/evals/suggest-evals.js";
import { EXIT } from "../../domain/errors.js";
import { evalNameSchema } from "../../domain/evals/eval-definition.js";
import type { Candidate } from "../../evalgen/selection/choose-templates.js";
import { share } from "../../reports/text/format-number.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags } from "../cli/read-flags.js";
import { CRITERION_FLAGS, criterionShape, SEED_FLAGS, seedShape } from "./eval-flags.js";

const schema = z.object({
  name: evalNameSchema.default("suggested"),
  cases: z.boolean().default(false),
  ...criterionShape,
  ...seedShape,
});

export const suggestEvalsCommand: Command = {
  flags: {
    name: {
      type: "string",
      requiresArg: true,
      describe: "Name of the eval of all chosen conditions together [default: suggested]",
    },
    cases: { type: "boolean", describe: "Make regression cases too, of good answers to questions with gold" },
    ...CRITERION_FLAGS,
    ...SEED_FLAGS,
  },
  async run(argv, { settings, out }) {
    const { suggestEvals } = await import("../../app/evals/suggest-evals.js");
    const suggestion = await suggestEvals(readFlags("evals suggest", schema, argv), settings);
    const { candidates, ...rest } = suggestion;
    const listed = candidates.map(({ measured: { template }, ...candidate }) => ({ ...template, ...candidate }));
    out.result({ ...rest, candidates: listed }, () => suggestionText(suggestion));
    return EXIT.done;
  },
};

function suggestionText({ good, bad, candidates, together, evals }: Suggestion): string {
  const chosen = candidates.filter(({ rejection }) => rejection === null);
  const tried = candidates.filter(({ rejection }) => rejection !== null);
  return [
    `Training half: ${good} good, ${bad} bad. Figures are by cross-validation in it.`,
    ...(chosen.length === 0
      ? ["", "No template tells good from bad here better than chance."]
      : ["", chosenTable(chosen)]),
    ...(chosen.length < 2
      ? []
      : [
          "",
          `Together: alignment ${share(together.alignment)}, coverage ${share(together.coverage)}, false failures ${share(together.falseFailures)}`,
        ]),
    "",
    "Not chosen:",
    ...tried.map(({ measured: { template }, rejection }) => `  ${template.name}: ${rejection}`),
    ...(evals.length === 0 ? [] : ["", "Saved:", ...evals.map(savedLine)]),
  ].join("\n");
}

function chosenTable(chosen: readonly Candidate[]): string {
  return table(
    ["eval", "alignment", "coverage", "false failures", "chance", "fails where"],
    chosen.map(({ measured: { template }, alignment, chance, cut }) => [
      template.name,
      share(alignment.alignment),
      share(alignment.coverage),
      share(alignment.falseFailures),
      share(chance),
      template.bound === "cut"
        ? `${template.feature} > ${cut}`
        : "at_least" in template.bound
          ? `${template.feature} < ${template.bound.at_least}`
          : `${template.feature} > ${template.bound.at_most}`,
    ]),
  );
}

function savedLine({ stored: { definition, status }, isNew }: Suggestion["evals"][number]): string {
  const label = `${definition.name}@${definition.version}`;
  const next = definition.kind === "cases" ? `art-e evals use ${label}` : `art-e evals test ${label}`;
  return `  ${label}${isNew ? "" : ` (was there: ${status})`}   next: ${next}`;
}
