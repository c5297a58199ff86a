// The command `demo`: a first run over bundled mail.
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { commandLine, showDatabase } from "../../platform/command-line.js";
import type { ExitCode } from "../../platform/errors.js";
import { createFolder } from "../../platform/files.js";
import { file, OVERWRITE_FLAG, shapeOf } from "../../platform/flag-values.js";
import { programFile } from "../../platform/program-files.js";
import { share } from "../../text/format.js";
import type { BenchmarkResult } from "../../traces/run-totals.js";
import type { Command, CommandContext } from "../command.js";
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
    // The results of all steps. With `--json`, they are printed as one document.
    const results: unknown[] = [];
    const collecting: Output = {
      ...out,
      result(json, text) {
        results.push(json);
        if (!settings.json) out.result(undefined, text);
      },
    };
    const offline: CommandContext = { ...context, settings, out: collecting };
    const { importCommand } = await import("./import.js");
    const { runCommand } = await import("./run.js");
    const { reportCommand } = await import("./report.js");
    const { exportTracesCommand } = await import("./export-traces.js");
    showDatabase(files.db);
    const steps: readonly (readonly [Command, Record<string, unknown>, string])[] = [
      [importCommand("import"), { source: [files.mail] }, commandLine`art-e import ${files.mail}`],
      [
        runCommand("run"),
        { agent: "baseline", dataset: files.questions, limit: 0, output: files.results, overwrite, config: "off" },
        commandLine`art-e run -a baseline --dataset ${files.questions} -l 0 -o ${files.results}`,
      ],
      [
        reportCommand("report [runs..]"),
        { output: files.report, overwrite },
        commandLine`art-e report -o ${files.report}`,
      ],
      [
        exportTracesCommand("export-traces [run]"),
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
    const [imported, run] = results as [
      object,
      BenchmarkResult & { readonly output: string | null; readonly db: string },
    ];
    if (settings.json) out.result({ import: imported, run, files }, () => "");
    out.note(explainedFigures(JSON.parse(await readFile(files.results, "utf8"))));
    out.note(nextSteps(files));
    return code;
  },
);

/** Explains the figures to look at first: the two that decide, and the one that says where an agent fails. */
function explainedFigures({ scores }: Pick<BenchmarkResult, "scores">): string {
  const [decisive, found] = [scores.sourcesCorrect, scores.foundGold];
  if (decisive === undefined || found === undefined) throw new Error("the demo's run lacks its scores");
  const rows = [
    [decisive.label, share(decisive.value), "answers that cite an email with the proof: the score that decides"],
    [
      "Its interval",
      `${share(decisive.low)} to ${share(decisive.high)}`,
      "where that rate is with 95% confidence: decides too, between two agents",
    ],
    [found.label, share(found.value), "tasks in which a search found such an email: shows where an agent fails"],
  ] as const;
  const width = Math.max(...rows.map(([label]) => label.length));
  const valueWidth = Math.max(...rows.map(([, value]) => value.length));
  const lines = rows.map(
    ([label, value, meaning]) => `  ${label.padEnd(width)}  ${value.padEnd(valueWidth)}  ${meaning}`,
  );
  return ["\nThree figures of this run:", ...lines].join("\n");
}

function nextSteps({ report, questions }: ReturnType<typeof prepareFolder>): string {
  const next = [
    [commandLine`art-e show latest/1`, "what the agent did in one task"],
    [commandLine`art-e evals code`, "note what went wrong in the tasks, and get evals for it"],
    [
      commandLine`art-e run -a email-search --dataset ${questions} -o ${join(dirname(report), "model.json")}`,
      "ask a model, with an API key such as ANTHROPIC_API_KEY",
    ],
  ] as const;
  return [
    `\nThe report: ${resolve(report)}`,
    "\nNext:",
    ...next.map(([typed, shows]) => `  # ${shows}\n  ${typed}`),
  ].join("\n");
}

/** Keeps the database of an earlier demo and adds to it, because it might contain other runs by now. */
function prepareFolder(folder: string) {
  const files = {
    mail: join(BUNDLED, "maildir"),
    questions: join(BUNDLED, "questions.jsonl"),
    db: join(folder, "demo.db"),
    results: join(folder, "results.json"),
    report: join(folder, "report.html"),
    traces: join(folder, "traces.jsonl"),
  };
  createFolder("--output", folder);
  return files;
}
