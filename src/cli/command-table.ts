// The table of commands, each loaded when it is called, and hints for commands that do not exist.
import { commandLine } from "../platform/command-line.js";
import type { CommandDefinition, CommandEntry, CommandGroup, CommandSection, TableEntry } from "./command.js";

function command(usage: string, describe: string, load: () => Promise<CommandDefinition>): CommandEntry {
  return { usage, describe, load: async () => (await load())(usage) };
}

/** Subcommands consist of a usage, a description and the name of the export in the group's module. */
function group<Name extends string>(
  name: string,
  describe: string,
  load: () => Promise<Readonly<Record<Name, CommandDefinition>>>,
  subcommands: readonly (readonly [usage: string, describe: string, exported: Name])[],
): CommandGroup {
  return {
    usage: name,
    describe,
    subcommands: subcommands.map(([usage, what, exported]) => ({
      usage,
      describe: what,
      load: async () => (await load())[exported](`${name} ${usage}`),
    })),
  };
}

/** Commands in the order of `--help`. `rare` ones are only in `--help all`. */
export const COMMAND_SECTIONS: readonly CommandSection[] = [
  {
    title: "Start",
    common: [
      command(
        "demo",
        "Try everything on a bundled mailbox, offline and without an API key",
        async () => (await import("./commands/demo.js")).demoCommand,
      ),
      command(
        "import [source..]",
        "Import mail into the database",
        async () => (await import("./commands/import.js")).importCommand,
      ),
      command(
        "search [mailbox] <words..>",
        "Search a mailbox like an agent",
        async () => (await import("./commands/search.js")).searchCommand,
      ),
      command("show <name>", "Show a trace or an email", async () => (await import("./commands/show.js")).showCommand),
      command(
        "ask [mailbox] [question..]",
        "Answer one question from a mailbox, or list the emails that may need a reply",
        async () => (await import("./commands/ask.js")).askCommand,
      ),
      command(
        "doctor",
        "Check the database and this machine",
        async () => (await import("./commands/doctor.js")).doctorCommand,
      ),
    ],
    rare: [
      command(
        "init",
        "Write a config file for run and gate",
        async () => (await import("./commands/init.js")).initCommand,
      ),
      command(
        "completion [shell]",
        "Print a completion script for bash, zsh or fish",
        async () => (await import("./commands/completion.js")).completionCommand,
      ),
    ],
  },
  {
    title: "Run",
    common: [
      command(
        "run",
        "Let an agent answer the questions, and score its answers",
        async () => (await import("./commands/run.js")).runCommand,
      ),
      group("runs", "List, show, name, tag and delete runs", () => import("./commands/runs.js"), [
        ["list [query..]", "List runs with their scores, newest first", "listRunsCommand"],
        ["show [run]", "Show a run with its tasks, failed and worst first", "showRunCommand"],
        ["rename [run] [name]", "Name a run. Commands accept the name in place of its id", "renameRunCommand"],
        ["note [run] [note]", "Add a note to a run", "noteRunCommand"],
        ["tag [run] <tags..>", "Add or remove tags of a run", "tagRunCommand"],
        ["delete <runs..>", "Delete runs with their results and traces (--yes)", "deleteRunsCommand"],
        [
          "prune",
          "Delete runs by age, number or status, except named, noted or tagged ones (--yes)",
          "pruneRunsCommand",
        ],
      ]),
      command(
        "stats [run]",
        "Show statistics of a run, the dataset, or the imported mail",
        async () => (await import("./commands/stats.js")).statsCommand,
      ),
      command(
        "report [runs..]",
        "Write runs as an HTML page, Markdown or CSV",
        async () => (await import("./commands/report.js")).reportCommand,
      ),
      group("ctl", "Steer a run that is running on this machine", () => import("./commands/ctl.js"), [
        ["list", "List the running runs of the cache folder", "listControlledCommand"],
        ["show [run]", "Show the state, running tasks, limits and changes of a running run", "showControlledCommand"],
        ["pause [run]", "Start no further tasks until the run is resumed", "pauseCommand"],
        ["resume [run]", "Continue a paused run", "resumeCommand"],
        ["cancel [run]", "Stop a run after its running tasks, or immediately (--now)", "cancelCommand"],
        ["requeue [run]", "Run the failed tasks of a run again", "requeueCommand"],
        [
          "set [run]",
          "Change concurrency, rate limits, budgets and the task timeout of a running run",
          "setLimitsCommand",
        ],
      ]),
    ],
    rare: [
      command(
        "score [run]",
        "Score the stored traces of a run again without calling its agent",
        async () => (await import("./commands/score.js")).scoreCommand,
      ),
    ],
  },
  {
    title: "Judge",
    common: [
      command(
        "compare <runs..>",
        "Compare runs question by question, with significance tests. One run is compared with the newest",
        async () => (await import("./commands/compare.js")).compareCommand,
      ),
      command(
        "gate [run]",
        "Check a finished run against thresholds or a baseline (for CI)",
        async () => (await import("./commands/gate.js")).gateCommand,
      ),
      command(
        "reliability [runs..]",
        "Show how consistent, robust and predictable the answers of a run are",
        async () => (await import("./commands/reliability.js")).reliabilityCommand,
      ),
    ],
    rare: [
      command(
        "eval-search",
        "Measure how well the search finds the gold emails",
        async () => (await import("./commands/eval-search.js")).evalSearchCommand,
      ),
    ],
  },
  {
    title: "Evals",
    common: [
      group(
        "evals",
        "Label traces, make evals from the labels, validate and run them",
        async () => ({
          ...(await import("./commands/evals/label-traces.js")),
          ...(await import("./commands/evals/code-traces.js")),
          ...(await import("./commands/evals/modes.js")),
          ...(await import("./commands/evals/create-evals.js")),
          ...(await import("./commands/evals/manage-evals.js")),
          ...(await import("./commands/evals/watch-evals.js")),
        }),
        [
          ["code [run]", "1. Note the first thing that went wrong in each of some traces", "codeTracesCommand"],
          [
            "modes [action] [words..]",
            "2. List failure modes and notes, and group the notes into modes",
            "modesCommand",
          ],
          [
            "label [run]",
            "3. Label traces good or bad, check the notes of the modes (--confirm), or list labels (--list)",
            "labelTracesCommand",
          ],
          [
            "suggest",
            "4. Choose evals for each mode based on labels, or let a model write them",
            "suggestEvalsCommand",
          ],
          [
            "test [names..]",
            "5. Validate evals on labels that they were not made from (exit code 3 if one misses the thresholds)",
            "testEvalCommand",
          ],
          ["use [names..]", "6. Activate evals (retires their previous versions)", "useEvalCommand"],
          [
            "run [names..]",
            "7. Run evals on the stored traces of a run. Then gate on them: art-e gate",
            "runEvalsCommand",
          ],
          [
            "watch [names..]",
            "8. Find out whether an eval's judge or the agent changed since the validation (exit code 3 if so)",
            "watchEvalsCommand",
          ],
          ["cases [run]", "Make cases, patterns and failure modes from the score bands of a run", "bandCasesCommand"],
          [
            "add [names..]",
            "Add an eval: a template, a text in the answer, a rubric, a judge, or files",
            "addEvalCommand",
          ],
          ["list", "List evals with their test results", "listEvalsCommand"],
          [
            "show <name>",
            "Show an eval with its tests and versions, or its disagreements with labels",
            "showEvalCommand",
          ],
          ["retire <name>", "Retire an eval", "retireEvalCommand"],
          ["export [names..]", "Export evals as files", "exportEvalsCommand"],
        ],
      ),
    ],
    rare: [],
  },
  {
    title: "Build",
    common: [
      group("agents", "Manage agents and their tools", () => import("./commands/agents.js"), [
        ["list", "List all agents", "listAgentsCommand"],
        ["show [id]", "Show an agent, one of its versions, or the agent of a run", "showAgentCommand"],
        ["versions <id>", "List the versions of an agent, with the number of runs", "listVersionsCommand"],
        ["create <id>", "Create an agent", "createAgentCommand"],
        ["set <id>", "Change an agent", "setAgentCommand"],
        ["clone <id> <new_id>", "Copy an agent", "cloneAgentCommand"],
        ["delete <id>", "Delete an agent (its runs and versions stay)", "deleteAgentCommand"],
        ["attach <id> <tools..>", "Attach tools to an agent", "attachToolCommand"],
        ["configure <id> <tool>", "Change the config of an attached tool", "configureToolCommand"],
        ["detach <id> <tools..>", "Detach tools from an agent", "detachToolCommand"],
        ["export <id>", "Export an agent with its own tools as YAML", "exportAgentCommand"],
        ["import <file>", "Create an agent from a YAML file", "importAgentCommand"],
      ]),
      group("tools", "Manage tools, and test one", () => import("./commands/tools.js"), [
        ["list", "List all tools", "listToolsCommand"],
        ["show <id>", "Show a tool with its parameters and its agents", "showToolCommand"],
        ["add [id]", "Add a tool: a URL, a program, a module, or an MCP server", "addToolCommand"],
        ["set <id>", "Change a tool", "setToolCommand"],
        ["delete <id>", "Delete a tool that is not attached to an agent", "deleteToolCommand"],
        ["test <id> [arguments]", "Call a tool once (exit code 1 if the call fails)", "testToolCommand"],
      ]),
      group(
        "questions",
        "Make questions from imported mail, and check or review any dataset",
        () => import("./commands/questions.js"),
        [
          ["make", "Make questions with checked gold answers from mailboxes", "makeQuestionsCommand"],
          ["check [file]", "Check the questions of a dataset, and list doubtful ones", "checkQuestionsCommand"],
          [
            "review <file>",
            "Review the questions of a dataset on a page, next to their emails",
            "reviewQuestionsCommand",
          ],
        ],
      ),
      group("suite", "List, check and export task suites", () => import("./commands/suite.js"), [
        ["list <dir>", "List tasks with their evaluation", "listTasksCommand"],
        ["show <dir> <id>", "Show a task with its instruction, setup, evaluation and problems", "showTaskCommand"],
        [
          "check <dir>",
          "Check the files of all tasks, or grade the results in an oracle file (--oracle)",
          "checkSuiteCommand",
        ],
        ["image <name>", "Print the Dockerfile of a snapshot", "writeImageCommand"],
        ["export <suite>", "Write the ART-E questions as a suite folder, for art-e run --suite", "exportSuiteCommand"],
      ]),
    ],
    rare: [],
  },
  {
    title: "Connect",
    common: [
      command(
        "serve",
        "Serve agents over HTTP: a playground, an API, and an OpenAI-compatible endpoint",
        async () => (await import("./commands/serve.js")).serveCommand,
      ),
      command(
        "mcp [mailbox]",
        "Start an MCP server for one mailbox, or for reading runs (--runs)",
        async () => (await import("./commands/mcp.js")).mcpCommand,
      ),
      command(
        "export-traces [run]",
        "Export the traces of a run",
        async () => (await import("./commands/export-traces.js")).exportTracesCommand,
      ),
      command(
        "import-traces <file>",
        "Import traces from another database or program",
        async () => (await import("./commands/import-traces.js")).importTracesCommand,
      ),
      command(
        "export-results [runs..]",
        "Write runs as tables (Parquet, CSV, JSON Lines) for pandas, DuckDB and R",
        async () => (await import("./commands/export-results.js")).exportResultsCommand,
      ),
    ],
    rare: [],
  },
  {
    title: "Scale and train",
    common: [
      command(
        "worker",
        "Answer the tasks of runs on a queue (run --queue)",
        async () => (await import("./commands/worker.js")).workerCommand,
      ),
      group(
        "env",
        "Use the benchmark as a training environment",
        async () => ({
          ...(await import("./commands/env-serve.js")),
          ...(await import("./commands/env-client.js")),
          ...(await import("./commands/env-export.js")),
        }),
        [
          ["serve", "Serve the questions as episodes over the OpenEnv protocol", "serveEnvironmentCommand"],
          ["client", "Write a Python client for a trainer", "environmentClientCommand"],
          [
            "export",
            "Write questions as Harbor tasks, with the mailbox and a search command",
            "exportEnvironmentCommand",
          ],
        ],
      ),
    ],
    rare: [
      group("queue", "Show and clean a queue of runs", () => import("./commands/queue.js"), [
        ["status", "Show the runs on a queue, and their workers", "queueStatusCommand"],
        [
          "clean [run]",
          "Remove one run or all runs from a queue, with results that are not saved yet",
          "cleanQueueCommand",
        ],
      ]),
    ],
  },
];

