import yargs, { type Argv } from "yargs";
import { readEnvironment } from "./app/settings/env-file.js";
import { programVersion } from "./app/settings/program-version.js";
import type { Command } from "./commands/cli/command.js";
import { formatError } from "./commands/cli/format-error.js";
import { listenForInterrupt } from "./commands/cli/interrupt.js";
import { showMigrationProgress } from "./commands/cli/migration-progress.js";
import { endQuietlyWhenNobodyReads, openOutput } from "./commands/cli/output.js";
import { openProgressLater } from "./commands/cli/progress.js";
import { DEFAULT_CACHE_DIR, DEFAULT_DB, readSettings } from "./commands/cli/settings.js";
import { refuseEmptyValues, usageError } from "./commands/cli/usage-error.js";
import { EXIT, type ExitCode } from "./domain/errors.js";
import { stripControls } from "./platform/strip-controls.js";
import { databaseError } from "./store/connection/database-error.js";

/** A command is loaded when it is called: what one of them needs would make all of them slow to start. */
const COMMANDS: readonly {
  readonly usage: string;
  readonly describe: string;
  readonly load: () => Promise<Command>;
}[] = [
  {
    usage: "demo",
    describe: "See it all work on a bundled mailbox, offline and without an API key",
    load: async () => (await import("./commands/demo.js")).demoCommand,
  },
  {
    usage: "import [source..]",
    describe: "Import mail into the database",
    load: async () => (await import("./commands/import/import.js")).importCommand,
  },
  {
    usage: "run",
    describe: "Let an agent answer the questions, and score its answers",
    load: async () => (await import("./commands/run/run.js")).runCommand,
  },
  {
    usage: "score",
    describe: "Grade the stored traces of a run again, without asking its agent anything",
    load: async () => (await import("./commands/score.js")).scoreCommand,
  },
  {
    usage: "judge <action> <labels>",
    describe: "How far a judge agrees with people: judge calibrate LABELS.jsonl",
    load: async () => (await import("./commands/judge.js")).judgeCommand,
  },
  {
    usage: "stats",
    describe: "Figures of the dataset, the imported mail, or a run",
    load: async () => (await import("./commands/stats.js")).statsCommand,
  },
  {
    usage: "compare <runs..>",
    describe: "Compare runs question by question: is the difference real?",
    load: async () => (await import("./commands/compare.js")).compareCommand,
  },
  {
    usage: "gate <name>",
    describe: "Let a finished run pass or fail: thresholds, no worse than a baseline, JUnit XML",
    load: async () => (await import("./commands/gate.js")).gateCommand,
  },
  {
    usage: "report [runs..]",
    describe: "Runs as a page to look at, as Markdown, or as a table of tasks",
    load: async () => (await import("./commands/report/report.js")).reportCommand,
  },
  {
    usage: "export-traces",
    describe: "Write the traces of a run as JSON lines",
    load: async () => (await import("./commands/export-traces.js")).exportTracesCommand,
  },
  {
    usage: "eval-search",
    describe: "How well the search finds the gold mail, with the question itself as the query",
    load: async () => (await import("./commands/eval-search.js")).evalSearchCommand,
  },
  {
    usage: "search <inbox_address> <words..>",
    describe: "Search a mailbox as an agent would",
    load: async () => (await import("./commands/search.js")).searchCommand,
  },
  {
    usage: "show <name>",
    describe: "Show a trace (its id, or RUN/TASK such as latest/12) or a mail (its Message-ID)",
    load: async () => (await import("./commands/show.js")).showCommand,
  },
  {
    usage: "doctor",
    describe: "Check the database: integrity, index, query plans, owners, disk",
    load: async () => (await import("./commands/doctor.js")).doctorCommand,
  },
  {
    usage: "agents <action> [id] [other]",
    describe: "The agents: list, show, create, change, clone, delete, attach and detach tools, export, import",
    load: async () => (await import("./commands/agents/agents.js")).agentsCommand,
  },
  {
    usage: "tools <action> [id] [arguments]",
    describe: "The tools: list, show, add, change, delete, and call one to try it",
    load: async () => (await import("./commands/tools/tools.js")).toolsCommand,
  },
  {
    usage: "serve",
    describe: "Serve the agents over HTTP: the API, a playground page, and an OpenAI-compatible endpoint",
    load: async () => (await import("./commands/serve.js")).serveCommand,
  },
  {
    usage: "ask <inbox_address> <question..>",
    describe: "Answer one question from a mailbox, with its sources",
    load: async () => (await import("./commands/ask/ask.js")).askCommand,
  },
  {
    usage: "mcp",
    describe: "An MCP server for one mailbox: search, read, and the mails as resources",
    load: async () => (await import("./commands/mcp.js")).mcpCommand,
  },
];

