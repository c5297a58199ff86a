import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { z } from "zod";
import { parseModelName } from "../../models/model-names.js";
import { answeringModelOf } from "../../models/open-model.js";
import { shellWord } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { linkStatOf, statOf } from "../../platform/file-stats.js";
import { checkWritable, writeFileAtomically } from "../../platform/files.js";
import { file, toggle } from "../../platform/flag-values.js";
import { programFile } from "../../platform/program-files.js";
import { registryIdSchema } from "../../tools/tools-store.js";
import type { CommandContext } from "../command.js";
import { CONFIG_NAME } from "../config/find-config.js";
import { defineCommand } from "../flags/define-command.js";

const SCHEMA = fileURLToPath(programFile("schema/config.schema.json"));

const schema = z.object({
  yes: toggle.meta({ description: "Ask no questions, use defaults based on the available API keys" }),
  output: file
    .default(CONFIG_NAME)
    .meta({ description: `New config file (must not exist) [default: ${CONFIG_NAME}]`, alias: "o" }),
});

export const initCommand = defineCommand(schema, async ({ yes, output }, context) => {
  checkWritable("--output", output);
  if (linkStatOf(output) !== undefined) {
    throw new UserError("config_exists", `${output} already exists.`, "Pass another file: -o FILE.");
  }
  const answers = yes ? defaultAnswers(context.settings.env) : await askSettings(context);
  await writeFileAtomically(output, [configTemplate(answers, schemaFrom(dirname(output)))]);
  const run = output === CONFIG_NAME ? "art-e run" : `art-e run --config ${shellWord(output)}`;
  context.out.result({ path: output, ...answers }, () => `Created ${output}. Estimate the run: ${run} --dry-run`);
});

/**
 * Returns the path of the JSON Schema. It is relative if the program is installed below the folder (in node_modules),
 * so that the config file can be shared.
 */
function schemaFrom(folder: string): string {
  const path = relative(resolve(folder), SCHEMA);
  return path.startsWith(`..${sep}`) || isAbsolute(path) ? SCHEMA : `./${path.replaceAll(sep, "/")}`;
}

/** Answers used without asking: an agent that can run with the available keys. */
function defaultAnswers(env: CommandContext["settings"]["env"]): ConfigAnswers {
  const model = answeringModelOf(env);
  return model === null
    ? { agent: "baseline", model: OFFLINE, tasks: null }
    : { agent: "email-search", model, tasks: null };
}

const OFFLINE = "offline/baseline";

/**
 * Asks questions on stderr and reads one line per question from stdin. An empty line selects the default in brackets.
 */
async function askSettings({ settings, signal, note }: CommandContext): Promise<ConfigAnswers> {
  const fallback = defaultAnswers(settings.env);
  const lines = createInterface({ input: process.stdin, terminal: false });
  const stop = () => lines.close();
  signal.addEventListener("abort", stop, { once: true });
  const replies = lines[Symbol.asyncIterator]();
  const ask = async <T>(question: string, byDefault: string, read: (line: string) => T): Promise<T> => {
    for (;;) {
      process.stderr.write(`${question} [${byDefault}] `);
      const { value, done } = await replies.next();
      signal.throwIfAborted();
      if (done === true) throw noAnswer();
      try {
        return read(value.trim() || byDefault);
      } catch (error) {
        if (!(error instanceof UserError)) throw error;
        note(`${error.message} ${error.hint}`);
      }
    }
  };
  try {
    const agent = await ask("Which agent (email-search, art-e, baseline, or your own)?", fallback.agent, readAgent);
    const byDefault = agent === "baseline" ? OFFLINE : fallback.model;
    const model = await ask("Which model?", byDefault, (line) => parseModelName(line, null).id);
    const tasks = await ask("Which tasks (a file of questions, a suite's folder)?", PUBLISHED, readTasks);
    return { agent, model, tasks };
  } finally {
    signal.removeEventListener("abort", stop);
    lines.close();
  }
}

const PUBLISHED = "the published questions";

function readAgent(line: string): string {
  if (registryIdSchema.safeParse(line).success) return line;
  throw new UserError(
    "agent_id_invalid",
    `${line} is not a valid agent id.`,
    "An id has 1 to 64 letters, digits, - or _.",
  );
}

function readTasks(line: string): ConfigAnswers["tasks"] {
  if (line === PUBLISHED) return null;
  const stats = statOf(line);
  if (stats !== undefined) return { kind: stats.isDirectory() ? "suite" : "dataset", path: line };
  throw new UserError("file_missing", `${line} does not exist.`, "Enter a file or a folder, or an empty line.");
}

function noAnswer(): UserError {
  return new UserError(
    "answer_missing",
    "init needs an answer to each question.",
    "Run it in a terminal, or use the defaults: art-e init --yes.",
  );
}

/** The user's answers to `art-e init`. */
interface ConfigAnswers {
  readonly agent: string;
  readonly model: string;
  /** Question file or suite folder, or null for the published questions. */
  readonly tasks: { readonly kind: "dataset" | "suite"; readonly path: string } | null;
}

/**
 * Returns a config file with these settings, and with the most useful other settings as comments. `schema` is the path
 * of its JSON Schema.
 */
export function configTemplate({ agent, model, tasks }: ConfigAnswers, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
#
# Settings of art-e run, gate, score, ask and stats. Flags override this file. Paths are relative to its folder.
# Keys do not belong here. Put them into the environment or .env (ANTHROPIC_API_KEY=...).
# All settings: art-e run --help. Cost estimate: art-e run --dry-run

# List the agents: art-e agents list
agent: ${written(agent)}
model: ${written(model)}

${tasksText(tasks)}
run:
  # 0 = all tasks
  limit: 10
  # Number of times to ask each question
  # epochs: 3
  # output: results.json

limits:
  # Concurrent tasks, or auto (as many as the server accepts)
  concurrency: auto
  # The run stops at these limits and can be resumed: US dollars, failed tasks
  # max-cost: 5
  # max-failures: 10%
  # Requests and tokens per minute
  # rpm: 500
  # tpm: 200000

# The model that judges the answers: provider/model, art (the published protocol), or off.
# The default is a cheap model of the agent's provider, if there is a key.
# judge: anthropic/claude-haiku-5-5

# Minimum results. art-e run and art-e gate exit with code 3 if they are missed.
# gates:
#   fail-under:
#     sources: 0.7
#     found: 0.9
#   baseline: baseline.json
#   junit: junit.xml

# Several runs, one after another, each with the settings that differ. One of them: art-e run --only cheap
# runs:
#   cheap:
#     model: openai/gpt-6-luna
#   strict:
#     gates:
#       fail-under:
#         accuracy: 0.8

# The database of every command that is called in this folder
# database: art-e.db
`;
}

function tasksText(tasks: ConfigAnswers["tasks"]): string {
  if (tasks?.kind === "suite") {
    return `# Tasks of this folder.
suite:
  folder: ${written(tasks.path)}
  # Of one tool, or with these tags
  # tool: jupyter
  # tag: [verbose]
`;
  }
  const file = tasks === null ? "# file: questions.jsonl" : `file: ${written(tasks.path)}`;
  return `# Questions about mailboxes: the published ones, or those of a file (Parquet, CSV, JSON, JSONL).
dataset:
  ${file}
  split: test
  # Only some of them
  # max-sources: 1
  # inbox: me@my.example
`;
}

/** Formats a YAML value, quoted if necessary. */
function written(value: string): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}