export const COMMANDS: readonly TableEntry[] = COMMAND_SECTIONS.flatMap(({ common, rare }) => [...common, ...rare]);

const LOCAL_DATABASE = () => "Remove it. The mail is always imported into a file on this machine: --db FILE.";
const RUN_BENCHMARK = () => `Run the benchmark: ${commandLine`art-e run --agent baseline`}.`;

/**
 * Commands and flags that do not exist, with a hint: commands of earlier checkouts, and flags of the import script for
 * Cloudflare D1. A hint is a function, because it names the program as it was called.
 */
export const MISSING_COMMANDS: ReadonlyMap<string, () => string> = new Map([
  ["benchmark", RUN_BENCHMARK],
  ["bench", RUN_BENCHMARK],
  ["eval", () => `${RUN_BENCHMARK()} Make and run checks of traces: ${commandLine`art-e evals --help`}.`],
  ["evals labels", () => `List labels: ${commandLine`art-e evals label --list`}.`],
  [
    "evals criteria",
    () =>
      `List the modes: ${commandLine`art-e evals modes`}. Describe one: ${commandLine`art-e evals modes describe MODE --sentence TEXT`}.`,
  ],
  ["evals generate", () => `Let a model write evals: ${commandLine`art-e evals suggest --model MODEL`}.`],
  [
    "evals review",
    () => `List the labels that contradict an eval: ${commandLine`art-e evals show NAME --disagreements`}.`,
  ],
  ["evals import", () => `Add files: ${commandLine`art-e evals add FILE`}.`],
  [
    "evals history",
    () => `Show the versions of an eval with their changes and tests: ${commandLine`art-e evals show NAME`}.`,
  ],
  ["evals refine", () => `Fit the thresholds to the labels again: ${commandLine`art-e evals suggest`}.`],
  ["modes", () => `Group coding notes into failure modes: ${commandLine`art-e evals modes`}.`],
  [
    "judge",
    () =>
      `Add the judge as an eval and test it: ${commandLine`art-e evals add judge --judge MODEL`}, ${commandLine`art-e evals test judge`}.`,
  ],
  ["import --local", LOCAL_DATABASE],
  ["import --database-id", LOCAL_DATABASE],
  ["import -d", LOCAL_DATABASE],
]);
