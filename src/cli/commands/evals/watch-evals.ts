// The command `evals watch`: whether a validated eval has drifted.
import { z } from "zod";
import type { WatchedEval } from "../../../evals/watch-evals.js";
import { EXIT } from "../../../platform/errors.js";
import { runName } from "../../../platform/flag-values.js";
import { watchText } from "../../../reports/watch-text.js";
import { defineCommand } from "../../flags/define-command.js";
import { evalNames } from "../../flags/eval-flags.js";
import { EVAL_OR_RUN, evalsAndRun } from "./manage-evals.js";

const watchEvalsSchema = z.object({
  names: evalNames.meta({
    description: `Names of active evals, or NAME@VERSION, and optionally a run. ${EVAL_OR_RUN} [default: all active validated evals]`,
  }),
  run: runName.optional().meta({ description: "Run id, the start of an id, a run name, or latest [default: latest]" }),
});

export const watchEvalsCommand = defineCommand(watchEvalsSchema, async (flags, context) => {
  const { watchEvals } = await import("../../../evals/watch-evals.js");
  const { names, run = "latest" } = await evalsAndRun(flags, context.settings);
  const { runId, evals } = await watchEvals({ names, run }, context);
  const isChanged = evals.some(({ drift }) => drift.changed !== "none");
  context.out.result({ runId, passed: !isChanged, evals: evals.map(figuresOf) }, () =>
    evals.map((one) => watchText(runId, one)).join("\n\n"),
  );
  return isChanged ? EXIT.gate : EXIT.done;
});

function figuresOf({ stored: { definition }, drift, ...rest }: WatchedEval) {
  return { name: definition.name, version: definition.version, ...drift, ...rest };
}
