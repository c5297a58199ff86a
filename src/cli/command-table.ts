import type { CommandEntry, CommandGroup, TableEntry } from "./command.js";

const tools = () => import("./commands/tools.js");
const suite = () => import("./commands/suite.js");
const runs = () => import("./commands/runs.js");
const queue = () => import("./commands/queue.js");
const questions = () => import("./commands/questions.js");
const evalsMake = () => import("./commands/evals-make.js");
const evals = () => import("./commands/evals.js");
const agents = () => import("./commands/agents.js");

const command = (usage: string, describe: string, load: CommandEntry["load"]): CommandEntry => ({
  usage,
  describe,
  load,
});

const TOOLS_GROUP: CommandGroup = {
  usage: "tools",
  describe: "List, show, add, change and delete tools, and call one to test it",
  subcommands: [
    command("list", "List all tools", async () => (await tools()).listToolsCommand),
    command(
      "show <id>",
      "Show a tool with its parameters and the agents that have it",
      async () => (await tools()).showToolCommand,
    ),
    command(
      "add [id]",
      "Add a tool: a web address, a program, a module, or those of an MCP server",
      async () => (await tools()).addToolCommand,
    ),
    command("set <id>", "Change a tool", async () => (await tools()).setToolCommand),
    command("delete <id>", "Delete a tool that no agent has", async () => (await tools()).deleteToolCommand),
    command(
      "test <id> [arguments]",
      "Call a tool once; exit with 1 if the call fails",
      async () => (await tools()).testToolCommand,
    ),
  ],
};

const SUITE_GROUP: CommandGroup = {
  usage: "suite",
  describe: "List, show, check and export task suites: folders of tasks with set-up and evaluation functions",
  subcommands: [
    command("list <dir>", "List tasks, with what they are graded by", async () => (await suite()).listTasksCommand),
    command(
      "show <dir> <id>",
      "Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it",
      async () => (await suite()).showTaskCommand,
    ),
    command(
      "check <dir>",
      "Check the files of all tasks, or grade what an oracle file says an agent left behind (--oracle)",
      async () => (await suite()).checkSuiteCommand,
    ),
    command(
      "image <name>",
      "Print the Dockerfile of a snapshot: the programs and modules that its tasks find",
      async () => (await suite()).writeImageCommand,
    ),
    command(
      "export <suite>",
      "Write the questions of ART-E as a suite's folder, to be run with art-e run --suite",
      async () => (await suite()).exportSuiteCommand,
    ),
  ],
};

const ENV_GROUP: CommandGroup = {
  usage: "env",
  describe: "The benchmark as an environment that agents are trained in",
  subcommands: [
    command(
      "serve",
      "Serve the questions as episodes to trainers, over the OpenEnv protocol",
      async () => (await import("./commands/env-serve.js")).serveEnvironmentCommand,
    ),
    command(
      "client",
      "Write a trainer's client of the environment, in Python",
      async () => (await import("./commands/env-client.js")).environmentClientCommand,
    ),
    command(
      "export",
      "Write questions as folders of Harbor tasks, each with its mailbox and a command to search it",
      async () => (await import("./commands/env.js")).exportEnvironmentCommand,
    ),
  ],
};

const RUNS_GROUP: CommandGroup = {
  usage: "runs",
  describe: "List, show, name, tag and delete runs",
  subcommands: [
    command("list", "List runs with their scores, newest first", async () => (await runs()).listRunsCommand),
    command(
      "show [run]",
      "Show a run with its tasks, failed and worst first",
      async () => (await runs()).showRunCommand,
    ),
    command(
      "rename <run> [name]",
      "Name a run; any command then takes the name for its id",
      async () => (await runs()).renameRunCommand,
    ),
    command("note <run> [note]", "Write a note beside a run", async () => (await runs()).noteRunCommand),
    command(
      "tag <run> <tags..>",
      "Give a run tags, or take them away (--remove)",
      async () => (await runs()).tagRunCommand,
    ),
    command(
      "delete <runs..>",
      "Delete runs with their results and traces (--yes)",
      async () => (await runs()).deleteRunsCommand,
    ),
    command(
      "prune",
      "Delete runs by age, number or status; never those with a name, note or tag (--yes)",
      async () => (await runs()).pruneRunsCommand,
    ),
  ],
};

const QUEUE_GROUP: CommandGroup = {
  usage: "queue",
  describe: "What is on a queue of runs, and how to clean it",
  subcommands: [
    command(
      "status",
      "The runs on a queue, and the workers that answer them",
      async () => (await queue()).queueStatusCommand,
    ),
    command(
      "clean [id]",
      "Remove a run from a queue, or all, with the results that nobody has taken in",
      async () => (await queue()).cleanQueueCommand,
    ),
  ],
};

const QUESTIONS_GROUP: CommandGroup = {
  usage: "questions",
  describe: "Make questions from imported mail, and check or review those of any dataset",
  subcommands: [
    command(
      "make",
      "Make questions with gold answers from mailboxes, each one checked",
      async () => (await questions()).makeQuestionsCommand,
    ),
    command(
      "check [file]",
      "Check the questions of a dataset, and list the doubtful ones",
      async () => (await questions()).checkQuestionsCommand,
    ),
    command(
      "review <file>",
      "Decide about the questions of a dataset, on a page with their mails beside them",
      async () => (await questions()).reviewQuestionsCommand,
    ),
  ],
};

