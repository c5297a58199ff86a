import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { gateText } from "../../reports/run-text.js";
import type { CommandDefinition } from "../command.js";
import { readConfig } from "../config/merge-config.js";
import { configShape, overwriteShape } from "../flags/flags.js";
import { declaredIn, readFlags, text } from "../flags/read-flags.js";
import { gateShape } from "../flags/scoring-flags.js";

const schema = z.object({
  name: text.meta({ description: "Run id, the start of an id, latest, or a results file" }),
  ...overwriteShape,
  ...gateShape,
  ...configShape,
});

export const gateCommand: CommandDefinition = (usage) => ({
  ...declaredIn(schema, usage),
  async run(argv, context) {
    const configured = await readConfig(argv, context, ["gates"]);
    const flags = readFlags(usage, schema, configured.argv);
    const { checkOutputs } = await import("../../trace-formats/output-files.js");
    checkOutputs(
      [{ flag: "--junit", path: flags.junit, kind: "junit" }],
      [
        { name: "the results file", path: flags.name },
        { name: "the baseline", path: flags.baseline },
        { name: "the file of settings", path: configured.path },
      ],
      { db: context.settings.db, overwrite: flags.overwrite },
    );
    const { openGates, throwIfMissed } = await import("../../runs/gates.js");
    const openedGates = await openGates(flags, context);
    if (!openedGates.isRequested) {
      throw new UserError(
        "gate_missing",
        "No gate is given.",
        "Add --fail-under accuracy=0.8, --baseline RUN, or --junit FILE, or write gates into art-e.yaml.",
      );
    }
    const { RunSources, unfinished } = await import("../../runs/results-file.js");
    const sources = new RunSources(context.settings.db, "newest");
    try {
      const run = await sources.open(flags.name);
      const why = unfinished(run.head);
      if (why !== null)
        throw new UserError("run_unfinished", why, `Finish it: ${commandLine`art-e run --resume ${run.head.runId}`}`);
      const gates = await openedGates.check(run);
      const { runId } = run.head;
      context.out.result(
        { runId, gates, passed: gates.every(({ passed }) => passed), junit: flags.junit ?? null },
        () => [...gates.map(gateText), ...(flags.junit === undefined ? [] : [`JUnit:  ${flags.junit}`])].join("\n"),
      );
      throwIfMissed(runId, gates);
      return EXIT.done;
    } finally {
      sources.close();
    }
  },
});
