import type { CommandGroup, TableEntry } from "./command.js";

const TOOLS_GROUP: CommandGroup = {
  usage: "tools",
  describe: "List, show, add, change and delete tools, and call one to test it",
  subcommands: [
    {
      usage: "list",
      describe: "List all tools",
      load: async () => (await import("./commands/tools.js")).listToolsCommand,
    },
    {
      usage: "show <id>",
      describe: "Show a tool with its parameters and the agents that have it",
      load: async () => (await import("./commands/tools.js")).showToolCommand,
    },
    {
      usage: "add [id]",
      describe: "Add a tool: a web address, a program, a module, or those of an MCP server",
      load: async () => (await import("./commands/tools.js")).addToolCommand,
    },
    {
      usage: "set <id>",
      describe: "Change a tool",
      load: async () => (await import("./commands/tools.js")).setToolCommand,
    },
    {
      usage: "delete <id>",
      describe: "Delete a tool that no agent has",
      load: async () => (await import("./commands/tools.js")).deleteToolCommand,
    },
    {
      usage: "test <id> [arguments]",
      describe: "Call a tool once; exit with 1 if the call fails",
      load: async () => (await import("./commands/tools.js")).testToolCommand,
    },
  ],
};

const SUITE_GROUP: CommandGroup = {
  usage: "suite",
  describe: "List, show, check and export task suites: folders of tasks with set-up and evaluation functions",
  subcommands: [
    {
      usage: "list <dir>",
      describe: "List tasks, with what they are graded by",
      load: async () => (await import("./commands/suite.js")).listTasksCommand,
    },
    {
      usage: "show <dir> <id>",
      describe: "Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it",
      load: async () => (await import("./commands/suite.js")).showTaskCommand,
    },
    {
      usage: "check <dir>",
      describe: "Check the files of all tasks, or grade what an oracle file says an agent left behind (--oracle)",
      load: async () => (await import("./commands/suite.js")).checkSuiteCommand,
    },
    {
      usage: "image <name>",
      describe: "Print the Dockerfile of a snapshot: the programs and modules that its tasks find",
      load: async () => (await import("./commands/suite.js")).writeImageCommand,
    },
    {
      usage: "export <suite>",
      describe: "Write the questions of ART-E as a suite's folder, to be run with art-e run --suite",
      load: async () => (await import("./commands/suite.js")).exportSuiteCommand,
    },
  ],
};

const ENV_GROUP: CommandGroup = {
  usage: "env",
  describe: "The benchmark as an environment that agents are trained in",
  subcommands: [
    {
      usage: "serve",
      describe: "Serve the questions as episodes to trainers, over the OpenEnv protocol",
      load: async () => (await import("./commands/env-serve.js")).serveEnvironmentCommand,
    },
    {
      usage: "client",
      describe: "Write a trainer's client of the environment, in Python",
      load: async () => (await import("./commands/env-client.js")).environmentClientCommand,
    },
    {
      usage: "export",
      describe: "Write questions as folders of Harbor tasks, each with its mailbox and a command to search it",
      load: async () => (await import("./commands/env.js")).exportEnvironmentCommand,
    },
  ],
};

const RUNS_GROUP: CommandGroup = {
  usage: "runs",
  describe: "List, show, name, tag and delete runs",
  subcommands: [
    {
      usage: "list",
      describe: "List runs with their scores, newest first",
      load: async () => (await import("./commands/runs.js")).listRunsCommand,
    },
    {
      usage: "show [run]",
      describe: "Show a run with its tasks, failed and worst first",
      load: async () => (await import("./commands/runs.js")).showRunCommand,
    },
    {
      usage: "rename <run> [name]",
      describe: "Name a run; any command then takes the name for its id",
      load: async () => (await import("./commands/runs.js")).renameRunCommand,
    },
    {
      usage: "note <run> [note]",
      describe: "Write a note beside a run",
      load: async () => (await import("./commands/runs.js")).noteRunCommand,
    },
    {
      usage: "tag <run> <tags..>",
      describe: "Give a run tags, or take them away (--remove)",
      load: async () => (await import("./commands/runs.js")).tagRunCommand,
    },
    {
      usage: "delete <runs..>",
      describe: "Delete runs with their results and traces (--yes)",
      load: async () => (await import("./commands/runs.js")).deleteRunsCommand,
    },
    {
      usage: "prune",
      describe: "Delete runs by age, number or status; never those with a name, note or tag (--yes)",
      load: async () => (await import("./commands/runs.js")).pruneRunsCommand,
    },
  ],
};

const QUEUE_GROUP: CommandGroup = {
  usage: "queue",
  describe: "What is on a queue of runs, and how to clean it",
  subcommands: [
    {
      usage: "status",
      describe: "The runs on a queue, and the workers that answer them",
      load: async () => (await import("./commands/queue.js")).queueStatusCommand,
    },
    {
      usage: "clean [id]",
      describe: "Remove a run from a queue, or all, with the results that nobody has taken in",
      load: async () => (await import("./commands/queue.js")).cleanQueueCommand,
    },
  ],
};

