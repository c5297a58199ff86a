import { z } from "zod";
import type { EvalRun } from "../../app/evals/run-evals.js";
import { EXIT } from "../../domain/errors.js";
import { scoreNameOf } from "../../domain/evals/score-names.js";
import { estimateText } from "../../reports/text/evals/estimate-text.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";

const schema = z.object({ names: z.array(text).min(1, "expected the name of an eval"), run: text.default("latest") });

export const runEvalsCommand: Command = {
  positionals: {
    names: { type: "string", array: true, describe: "Evals that are in use; NAME@2 names a version" },
  },
  flags: {
    run: { type: "string", requiresArg: true, describe: "Its id, the beginning of it, or latest [default: latest]" },
  },
  async run(argv, context) {
    const { names, run } = readFlags("evals run", schema, argv);
    const { runEvalsOverRun } = await import("../../app/evals/run-evals.js");
    const done = await runEvalsOverRun(names, run, context);
    const evals = done.evals.map(({ stored: { definition }, ...figures }) => ({
      name: definition.name,
      version: definition.version,
      reference: definition.reference,
      ...figures,
    }));
    context.out.result({ ...done, evals }, () => runText(done));
    return EXIT.done;
  },
};

function runText({ runId, traces, evals }: EvalRun): string {
  return [
    `${traces} traces of ${runId}`,
    "",
    table(
      ["score", "passed", "failed", "does not apply", "errors", "pass rate (95 %)", "corrected", "false alarms"],
      evals.map(
        ({ stored: { definition }, passed, failed, notApplicable, errors, passRate, corrected, falseAlarms }) => [
          scoreNameOf(definition),
          String(passed),
          String(failed),
          String(notApplicable),
          String(errors),
          estimateText(passRate),
          corrected === null ? "not tested" : estimateText(corrected),
          falseAlarms === null ? "not tested" : estimateText(falseAlarms),
        ],
      ),
    ),
    ...evals.flatMap(({ stored: { definition }, errors, firstError }) =>
      firstError === null ? [] : ["", `${scoreNameOf(definition)} failed on ${errors} traces, first: ${firstError}`],
    ),
  ].join("\n");
}
