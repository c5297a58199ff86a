// The command `gate`: fails if a run misses a threshold or is worse than a baseline.
import { z } from "zod";
import { commandLine } from "../../platform/command-line.js";
import { EXIT, UserError } from "../../platform/errors.js";
import { OVERWRITE_FLAG, runName, shapeOf } from "../../platform/flag-values.js";
import { compact } from "../../platform/optional-values.js";
import { gateText } from "../../reports/run-text.js";
import { CONFIG_FLAGS, GATE_FLAGS, type RunFlagName } from "../../runs/run-flags.js";
import type { CommandDefinition } from "../command.js";
import { readConfig } from "../config/merge-config.js";
import { declaredIn, readFlags } from "../flags/define-command.js";

const schema = z.object({
  run: runName.default("latest").meta({
    description: "Run id, the start of an id, a run name, latest, or a results file [default: latest]",
  }),
  ...shapeOf(OVERWRITE_FLAG),
  ...shapeOf(GATE_FLAGS),
  ...shapeOf(CONFIG_FLAGS),
});

export const gateCommand: CommandDefinition = (usage) => ({
  ...declaredIn(schema, usage),
  async run(argv, context) {
    const configured = await readConfig(argv, context, Object.keys(GATE_FLAGS) as RunFlagName[]);
    const flags = readFlags(usage, schema, configured.argv);
    const { checkOutputs } = await import("../../trace-formats/output-files.js");
    checkOutputs(
      [{ flag: "--junit", path: flags.junit, kind: "junit" }],
      [
        { name: "the results file", path: flags.run },
        { name: "the baseline", path: flags.baseline },
        { name: "the config file", path: configured.path },
      ],
      { db: context.settings.db, overwrite: flags.overwrite },
    );
    const { openGates, throwIfMissed } = await import("../../results/gates.js");
    const openedGates = await openGates(flags, context);
    if (!openedGates.isRequested) {
      throw new UserError(
        "gate_missing",
        "gate: a gate is required.",
        "Add --fail-under accuracy=0.8, --baseline RUN, or --junit FILE, or add gates to art-e.yaml.",
      );
    }
    const { RunSources, unfinished } = await import("../../results/results-file.js");
    const sources = new RunSources(context.settings.db, "newest");
    try {
      const run = await sources.open(flags.run);
      const why = unfinished(run.head);
      if (why !== null)
        throw new UserError("run_unfinished", why, `Finish it: ${commandLine`art-e run --resume ${run.head.runId}`}`);
      const gates = await openedGates.check(run);
      const { runId } = run.head;
      context.out.result(
        { runId, gates, passed: gates.every(({ passed }) => passed), junit: flags.junit ?? null },
        () => compact([...gates.map(gateText), flags.junit !== undefined && `JUnit:  ${flags.junit}`]).join("\n"),
      );
      throwIfMissed(runId, gates);
      return EXIT.done;
    } finally {
      sources.close();
    }
  },
});
