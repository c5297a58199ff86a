// The command `init`: writes a config file.
import { dirname, isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import { z } from "zod";
import { answeringModelOf } from "../../models/open-model.js";
import { shellWord } from "../../platform/command-line.js";
import { UserError } from "../../platform/errors.js";
import { linkStatOf } from "../../platform/file-stats.js";
import { checkWritable, writeFileAtomically } from "../../platform/files.js";
import { file } from "../../platform/flag-values.js";
import { programFile } from "../../platform/program-files.js";
import { checkEnding } from "../../trace-formats/output-files.js";
import type { CommandContext } from "../command.js";
import { CONFIG_NAME } from "../config/find-config.js";
import { defineCommand } from "../flags/define-command.js";

/** The agent and model of a new config file. */
interface ConfiguredAgent {
  readonly agent: string;
  readonly model: string;
}

const SCHEMA = fileURLToPath(programFile("schema/config.schema.json"));

const schema = z.object({
  output: file
    .default(CONFIG_NAME)
    .meta({ description: `New config file (must not exist) [default: ${CONFIG_NAME}]`, alias: "o" }),
});

export const initCommand = defineCommand(schema, async ({ output }, context) => {
  checkWritable("--output", output);
  checkEnding("--output", output, "config");
  if (linkStatOf(output) !== undefined) {
    throw new UserError("config_exists", `${output} already exists.`, "Pass another file: -o FILE.");
  }
  const configured = agentFor(context.settings.env);
  await writeFileAtomically(output, [configTemplate(configured, schemaFrom(dirname(output)))]);
  const run = output === CONFIG_NAME ? "art-e run" : `art-e run --config ${shellWord(output)}`;
  context.out.result({ path: output, ...configured }, () => `Created ${output}. Estimate the run: ${run} --dry-run`);
});

/**
 * Returns the path of the JSON Schema. It is relative if the program is installed below the folder (in node_modules),
 * so that the config file can be shared.
 */
function schemaFrom(folder: string): string {
  const path = relative(resolve(folder), SCHEMA);
  return path.startsWith(`..${sep}`) || isAbsolute(path) ? SCHEMA : `./${path.replaceAll(sep, "/")}`;
}

/** Returns an agent that can run with the available keys. */
function agentFor(env: CommandContext["settings"]["env"]): ConfiguredAgent {
  const model = answeringModelOf(env);
  return model === null ? { agent: "baseline", model: "offline/baseline" } : { agent: "email-search", model };
}

/**
 * Returns a config file with these settings, and with the most useful other settings as comments. `schema` is the path
 * of its JSON Schema.
 */
export function configTemplate({ agent, model }: ConfiguredAgent, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
#
# Settings of art-e run, gate, score, ask and stats. Flags override this file. Paths are relative to its folder.
# Keys do not belong here. Put them into the environment or .env (ANTHROPIC_API_KEY=...).
# All settings: art-e run --help. Cost estimate: art-e run --dry-run

# List the agents: art-e agents list
agent: ${written(agent)}
model: ${written(model)}

# Questions about mailboxes: the published ones, or those of a file (Parquet, CSV, JSON, JSONL).
dataset:
  # file: questions.jsonl
  split: test
  # Only some of them
  # max-sources: 1
  # inbox: me@my.example

# Tasks of a folder instead of questions. One tool, or tags
# suite:
#   folder: tasks
#   tool: jupyter
#   tag: [verbose]

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

/** Formats a YAML value, quoted if necessary. */
function written(value: string): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}
