import { AGENTS_GROUP } from "../agents/agents.js";
import { EVALS_GROUP } from "../evals/evals.js";
import { JUDGE_GROUP } from "../judge/judge.js";
import { QUESTIONS_GROUP } from "../questions/questions.js";
import { QUEUE_GROUP } from "../queue/queue.js";
import { RUNS_GROUP } from "../runs/runs.js";
import { SUITE_GROUP } from "../suite/suite.js";
import { TOOLS_GROUP } from "../tools/tools.js";
import type { TableEntry } from "./command.js";

/** Every command, in the order of `--help`. */
export const COMMANDS: readonly TableEntry[] = [
  {
    usage: "demo",
    describe: "Try everything on a bundled mailbox, offline and without an API key",
    load: async () => (await import("../demo.js")).demoCommand,
  },
  {
    usage: "init",
    describe: "Write a file of settings for run and gate, after three questions",
    load: async () => (await import("../config/init.js")).initCommand,
  },
  {
    usage: "import [source..]",
    describe: "Import mail into the database",
    load: async () => (await import("../import/import.js")).importCommand,
  },
  QUESTIONS_GROUP,
  {
    usage: "run",
    describe: "Let an agent answer the questions, and score its answers",
    load: async () => (await import("../run/run.js")).runCommand,
  },
  {
    usage: "worker",
    describe: "Answer tasks of runs on a queue, beside other machines (run --queue)",
    load: async () => (await import("../worker.js")).workerCommand,
  },
  QUEUE_GROUP,
  {
    usage: "score",
    describe: "Score the stored traces of a run again, without calling its agent",
    load: async () => (await import("../score.js")).scoreCommand,
  },
  JUDGE_GROUP,
  {
    usage: "stats",
    describe: "Figures of the dataset, the imported mail, or a run",
    load: async () => (await import("../stats/stats.js")).statsCommand,
  },
  RUNS_GROUP,
  {
    usage: "compare <runs..>",
    describe: "Compare runs question by question: is the difference real?",
    load: async () => (await import("../compare.js")).compareCommand,
  },
  {
    usage: "gate <name>",
    describe: "Pass or fail a finished run: thresholds, no worse than a baseline, JUnit XML",
    load: async () => (await import("../gate.js")).gateCommand,
  },
  {
    usage: "report [runs..]",
    describe: "Write runs as an HTML page, as Markdown, or as a CSV of tasks",
    load: async () => (await import("../report/report.js")).reportCommand,
  },
  {
    usage: "export-results [runs..]",
    describe: "Write runs as tables (tasks, turns, tool calls) in Parquet, CSV or JSON lines, for pandas, DuckDB and R",
    load: async () => (await import("../export-results.js")).exportResultsCommand,
  },
  {
    usage: "export-traces",
    describe: "Write the traces of a run as JSON lines",
    load: async () => (await import("../export-traces.js")).exportTracesCommand,
  },
  {
    usage: "import-traces <file>",
    describe: "Read traces of another database or another program, to score, show, report and export them",
    load: async () => (await import("../import-traces.js")).importTracesCommand,
  },
  {
    usage: "eval-search",
    describe: "Measure how well the search finds the gold mail, with the question itself as the query",
    load: async () => (await import("../eval-search.js")).evalSearchCommand,
  },
  {
    usage: "search <inbox_address> <words..>",
    describe: "Search a mailbox as an agent would",
    load: async () => (await import("../search.js")).searchCommand,
  },
  {
    usage: "show <name>",
    describe: "Show a trace (its id, or RUN/TASK such as latest/12) or a mail (its Message-ID)",
    load: async () => (await import("../show.js")).showCommand,
  },
  {
    usage: "doctor",
    describe: "Check the database: integrity, index, query plans, owners, disk",
    load: async () => (await import("../doctor.js")).doctorCommand,
  },
  AGENTS_GROUP,
  TOOLS_GROUP,
  SUITE_GROUP,
  EVALS_GROUP,
  {
    usage: "serve",
    describe: "Serve the agents over HTTP: the API, a playground page, and an OpenAI-compatible endpoint",
    load: async () => (await import("../serve/serve.js")).serveCommand,
  },
  {
    usage: "ask <inbox_address> <question..>",
    describe: "Answer one question from a mailbox, with its sources",
    load: async () => (await import("../ask/ask.js")).askCommand,
  },
  {
    usage: "mcp",
    describe: "Start an MCP server for one mailbox: search, read, and the mails as resources",
    load: async () => (await import("../mcp.js")).mcpCommand,
  },
  {
    usage: "completion [shell]",
    describe: "Print a script that lets bash, zsh or fish complete commands, flags and ids",
    load: async () => (await import("../completion.js")).completionCommand,
  },
];