const PARSER = { "duplicate-arguments-array": false, "boolean-negation": false, "strip-aliased": true };

const NAMES = COMMANDS.map(({ usage }) => usage.split(" ")[0] ?? "");

/** Runs one command line and returns the exit code. The only place where errors are caught and printed. */
export async function main(args: readonly string[]): Promise<ExitCode> {
  endQuietlyWhenNobodyReads();
  let code: ExitCode = EXIT.done;
  let onEnd = () => {};
  const parser = COMMANDS.reduce(
    (rest, { usage, describe, load }) =>
      rest.command(
        usage,
        describe,
        async (sub) => usageOf(await load(), sub),
        async (argv) => {
          const settings = readSettings(argv, readEnvironment());
          showMigrationProgress(settings);
          const { run } = await load();
          const interrupts = listenForInterrupt();
          onEnd = () => interrupts.close();
          try {
            const out = openOutput(settings);
            const progress = (title: string) => openProgressLater(settings, title);
            code = await run(argv, { settings, out, note: out.note, progress, ...interrupts });
          } catch (error) {
            throw databaseError(error, settings.db) ?? error;
          }
        },
      ),
    globals(args),
  );
  try {
    refuseEmptyValues(args);
    await parser.parseAsync();
    return code;
  } catch (error) {
    // The parser's own complaints come as errors too, where a value is missing.
    const isComplaint = error instanceof Error && error.name === "YError";
    const told = isComplaint ? usageError(error.message, args, NAMES) : error;
    const { text, exitCode } = formatError(told, args.includes("--verbose"));
    process.stderr.write(`${stripControls(text)}\n`);
    return exitCode;
  } finally {
    onEnd();
  }
}

function usageOf({ positionals = {}, flags }: Command, parser: Argv): Argv {
  const named = Object.entries(positionals).reduce((rest, [name, options]) => rest.positional(name, options), parser);
  // Of words given one after the other all count, of a flag given twice the last.
  const hasWords = Object.values(positionals).some(({ array }) => array === true);
  const coerce = (value: unknown) => (Array.isArray(value) ? value.at(-1) : value);
  // Without a group of their own they would stand below the global flags.
  const grouped = Object.entries(flags).map(([name, options]) => [
    name,
    { ...options, group: "Options:", ...(hasWords ? { coerce } : {}) },
  ]);
  const whole = named.options(Object.fromEntries(grouped));
  return hasWords ? whole.parserConfiguration({ ...PARSER, "duplicate-arguments-array": true }) : whole;
}

function globals(args: readonly string[]): Argv {
  return yargs([...args])
    .scriptName("art-e")
    .usage(
      "$0 <command>\n\nRuns the ART-E benchmark: how well an agent answers a person's questions from that person's mailbox.",
    )
    .option("db", {
      type: "string",
      requiresArg: true,
      global: true,
      describe: `The database [ART_E_DB, default: ${DEFAULT_DB}]`,
    })
    .option("cache-dir", {
      type: "string",
      requiresArg: true,
      global: true,
      describe: `For downloads [ART_E_CACHE_DIR, default: ${DEFAULT_CACHE_DIR}]`,
    })
    .option("json", { type: "boolean", global: true, describe: "Results as JSON on stdout, and nothing else there" })
    .option("quiet", { type: "boolean", global: true, describe: "No progress and no notes" })
    .option("no-progress", { type: "boolean", global: true, describe: "No progress" })
    .option("verbose", { type: "boolean", global: true, describe: "Errors with their stack" })
    .updateStrings({ "Options:": "Global:" })
    .parserConfiguration(PARSER)
    .strict()
    .demandCommand(1, "No command is given.")
    .help("help")
    .alias("help", "h")
    .version(programVersion())
    .wrap(Math.min(120, process.stdout.columns ?? 120))
    .exitProcess(false)
    .showHelpOnFail(false)
    .fail((message, error) => {
      throw error ?? usageError(message, args, NAMES);
    })
    .epilogue(
      "Exit codes: 0 done, 1 failed, 2 wrong usage or unusable input, 3 a gate missed (or more than half of the tasks failed), 130 interrupted.",
    );
}
