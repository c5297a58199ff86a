import type { CommandDefinition, CommandEntry, CommandGroup, TableEntry } from "./command.js";

function command(usage: string, describe: string, load: () => Promise<CommandDefinition>): CommandEntry {
  return { usage, describe, load: async () => (await load())(usage) };
}

/** `subcommands`: usage, description, and the name that the group's module exports the command by. */
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

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly TableEntry[] = [
  command(
    "demo",
    "Try everything on a bundled mailbox, offline and without an API key",
    async () => (await import("./commands/demo.js")).demoCommand,
  ),
  command(
    "init",
    "Write a file of settings for run and gate, after three questions",
    async () => (await import("./commands/init.js")).initCommand,
  ),
  command(
    "import [source..]",
    "Import mail into the database",
    async () => (await import("./commands/import.js")).importCommand,
  ),
  group(
    "questions",
    "Make questions from imported mail, and check or review those of any dataset",
    () => import("./commands/questions.js"),
    [
      ["make", "Make questions with gold answers from mailboxes, each one checked", "makeQuestionsCommand"],
      ["check [file]", "Check the questions of a dataset, and list the doubtful ones", "checkQuestionsCommand"],
      [
        "review <file>",
        "Decide about the questions of a dataset, on a page with their mails beside them",
        "reviewQuestionsCommand",
      ],
    ],
  ),
  command(
    "run",
    "Let an agent answer the questions, and score its answers",
    async () => (await import("./commands/run.js")).runCommand,
  ),
  command(
    "worker",
    "Answer tasks of runs on a queue, beside other machines (run --queue)",
    async () => (await import("./commands/worker.js")).workerCommand,
  ),
  group("queue", "What is on a queue of runs, and how to clean it", () => import("./commands/queue.js"), [
    ["status", "The runs on a queue, and the workers that answer them", "queueStatusCommand"],
    ["clean [id]", "Remove a run from a queue, or all, with the results that nobody has taken in", "cleanQueueCommand"],
  ]),
  command(
    "score",
    "Score the stored traces of a run again, without calling its agent",
    async () => (await import("./commands/score.js")).scoreCommand,
  ),
  group("judge", "Measure a judge: how far it agrees with people", () => import("./commands/judge.js"), [
    ["calibrate <labels>", "Compare a judge with answers that people have graded", "calibrateCommand"],
  ]),
  command(
    "stats [run_id]",
    "Figures of a run, the dataset, or the imported mail",
    async () => (await import("./commands/stats.js")).statsCommand,
  ),
  group("runs", "List, show, name, tag and delete runs", () => import("./commands/runs.js"), [
    ["list", "List runs with their scores, newest first", "listRunsCommand"],
    ["show [run]", "Show a run with its tasks, failed and worst first", "showRunCommand"],
    ["rename <run> [name]", "Name a run; any command then takes the name for its id", "renameRunCommand"],
    ["note <run> [note]", "Write a note beside a run", "noteRunCommand"],
    ["tag <run> <tags..>", "Give a run tags, or take them away (--remove)", "tagRunCommand"],
    ["delete <runs..>", "Delete runs with their results and traces (--yes)", "deleteRunsCommand"],
    ["prune", "Delete runs by age, number or status; never those with a name, note or tag (--yes)", "pruneRunsCommand"],
  ]),
  command(
    "compare <runs..>",
    "Compare runs question by question: is the difference real?",
    async () => (await import("./commands/compare.js")).compareCommand,
  ),
  command(
    "gate <name>",
    "Pass or fail a finished run: thresholds, no worse than a baseline, JUnit XML",
    async () => (await import("./commands/gate.js")).gateCommand,
  ),
  command(
    "report [runs..]",
    "Write runs as an HTML page, as Markdown, or as a CSV of tasks",
    async () => (await import("./commands/report.js")).reportCommand,
  ),
  command(
    "export-results [runs..]",
    "Write runs as tables (tasks, turns, tool calls) in Parquet, CSV or JSON lines, for pandas, DuckDB and R",
    async () => (await import("./commands/export-results.js")).exportResultsCommand,
  ),
  command(
    "export-traces",
    "Write the traces of a run as JSON lines",
    async () => (await import("./commands/export-traces.js")).exportTracesCommand,
  ),
  command(
    "import-traces <file>",
    "Read traces of another database or another program, to score, show, report and export them",
    async () => (await import("./commands/import-traces.js")).importTracesCommand,
  ),
  command(
    "eval-search",
    "Measure how well the search finds the gold mail, with the question itself as the query",
    async () => (await import("./commands/eval-search.js")).evalSearchCommand,
  ),
  command(
    "search <inbox_address> <words..>",
    "Search a mailbox as an agent would",
    async () => (await import("./commands/search.js")).searchCommand,
  ),
  command(
    "show <name>",
    "Show a trace (its id, or RUN/TASK such as latest/12) or a mail (its Message-ID)",
    async () => (await import("./commands/show.js")).showCommand,
  ),
  command(
    "doctor",
    "Check the database: integrity, index, query plans, owners, disk",
    async () => (await import("./commands/doctor.js")).doctorCommand,
  ),
  group(
    "agents",
    "List, show, create, change and delete agents; attach and detach tools; export and import",
    () => import("./commands/agents.js"),
    [
      ["list", "List all agents", "listAgentsCommand"],
      [
        "show [id]",
        "Show an agent, one of its versions (ID@VERSION), or the agent of a run (--run)",
        "showAgentCommand",
      ],
      ["versions <id>", "List the versions of an agent, with the number of runs of each", "listVersionsCommand"],
      ["create <id>", "Create an agent", "createAgentCommand"],
      ["set <id>", "Change an agent", "setAgentCommand"],
      ["clone <id> <new_id>", "Copy an agent under another id", "cloneAgentCommand"],
      ["delete <id>", "Delete an agent; its runs and versions stay", "deleteAgentCommand"],
      ["attach <id> <tools..>", "Give an agent tools", "attachToolCommand"],
      ["detach <id> <tools..>", "Take tools from an agent", "detachToolCommand"],
      ["export <id>", "Write an agent with its own tools as YAML", "exportAgentCommand"],
      ["import <file>", "Create an agent from a YAML file", "importAgentCommand"],
    ],
  ),
  group(
    "tools",
    "List, show, add, change and delete tools, and call one to test it",
    () => import("./commands/tools.js"),
    [
      ["list", "List all tools", "listToolsCommand"],
      ["show <id>", "Show a tool with its parameters and the agents that have it", "showToolCommand"],
      ["add [id]", "Add a tool: a web address, a program, a module, or those of an MCP server", "addToolCommand"],
      ["set <id>", "Change a tool", "setToolCommand"],
      ["delete <id>", "Delete a tool that no agent has", "deleteToolCommand"],
      ["test <id> [arguments]", "Call a tool once; exit with 1 if the call fails", "testToolCommand"],
    ],
  ),
  group(
    "suite",
    "List, show, check and export task suites: folders of tasks with set-up and evaluation functions",
    () => import("./commands/suite.js"),
    [
      ["list <dir>", "List tasks, with what they are graded by", "listTasksCommand"],
      [
        "show <dir> <id>",
        "Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it",
        "showTaskCommand",
      ],
      [
        "check <dir>",
        "Check the files of all tasks, or grade what an oracle file says an agent left behind (--oracle)",
        "checkSuiteCommand",
      ],
      [
        "image <name>",
        "Print the Dockerfile of a snapshot: the programs and modules that its tasks find",
        "writeImageCommand",
      ],
      [
        "export <suite>",
        "Write the questions of ART-E as a suite's folder, to be run with art-e run --suite",
        "exportSuiteCommand",
      ],
    ],
  ),
  group(
    "env",
    "The benchmark as an environment that agents are trained in",
    async () => ({
      ...(await import("./commands/env-serve.js")),
      ...(await import("./commands/env-client.js")),
      ...(await import("./commands/env.js")),
    }),
    [
      ["serve", "Serve the questions as episodes to trainers, over the OpenEnv protocol", "serveEnvironmentCommand"],
      ["client", "Write a trainer's client of the environment, in Python", "environmentClientCommand"],
      [
        "export",
        "Write questions as folders of Harbor tasks, each with its mailbox and a command to search it",
        "exportEnvironmentCommand",
      ],
    ],
  ),
  group(
    "evals",
    "Label traces, make evals from the labels, prove them on traces they have not seen, and run them",
    async () => ({ ...(await import("./commands/evals-make.js")), ...(await import("./commands/evals.js")) }),
    [
      [
        "label [run]",
        "Label the traces of a run good or bad, one by one or by what is known of them (--from)",
        "labelTracesCommand",
      ],
      [
        "labels [traces..]",
        "List the labels of a criterion with who gave them and how far they agree, write or delete them",
        "listLabelsCommand",
      ],
      [
        "criteria [name] [sentence]",
        "List what labels and evals are about, or write what one of them means",
        "criteriaCommand",
      ],
      [
        "add [name]",
        "Add an eval without labels: a template, what an answer contains, or a criterion for a model to check",
        "addEvalCommand",
      ],
      ["suggest", "Choose evals by the labels of the training half, without a model", "suggestEvalsCommand"],
      ["generate", "Have a model write evals by the labels of the training half", "generateEvalsCommand"],
      [
        "test <name>",
        "Measure an eval on the held-out half; exit code 3 if it misses the thresholds",
        "testEvalCommand",
      ],
      ["list", "List evals, with what their tests said", "listEvalsCommand"],
      ["show <name>", "Show an eval, its versions and its newest test", "showEvalCommand"],
      [
        "history <name>",
        "Show the versions of an eval with what changed in each, and what each test said",
        "evalHistoryCommand",
      ],
      [
        "review [name]",
        "List training traces on which an eval and labels disagree; without a name, bad ones that no eval fails",
        "reviewEvalCommand",
      ],
      [
        "refine <name>",
        "Make a new version of an eval from what contradicts it in the training half",
        "refineEvalCommand",
      ],
      ["use <name>", "Put a version of an eval into use; the former one is retired", "useEvalCommand"],
      ["retire <name>", "Take an eval out of use", "retireEvalCommand"],
      ["run <names..>", "Run evals over the stored traces of a run, beside its scores", "runEvalsCommand"],
      ["export [names..]", "Write evals as files into a folder", "exportEvalsCommand"],
      ["import <files..>", "Import eval files, or folders of them, as drafts", "importEvalsCommand"],
    ],
  ),
  command(
    "serve",
    "Serve the agents over HTTP: the API, a playground page, and an OpenAI-compatible endpoint",
    async () => (await import("./commands/serve.js")).serveCommand,
  ),
  command(
    "ask <inbox_address> <question..>",
    "Answer one question from a mailbox, with its sources",
    async () => (await import("./commands/ask.js")).askCommand,
  ),
  command(
    "mcp",
    "Start an MCP server for one mailbox: search, read, and the mails as resources",
    async () => (await import("./commands/mcp.js")).mcpCommand,
  ),
  command(
    "completion [shell]",
    "Print a script that lets bash, zsh or fish complete commands, flags and ids",
    async () => (await import("./completion.js")).completionCommand,
  ),
];
