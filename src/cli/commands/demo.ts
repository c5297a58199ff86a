// The command `demo`: a first run over bundled mail.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { commandLine, showDatabase, showProgram } from "../../platform/command-line.js";
import type { ExitCode } from "../../platform/errors.js";
import { createFolder } from "../../platform/files.js";
import { file, OVERWRITE_FLAG, shapeOf } from "../../platform/flag-values.js";
import { programFile } from "../../platform/program-files.js";
import { type Command, type CommandContext, programCall } from "../command.js";
import { defineCommand } from "../flags/define-command.js";
import type { Output } from "../terminal.js";

const BUNDLED = fileURLToPath(programFile("fixtures/demo/"));

/** Imports, runs and exports bundled mail with the same commands that a user would type. */
export const demoCommand = defineCommand(
  z.object({
    output: file.default("./demo-output").meta({ placeholder: "FOLDER", description: "Output folder", alias: "o" }),
    ...shapeOf(OVERWRITE_FLAG),
  }),
  async ({ output, overwrite }, context) => {
    const files = prepareFolder(output);
    // Stay offline, even if the environment specifies a server for other runs.
    const settings = { ...context.settings, db: files.db, env: { ...context.settings.env, API_URL: undefined } };
    const { out } = context;
    // With `--json`, print one document with the results of all steps.
    const results: unknown[] = [];
    const collecting: Output = { ...out, result: (json) => results.push(json) };
    const offline: CommandContext = { ...context, settings, out: settings.json ? collecting : out };
    const { importCommand } = await import("./import.js");
    const { runCommand } = await import("./run.js");
    const { exportTracesCommand } = await import("./export-traces.js");
    showDatabase(files.db);
    showProgram(programCall(settings.env));
    const steps: readonly (readonly [Command, Record<string, unknown>, string])[] = [
      [importCommand("import"), { source: [files.mail] }, commandLine`art-e import ${files.mail}`],
      [
        runCommand("run"),
        { agent: "baseline", dataset: files.questions, limit: 0, output: files.results, overwrite, config: "off" },
        commandLine`art-e run -a baseline --dataset ${files.questions} -l 0 -o ${files.results}`,
      ],
      [
        exportTracesCommand("export-traces"),
        { output: files.traces, overwrite },
        commandLine`art-e export-traces -o ${files.traces}`,
      ],
    ];
    let code: ExitCode = 0;
    for (const [command, flags, typed] of steps) {
      out.note(`\n$ ${typed}`);
      code = await command.run(flags, offline);
      if (code !== 0) return code;
    }
    const [imported, run] = results;
    if (settings.json) out.result({ import: imported, run, files }, () => "");
    out.note(nextSteps(join(output, "report.html")));
    return code;
  },
);

function nextSteps(report: string): string {
  const next = [
    [commandLine`art-e show latest/1`, "one task: what the agent said and did"],
    [
      commandLine`art-e search marcus.hale@kestrelplains.example Merriwell base quantity`,
      "the mail, as agents search it",
    ],
    [commandLine`art-e report -o ${report}`, "the run as a page for the browser"],
    [commandLine`art-e serve`, "a playground in the browser, and an API"],
  ] as const;
  return ["\nLook for yourself:", ...next.map(([typed, shows]) => `  # ${shows}\n  ${typed}`)].join("\n");
}

/** Keeps the database of an earlier demo and adds to it, because it might contain other runs by now. */
function prepareFolder(folder: string) {
  const files = {
    mail: join(BUNDLED, "maildir"),
    questions: join(BUNDLED, "questions.jsonl"),
    db: join(folder, "demo.db"),
    results: join(folder, "results.json"),
    traces: join(folder, "traces.jsonl"),
  };
  createFolder("--output", folder);
  return files;
}