const QUESTIONS_GROUP: CommandGroup = {
  usage: "questions",
  describe: "Make questions from imported mail, and check or review those of any dataset",
  subcommands: [
    {
      usage: "make",
      describe: "Make questions with gold answers from mailboxes, each one checked",
      load: async () => (await import("./commands/questions.js")).makeQuestionsCommand,
    },
    {
      usage: "check [file]",
      describe: "Check the questions of a dataset, and list the doubtful ones",
      load: async () => (await import("./commands/questions.js")).checkQuestionsCommand,
    },
    {
      usage: "review <file>",
      describe: "Decide about the questions of a dataset, on a page with their mails beside them",
      load: async () => (await import("./commands/questions.js")).reviewQuestionsCommand,
    },
  ],
};

const JUDGE_GROUP: CommandGroup = {
  usage: "judge",
  describe: "Measure a judge: how far it agrees with people",
  subcommands: [
    {
      usage: "calibrate <labels>",
      describe: "Compare a judge with answers that people have graded",
      load: async () => (await import("./commands/judge.js")).calibrateCommand,
    },
  ],
};

const EVALS_GROUP: CommandGroup = {
  usage: "evals",
  describe: "Label traces, make evals from the labels, prove them on traces they have not seen, and run them",
  subcommands: [
    {
      usage: "label [run]",
      describe: "Label the traces of a run good or bad, one by one or by what is known of them (--from)",
      load: async () => (await import("./commands/evals-make.js")).labelTracesCommand,
    },
    {
      usage: "labels",
      describe: "Write the labels of a criterion as JSON lines, which --from takes again",
      load: async () => (await import("./commands/evals-make.js")).listLabelsCommand,
    },
    {
      usage: "add [template]",
      describe: "Take a template as it is, without labels; without a name they are listed",
      load: async () => (await import("./commands/evals-make.js")).addTemplateCommand,
    },
    {
      usage: "suggest",
      describe: "Choose evals by the labels of the training half, without a model",
      load: async () => (await import("./commands/evals-make.js")).suggestEvalsCommand,
    },
    {
      usage: "generate",
      describe: "Have a model write evals by the labels of the training half",
      load: async () => (await import("./commands/evals-make.js")).generateEvalsCommand,
    },
    {
      usage: "test <name>",
      describe: "Measure an eval on the held-out half; exit code 3 if it misses the thresholds",
      load: async () => (await import("./commands/evals.js")).testEvalCommand,
    },
    {
      usage: "list",
      describe: "List evals, with what their tests said",
      load: async () => (await import("./commands/evals.js")).listEvalsCommand,
    },
    {
      usage: "show <name>",
      describe: "Show an eval, its versions and its newest test",
      load: async () => (await import("./commands/evals.js")).showEvalCommand,
    },
    {
      usage: "review [name]",
      describe:
        "List training traces on which an eval and labels disagree; without a name, bad ones that no eval fails",
      load: async () => (await import("./commands/evals.js")).reviewEvalCommand,
    },
    {
      usage: "refine <name>",
      describe: "Make a new version of an eval from what contradicts it in the training half",
      load: async () => (await import("./commands/evals.js")).refineEvalCommand,
    },
    {
      usage: "use <name>",
      describe: "Put a version of an eval into use; the former one is retired",
      load: async () => (await import("./commands/evals.js")).useEvalCommand,
    },
    {
      usage: "retire <name>",
      describe: "Take an eval out of use",
      load: async () => (await import("./commands/evals.js")).retireEvalCommand,
    },
    {
      usage: "run <names..>",
      describe: "Run evals over the stored traces of a run, beside its scores",
      load: async () => (await import("./commands/evals.js")).runEvalsCommand,
    },
    {
      usage: "export [names..]",
      describe: "Write evals as files into a folder",
      load: async () => (await import("./commands/evals.js")).exportEvalsCommand,
    },
    {
      usage: "import <files..>",
      describe: "Import eval files, or folders of them, as drafts",
      load: async () => (await import("./commands/evals.js")).importEvalsCommand,
    },
  ],
};

