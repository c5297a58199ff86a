import { stringify } from "yaml";

/** What `art-e init` asks. */
export interface ConfigAnswers {
  readonly agent: string;
  readonly model: string;
  /** A file of questions, or a suite's folder; null: the published questions. */
  readonly tasks: { readonly kind: "dataset" | "suite"; readonly path: string } | null;
}

/** A config file with these settings, and the most useful others as comments. `schema`: path of its JSON Schema. */
export function configTemplate({ agent, model, tasks }: ConfigAnswers, schema: string): string {
  return `# yaml-language-server: $schema=${schema}
#
# Settings of art-e run, gate, score, ask and stats. Flags win over this file. Paths start from the folder of this file.
# Keys have no place here: they come from the environment, or from .env (ANTHROPIC_API_KEY=...).
# What each setting means, with all others: art-e run --help. What a run would take: art-e run --dry-run

# art-e agents list shows the agents.
agent: ${written(agent)}
model: ${written(model)}

${tasksText(tasks)}
run:
  # 0: all of them
  limit: 10
  # How often each is asked
  # epochs: 3
  # output: results.json

limits:
  # Tasks under way at once; auto: as many as the server takes
  concurrency: auto
  # The run stops there, and can be resumed: US dollars, failed tasks
  # max-cost: 5
  # max-failures: 10%
  # Requests and tokens a minute
  # rpm: 500
  # tpm: 200000

# The model that judges the answers: provider/model, art (the published protocol), or off.
# Without this line: a cheap model of the agent's provider, where there is a key.
# judge: anthropic/claude-haiku-5-5

# What a run must reach: art-e run and art-e gate end with exit code 3 where it does not.
# gates:
#   fail-under:
#     sources: 0.7
#     found: 0.9
#   baseline: baseline.json
#   junit: junit.xml

# Several runs, one after another, each with what differs from the above: art-e run --only cheap
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

/** As a YAML value, quoted where it must be. */
function written(value: string): string {
  return stringify(value, { lineWidth: 0 }).trimEnd();
}