const JUDGE_GROUP: CommandGroup = {
  usage: "judge",
  describe: "Measure a judge: how far it agrees with people",
  subcommands: [
    command(
      "calibrate <labels>",
      "Compare a judge with answers that people have graded",
      async () => (await import("./commands/judge.js")).calibrateCommand,
    ),
  ],
};

const EVALS_GROUP: CommandGroup = {
  usage: "evals",
  describe: "Label traces, make evals from the labels, prove them on traces they have not seen, and run them",
  subcommands: [
    command(
      "label [run]",
      "Label the traces of a run good or bad, one by one or by what is known of them (--from)",
      async () => (await evalsMake()).labelTracesCommand,
    ),
    command(
      "labels [traces..]",
      "List the labels of a criterion with who gave them and how far they agree, write or delete them",
      async () => (await evalsMake()).listLabelsCommand,
    ),
    command(
      "criteria [name] [sentence]",
      "List what labels and evals are about, or write what one of them means",
      async () => (await evalsMake()).criteriaCommand,
    ),
    command(
      "add [name]",
      "Add an eval without labels: a template, what an answer contains, or a criterion for a model to check",
      async () => (await evalsMake()).addEvalCommand,
    ),
    command(
      "suggest",
      "Choose evals by the labels of the training half, without a model",
      async () => (await evalsMake()).suggestEvalsCommand,
    ),
    command(
      "generate",
      "Have a model write evals by the labels of the training half",
      async () => (await evalsMake()).generateEvalsCommand,
    ),
    command(
      "test <name>",
      "Measure an eval on the held-out half; exit code 3 if it misses the thresholds",
      async () => (await evals()).testEvalCommand,
    ),
    command("list", "List evals, with what their tests said", async () => (await evals()).listEvalsCommand),
    command(
      "show <name>",
      "Show an eval, its versions and its newest test",
      async () => (await evals()).showEvalCommand,
    ),
    command(
      "history <name>",
      "Show the versions of an eval with what changed in each, and what each test said",
      async () => (await evals()).evalHistoryCommand,
    ),
    command(
      "review [name]",
      "List training traces on which an eval and labels disagree; without a name, bad ones that no eval fails",
      async () => (await evals()).reviewEvalCommand,
    ),
    command(
      "refine <name>",
      "Make a new version of an eval from what contradicts it in the training half",
      async () => (await evals()).refineEvalCommand,
    ),
    command(
      "use <name>",
      "Put a version of an eval into use; the former one is retired",
      async () => (await evals()).useEvalCommand,
    ),
    command("retire <name>", "Take an eval out of use", async () => (await evals()).retireEvalCommand),
    command(
      "run <names..>",
      "Run evals over the stored traces of a run, beside its scores",
      async () => (await evals()).runEvalsCommand,
    ),
    command("export [names..]", "Write evals as files into a folder", async () => (await evals()).exportEvalsCommand),
    command(
      "import <files..>",
      "Import eval files, or folders of them, as drafts",
      async () => (await evals()).importEvalsCommand,
    ),
  ],
};

const AGENTS_GROUP: CommandGroup = {
  usage: "agents",
  describe: "List, show, create, change and delete agents; attach and detach tools; export and import",
  subcommands: [
    command("list", "List all agents", async () => (await agents()).listAgentsCommand),
    command(
      "show [id]",
      "Show an agent, one of its versions (ID@VERSION), or the agent of a run (--run)",
      async () => (await agents()).showAgentCommand,
    ),
    command(
      "versions <id>",
      "List the versions of an agent, with the number of runs of each",
      async () => (await agents()).listVersionsCommand,
    ),
    command("create <id>", "Create an agent", async () => (await agents()).createAgentCommand),
    command("set <id>", "Change an agent", async () => (await agents()).setAgentCommand),
    command("clone <id> <new_id>", "Copy an agent under another id", async () => (await agents()).cloneAgentCommand),
    command(
      "delete <id>",
      "Delete an agent; its runs and versions stay",
      async () => (await agents()).deleteAgentCommand,
    ),
    command("attach <id> <tools..>", "Give an agent tools", async () => (await agents()).attachToolCommand),
    command("detach <id> <tools..>", "Take tools from an agent", async () => (await agents()).detachToolCommand),
    command(
      "export <id>",
      "Write an agent with its own tools as YAML",
      async () => (await agents()).exportAgentCommand,
    ),
    command("import <file>", "Create an agent from a YAML file", async () => (await agents()).importAgentCommand),
  ],
};

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
  QUESTIONS_GROUP,
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
  QUEUE_GROUP,
  command(
    "score",
    "Score the stored traces of a run again, without calling its agent",
    async () => (await import("./commands/score.js")).scoreCommand,
  ),
  JUDGE_GROUP,
  command(
    "stats",
    "Figures of the dataset, the imported mail, or a run",
    async () => (await import("./commands/stats.js")).statsCommand,
  ),
  RUNS_GROUP,
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
  AGENTS_GROUP,
  TOOLS_GROUP,
  SUITE_GROUP,
  ENV_GROUP,
  EVALS_GROUP,
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