const AGENTS_GROUP: CommandGroup = {
  usage: "agents",
  describe: "List, show, create, change and delete agents; attach and detach tools; export and import",
  subcommands: [
    {
      usage: "list",
      describe: "List all agents",
      load: async () => (await import("./commands/agents.js")).listAgentsCommand,
    },
    {
      usage: "show [id]",
      describe: "Show an agent, one of its versions (ID@VERSION), or the agent of a run (--run)",
      load: async () => (await import("./commands/agents.js")).showAgentCommand,
    },
    {
      usage: "versions <id>",
      describe: "List the versions of an agent, with the number of runs of each",
      load: async () => (await import("./commands/agents.js")).listVersionsCommand,
    },
    {
      usage: "create <id>",
      describe: "Create an agent",
      load: async () => (await import("./commands/agents.js")).createAgentCommand,
    },
    {
      usage: "set <id>",
      describe: "Change an agent",
      load: async () => (await import("./commands/agents.js")).setAgentCommand,
    },
    {
      usage: "clone <id> <new_id>",
      describe: "Copy an agent under another id",
      load: async () => (await import("./commands/agents.js")).cloneAgentCommand,
    },
    {
      usage: "delete <id>",
      describe: "Delete an agent; its runs and versions stay",
      load: async () => (await import("./commands/agents.js")).deleteAgentCommand,
    },
    {
      usage: "attach <id> <tool>",
      describe: "Give an agent a tool",
      load: async () => (await import("./commands/agents.js")).attachToolCommand,
    },
    {
      usage: "detach <id> <tool>",
      describe: "Take a tool from an agent",
      load: async () => (await import("./commands/agents.js")).detachToolCommand,
    },
    {
      usage: "export <id>",
      describe: "Write an agent with its own tools as YAML",
      load: async () => (await import("./commands/agents.js")).exportAgentCommand,
    },
    {
      usage: "import <file>",
      describe: "Create an agent from a YAML file",
      load: async () => (await import("./commands/agents.js")).importAgentCommand,
    },
  ],
};

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly TableEntry[] = [
  {
    usage: "demo",
    describe: "Try everything on a bundled mailbox, offline and without an API key",
    load: async () => (await import("./commands/demo.js")).demoCommand,
  },
  {
    usage: "init",
    describe: "Write a file of settings for run and gate, after three questions",
    load: async () => (await import("./init.js")).initCommand,
  },
  {
    usage: "import [source..]",
    describe: "Import mail into the database",
    load: async () => (await import("./commands/import.js")).importCommand,
  },
  QUESTIONS_GROUP,
  {
    usage: "run",
    describe: "Let an agent answer the questions, and score its answers",
    load: async () => (await import("./commands/run.js")).runCommand,
  },
  {
    usage: "worker",
    describe: "Answer tasks of runs on a queue, beside other machines (run --queue)",
    load: async () => (await import("./commands/worker.js")).workerCommand,
  },
  QUEUE_GROUP,
  {
    usage: "score",
    describe: "Score the stored traces of a run again, without calling its agent",
    load: async () => (await import("./commands/score.js")).scoreCommand,
  },
  JUDGE_GROUP,
  {
    usage: "stats",
    describe: "Figures of the dataset, the imported mail, or a run",
    load: async () => (await import("./commands/stats.js")).statsCommand,
  },
  RUNS_GROUP,
  {
    usage: "compare <runs..>",
    describe: "Compare runs question by question: is the difference real?",
    load: async () => (await import("./commands/compare.js")).compareCommand,
  },
  {
    usage: "gate <name>",
    describe: "Pass or fail a finished run: thresholds, no worse than a baseline, JUnit XML",
    load: async () => (await import("./commands/gate.js")).gateCommand,
  },
  {
    usage: "report [runs..]",
    describe: "Write runs as an HTML page, as Markdown, or as a CSV of tasks",
    load: async () => (await import("./commands/report.js")).reportCommand,
  },
  {
    usage: "export-results [runs..]",
    describe: "Write runs as tables (tasks, turns, tool calls) in Parquet, CSV or JSON lines, for pandas, DuckDB and R",
    load: async () => (await import("./commands/export-results.js")).exportResultsCommand,
  },
  {
    usage: "export-traces",
    describe: "Write the traces of a run as JSON lines",
    load: async () => (await import("./commands/export-traces.js")).exportTracesCommand,
  },
  {
    usage: "import-traces <file>",
    describe: "Read traces of another database or another program, to score, show, report and export them",
    load: async () => (await import("./commands/import-traces.js")).importTracesCommand,
  },
  {
    usage: "eval-search",
    describe: "Measure how well the search finds the gold mail, with the question itself as the query",
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
  AGENTS_GROUP,
  TOOLS_GROUP,
  SUITE_GROUP,
  ENV_GROUP,
  EVALS_GROUP,
  {
    usage: "serve",
    describe: "Serve the agents over HTTP: the API, a playground page, and an OpenAI-compatible endpoint",
    load: async () => (await import("./commands/serve.js")).serveCommand,
  },
  {
    usage: "ask <inbox_address> <question..>",
    describe: "Answer one question from a mailbox, with its sources",
    load: async () => (await import("./commands/ask.js")).askCommand,
  },
  {
    usage: "mcp",
    describe: "Start an MCP server for one mailbox: search, read, and the mails as resources",
    load: async () => (await import("./commands/mcp.js")).mcpCommand,
  },
  {
    usage: "completion [shell]",
    describe: "Print a script that lets bash, zsh or fish complete commands, flags and ids",
    load: async () => (await import("./completion.js")).completionCommand,
  },
];
