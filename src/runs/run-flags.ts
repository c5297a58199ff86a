// All flags of `art-e run`, one entry each. The option types, help, docs, completion, config file and the messages
// about flags that do not apply are derived from them. Other commands that have some of these flags use the same
// entries.
import { z } from "zod";
import { type EvalScore, isEvalScore } from "../evals/definition.js";
import { DEFAULT_MODEL, PROVIDERS } from "../models/model-names.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { parseBodyFields, parseHeaders } from "../models/request-extras.js";
import { LONGEST_TIMER_MS } from "../platform/deadline.js";
import {
  agentName,
  concurrency,
  failures,
  file,
  folder,
  ids,
  mailbox,
  modelName,
  numberAbove,
  numberBetween,
  OVERWRITE_FLAG,
  oneOf,
  price,
  repeated,
  runName,
  type SharedFlag,
  shapeOf,
  text,
  thresholds,
  toggle,
  url,
  wholeNumber,
  withTraits,
  words,
} from "../platform/flag-values.js";
import { QUESTIONS_DATASET, QUESTIONS_REVISION } from "../questions/published-dataset.js";
import { CLAIM_FORMS, parseClaim } from "../results/claim-text.js";
import { isScorerName, SCORER_NAMES, type ScorerName } from "../scoring/scorers.js";
import { ATTACK_KINDS } from "../tasks/attack.js";
import { FAILED_TASKS } from "../tasks/ending.js";
import { SPLITS } from "../tasks/question.js";
import { COUNTERPARTS } from "../tasks/suite-task.js";
import { SCORE_APIS } from "../trace-formats/otlp-endpoint.js";
import type { OutputFile } from "../trace-formats/output-files.js";
import {
  type AgentTarget,
  LIMIT_VALUES,
  type OwnRunSettings,
  PERTURBATIONS,
  type Perturbation,
} from "../traces/run-settings.js";

/** A flag of `art-e run`. */
interface RunFlag extends SharedFlag {
  /** Section and key in the config file. Flags without one are only for the command line. */
  readonly config?: `${ConfigSection}.${string}`;
  /** Sections of the config file that do not apply if the flag has another value than in the file. */
  readonly replaces?: readonly ConfigSection[];
  /** Kinds of runs that the flag does not apply to. By default, it applies to all. */
  readonly notFor?: readonly RunKind[];
  /**
   * The value is not stored with the run. A resumed run takes it from the command line or the config file, but keeps
   * its own value of any other flag.
   */
  readonly isPerSession?: true;
  readonly effect: FlagEffect;
  /** The value with `--protocol art`. */
  readonly artProtocol?: string | number | boolean;
  /** `art-e ask` has the flag, too. */
  readonly isForAsk?: true;
  /** The library has the flag as an option, for new runs only (`new`), or for new and resumed runs (`session`). */
  readonly inLibrary?: "new" | "session";
  /** Name of the input file in messages, if the value is the path of one. */
  readonly reads?: string;
  /** Kind of the output file, if the value is the path of one. */
  readonly writes?: OutputFile["kind"];
}

/**
 * What another value of a flag changes, and where the run records the value. The recorded selection and the differences
 * from the published conditions follow from it.
 */
type FlagEffect =
  | "none"
  | {
      readonly changes: "tasks" | "measurements";
      /** Path in the run. `selection`: in `settings.selection`, under the flag's name. */
      readonly recordedAs: "selection" | "agentId" | "model" | "split" | "dataset" | `settings.${string}`;
      /** The settings of new and continued own runs contain the value as given, so no other code has to record it. */
      readonly isRecordedAsGiven?: true;
      /**
       * The value for the published figures, or `any` if it is unknown or differs between them [default: the value with
       * `--protocol art`, or none].
       */
      readonly published?: string | number;
    };

const SELECTION = { changes: "tasks", recordedAs: "selection" } as const;

export type ConfigSection = "agent" | "model" | "dataset" | "suite" | "run" | "limits" | "judge" | "gates" | "traces";

/** A property of a run that some flags do not apply to. A run can have several. */
export type RunKind = keyof typeof RUN_KINDS;

/** The kinds of runs in messages such as `--task does not apply to questions about mailboxes`, and what to do. */
export const RUN_KINDS = {
  questions: { name: "questions about mailboxes", todo: "or select a task suite with --suite FOLDER" },
  suite: { name: "suite tasks" },
  "suite without mail": { name: "these suite tasks: none of them has a mailbox (attach_inbox)" },
  "suite without answers": { name: "these suite tasks: none of them has a gold answer (email_answer)" },
  command: { name: "an external agent (--agent-command)" },
  endpoint: { name: "an external agent (--agent-url)" },
  api: { name: "an external agent (--api-url)" },
  human: { name: "a person (-a human)" },
  function: { name: "an agent function of a program" },
  queue: {
    name: "a run over a queue, because its tasks are answered on other machines",
    todo: "or run without --queue (and without ART_E_QUEUE_URL)",
  },
  new: { name: "a new run", todo: "or add --resume RUN" },
  resume: { name: "a resumed run, which keeps its tasks", todo: "or start a new run" },
  repeat: { name: "a repeated run, which keeps its tasks and its agent", todo: "or start a new run" },
} as const satisfies Record<string, { readonly name: string; readonly todo?: string }>;

const EXTERNAL = ["command", "endpoint", "api", "human", "function"] as const satisfies readonly AgentTarget["kind"][];
/** A stored run has its tasks in the database. */
const STORED = ["resume", "repeat"] as const;
const ONLY_QUESTIONS = ["suite", ...STORED] as const;
const ONLY_SUITES = ["questions", ...STORED] as const;

const LONGEST_TIMER_S = Math.floor(LONGEST_TIMER_MS / 1_000);

export const taskTimeoutSeconds = numberAbove(0, LONGEST_TIMER_S);
export const timeBudgetMinutes = numberAbove(0, Math.floor(LONGEST_TIMER_S / 60));

type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string };

export type ScorerChoice = ScorerName | EvalScore;

function parsedBy<Typed, T>(typed: z.ZodType<Typed, Typed>, parse: (value: Typed) => Parsed<T>) {
  return typed.transform((value, issues): T => {
    const parsed = parse(value);
    if (parsed.ok) return parsed.value;
    issues.addIssue({ code: "custom", message: parsed.problem });
    return z.NEVER;
  });
}

const EXPECTED_VALUES = "expected NAME: VALUE";

/** HTTP headers, as NAME=VALUE in each of the repeated flags. */
const headers = parsedBy(
  withTraits(repeated, {
    placeholder: "NAME=VALUE",
    risk: "variables",
    inConfig: z
      .record(z.string(), z.string("expected text"), EXPECTED_VALUES)
      .transform((values) => Object.entries(values).map(([name, value]) => `${name}=${value}`)),
  }),
  parseHeaders,
);

/** Fields of a request's body, as NAME=JSON in each of the repeated flags. */
const bodyFields = parsedBy(
  withTraits(repeated, {
    placeholder: "NAME=JSON",
    risk: "variables",
    inConfig: z
      .record(z.string(), z.unknown(), EXPECTED_VALUES)
      .transform((values) => Object.entries(values).map(([name, value]) => `${name}=${JSON.stringify(value)}`)),
  }),
  parseBodyFields,
);

const reasoningEffort = oneOf(REASONING_EFFORTS);

const claim = parsedBy(text, parseClaim);

type PerturbationChoice = Pick<OwnRunSettings, "attackKinds"> & { readonly perturbation: Perturbation };

/** A perturbation, for attacks with their kinds. */
const perturbation = parsedBy(text, (value: string): Parsed<PerturbationChoice> => {
  const [name = "", list] = value.split("=", 2);
  const perturbation = PERTURBATIONS.find((one) => one === name);
  if (perturbation === undefined) return { ok: false, problem: `expected one of ${PERTURBATIONS.join(", ")}` };
  if (list === undefined) return { ok: true, value: { perturbation } };
  if (!name.startsWith("hostile")) return { ok: false, problem: `${name} does not have kinds` };
  const kinds = list.split(",").map((kind) => kind.trim());
  const unknown = kinds.find((kind) => !(ATTACK_KINDS as readonly string[]).includes(kind));
  if (unknown === undefined) {
    return { ok: true, value: { perturbation, attackKinds: ATTACK_KINDS.filter((kind) => kinds.includes(kind)) } };
  }
  const available = ATTACK_KINDS.join(", ");
  return { ok: false, problem: `unknown kind of attack ${JSON.stringify(unknown)}. Available: ${available}` };
});

/** A perturbation that plants emails. */
export const attackChoice = perturbation.refine(
  (choice) => choice.perturbation.startsWith("hostile"),
  "expected hostile, hostile=KIND,... or hostile-control",
);

const scorers = words
  .superRefine((names, context) => {
    const unknown = names.filter((name) => !isScorerName(name) && !isEvalScore(name));
    if (names.length === 0 || unknown.length > 0) {
      const which = unknown.length === 0 ? "expected scorers" : `unknown scorer ${unknown.join(", ")}`;
      context.addIssue({
        code: "custom",
        message: `${which}. Available: ${SCORER_NAMES.join(", ")}, and eval:NAME for evals`,
      });
    }
  })
  .transform((names) => names.filter((name): name is ScorerChoice => isScorerName(name) || isEvalScore(name)));

/** Flags of the commands that read the config file. */
export const CONFIG_FLAGS = {
  config: {
    schema: file.optional(),
    help: "Config file, or off. Flags override it [default: art-e.yaml here or next to the database, if it exists]",
    isForAsk: true,
    effect: "none",
  },
  only: {
    schema: words.optional(),
    help: "Only these runs from the config file, separated by commas",
    isForAsk: true,
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

const GENERAL = {
  agent: {
    schema: agentName.optional(),
    placeholder: "ID",
    alias: "a",
    help: "Agent to test (art-e agents list), or human for yourself. Required for a new run",
    config: "agent.id",
    replaces: ["agent", "model"],
    notFor: ["repeat"],
    artProtocol: "art-e",
    isForAsk: true,
    effect: { changes: "measurements", recordedAs: "agentId" },
  },
  name: {
    schema: text.optional(),
    help: "Name for the new run, usable in place of its id",
    notFor: ["resume"],
    inLibrary: "new",
    effect: "none",
  },
  ...CONFIG_FLAGS,
  watch: { schema: toggle, help: "Show the run on a web page on this machine", effect: "none" },
  resume: {
    schema: runName.optional(),
    help: "Continue a run: its id, the start of its id, or latest",
    notFor: ["repeat"],
    effect: "none",
  },
  repeat: {
    schema: runName.optional(),
    help: "Start a new run with the questions, agent and settings of RUN",
    effect: "none",
  },
  retryFailed: {
    schema: toggle,
    help: "With --resume: also answer failed tasks again",
    notFor: ["new", "repeat"],
    effect: "none",
  },
  force: {
    schema: toggle,
    help: "With --resume, --repeat: continue despite changes, and record the differences",
    notFor: ["new"],
    effect: "none",
  },
  dryRun: { schema: toggle, help: "Estimate tokens, cost and time without calling a model", effect: "none" },
  stats: { schema: toggle, help: "Show dataset statistics and exit", effect: "none" },
} satisfies Record<string, RunFlag>;

const SPLIT_FLAG = {
  split: {
    schema: oneOf(SPLITS).optional(),
    placeholder: "train|test",
    alias: "s",
    help: "Dataset split: train or test [default: test, or the file's only split]",
    config: "dataset.split",
    notFor: ONLY_QUESTIONS,
    artProtocol: "test",
    effect: { changes: "tasks", recordedAs: "split" },
  },
} satisfies Record<string, RunFlag>;

const SOURCE_FLAGS = {
  dataset: {
    schema: file.optional(),
    alias: "csv-path",
    help: `File of questions (Parquet, CSV, JSON, JSONL) instead of ${QUESTIONS_DATASET}`,
    config: "dataset.file",
    replaces: ["dataset", "suite"],
    notFor: ONLY_QUESTIONS,
    reads: "the dataset",
    effect: { changes: "tasks", recordedAs: "dataset", published: "any" },
  },
  useJson: {
    schema: toggle,
    help: "Load the questions from the JSON rows API instead of the Parquet file",
    config: "dataset.use-json",
    replaces: ["dataset", "suite"],
    notFor: ONLY_QUESTIONS,
    effect: { changes: "tasks", recordedAs: "dataset", published: "any" },
  },
  revision: {
    schema: text.optional(),
    placeholder: "COMMIT",
    help: `Dataset revision [default: ${QUESTIONS_REVISION.slice(0, 8)}]`,
    config: "dataset.revision",
    replaces: ["dataset", "suite"],
    notFor: ONLY_QUESTIONS,
    effect: { changes: "tasks", recordedAs: "dataset", published: "any" },
  },
} satisfies Record<string, RunFlag>;

/** Flags that specify a dataset of questions. */
export const DATASET_FLAGS = { ...SPLIT_FLAG, ...SOURCE_FLAGS };

const QUESTION_SELECTION_FLAGS = {
  ids: {
    schema: ids.optional(),
    help: "Only these task ids, separated by commas",
    config: "dataset.ids",
    notFor: ONLY_QUESTIONS,
    effect: SELECTION,
  },
  inbox: {
    schema: mailbox.optional(),
    help: "Only questions about this mailbox",
    config: "dataset.inbox",
    notFor: ONLY_QUESTIONS,
    effect: SELECTION,
  },
  minRealism: {
    schema: numberBetween(0, 1).optional(),
    help: "Minimum realism of the questions, from 0 to 1",
    config: "dataset.min-realism",
    notFor: ONLY_QUESTIONS,
    effect: SELECTION,
  },
  maxSources: {
    schema: wholeNumber(1).optional(),
    help: "Maximum number of gold emails per question (ART: 1)",
    config: "dataset.max-sources",
    notFor: ONLY_QUESTIONS,
    artProtocol: 1,
    effect: SELECTION,
  },
  excludeKnownBad: {
    schema: toggle,
    help: "Leave out the questions that ART found to be wrong",
    config: "dataset.exclude-known-bad",
    notFor: ONLY_QUESTIONS,
    artProtocol: true,
    effect: SELECTION,
  },
  shuffle: {
    schema: toggle,
    help: "Ask in random order (see --seed)",
    config: "run.shuffle",
    notFor: STORED,
    effect: SELECTION,
  },
  seed: {
    schema: wholeNumber(0, 2 ** 32 - 1).optional(),
    help: "Seed for --shuffle [default: 1]",
    config: "run.seed",
    notFor: STORED,
    effect: SELECTION,
  },
} satisfies Record<string, RunFlag>;

/** Flags that specify a dataset and select questions from it. */
export const QUESTION_FLAGS = { ...DATASET_FLAGS, ...QUESTION_SELECTION_FLAGS };

export const LIMIT_FLAG = {
  limit: {
    schema: wholeNumber(0).default(10),
    alias: "l",
    help: "Maximum number of tasks (0 = all)",
    config: "run.limit",
    notFor: STORED,
    artProtocol: 100,
    effect: SELECTION,
  },
} satisfies Record<string, RunFlag>;

/** Selection of questions as in a run. */
export const questionSchema = z.object(shapeOf({ ...QUESTION_FLAGS, ...LIMIT_FLAG }));

const QUESTION_RUN_FLAGS = {
  ...SPLIT_FLAG,
  ...LIMIT_FLAG,
  ...QUESTION_SELECTION_FLAGS,
  seed: { ...QUESTION_SELECTION_FLAGS.seed, help: "Seed for --shuffle and --until [default: 1]" },
  epochs: {
    schema: wholeNumber(1, 1_000).default(1),
    help: "Number of times to ask each question",
    config: "run.epochs",
    notFor: STORED,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.epochs", published: 1 },
  },
  protocol: {
    schema: oneOf(["art"]).optional(),
    help: "art: the conditions of the published ART-E figures (agent art-e, the first 100 test questions with one gold email, no known bad ones, no cutoff, ART's judge). Other flags override it",
    config: "dataset.protocol",
    replaces: ["agent", "judge"],
    notFor: [...ONLY_QUESTIONS, ...EXTERNAL],
    effect: "none",
  },
  ...SOURCE_FLAGS,
  partialInboxes: {
    schema: toggle,
    help: "Also ask about mailboxes that were not imported as such",
    config: "dataset.partial-inboxes",
    notFor: ["suite without mail"],
    inLibrary: "new",
    effect: "none",
  },
  cutoff: {
    schema: oneOf(["query_date", "off"]).default("query_date"),
    help: "Hide later emails: query_date or off",
    config: "dataset.cutoff",
    notFor: ["suite without mail"],
    artProtocol: "off",
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.cutoff" },
  },
} satisfies Record<string, RunFlag>;

/** Flags that select suite tasks. */
export const SUITE_SELECTION_FLAGS = {
  task: {
    schema: withTraits(words, { completes: "suiteTasks" }).optional(),
    help: "Task ids, or starts of ids, separated by commas",
    config: "suite.task",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
  tool: {
    schema: text.meta({ placeholder: "FOLDER" }).optional(),
    help: "Only tasks in this folder of examples/ (or of Harbor tasks), such as jupyter",
    config: "suite.tool",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
  tag: {
    schema: words.optional(),
    help: "Only tasks with all of these tags, separated by commas",
    config: "suite.tag",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
  index: {
    schema: text.meta({ placeholder: "FILE" }).optional(),
    help: "Only tasks listed in this index file, such as test_one.json",
    config: "suite.index",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
  counterparts: {
    schema: oneOf(COUNTERPARTS).optional(),
    help: "Pairs of tasks: both (add counterparts), abstract or verbose (one of each pair)",
    config: "suite.counterparts",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
  runnable: {
    schema: z.boolean().optional(),
    help: "Only tasks that can run on this machine",
    config: "suite.runnable",
    notFor: ONLY_SUITES,
    effect: SELECTION,
  },
} satisfies Record<string, RunFlag>;

export const FUNCTIONS_FLAG = {
  functions: {
    schema: withTraits(file, { risk: "program" }).optional(),
    help: "Module with custom setup and evaluation functions. It runs with your permissions",
    config: "suite.functions",
    notFor: ["questions", "queue"],
    effect: { changes: "measurements", recordedAs: "settings.functions" },
  },
} satisfies Record<string, RunFlag>;

/** Flags for resources of suite tasks that are not part of the suite. */
export const SUITE_RESOURCE_FLAGS = {
  ...FUNCTIONS_FLAG,
  accountSettings: {
    schema: folder.optional(),
    help: "Folder with VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]",
    config: "suite.account-settings",
    notFor: ["questions", "queue"],
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

const SUITE_FLAGS = {
  suite: {
    schema: folder.optional(),
    help: "Task suite folder. Runs its tasks instead of questions about mailboxes",
    config: "suite.folder",
    replaces: ["dataset", "suite"],
    // A resumed suite run accepts the suite's new folder.
    notFor: ["questions", "human", "function"],
    effect: { changes: "tasks", recordedAs: "dataset", published: "any" },
  },
  ...SUITE_SELECTION_FLAGS,
  oracle: {
    schema: file.optional(),
    help: "Oracle file for the oracle agent [default: the suite's oracle.jsonl]",
    config: "suite.oracle",
    notFor: ["questions", "queue"],
    reads: "the oracle file",
    effect: { changes: "measurements", recordedAs: "settings.oracle" },
  },
  ...SUITE_RESOURCE_FLAGS,
} satisfies Record<string, RunFlag>;

/** Flags that add headers and fields to a model's requests. */
export const REQUEST_FLAGS = {
  header: {
    schema: headers.optional(),
    help: `Header to add to the model's requests (repeatable). VALUE can contain \${VARIABLE}`,
    config: "model.headers",
    notFor: ["command", "api", "human", "function"],
    isForAsk: true,
    effect: { changes: "measurements", recordedAs: "settings.extraHeaders" },
  },
  body: {
    schema: bodyFields.optional(),
    help: "Field to add to the body of the model's requests, such as seed=42 (repeatable). Recorded with the run",
    config: "model.body",
    notFor: ["command", "api", "human", "function"],
    isForAsk: true,
    effect: { changes: "measurements", recordedAs: "settings.extraBody" },
  },
} satisfies Record<string, RunFlag>;

const MODEL_FLAGS = {
  modelId: {
    schema: modelName.optional(),
    placeholder: "PROVIDER/NAME",
    help: `Model, as provider/name or name [default: the agent's, otherwise ${DEFAULT_MODEL}]`,
    config: "model.id",
    replaces: ["model"],
    notFor: ["command", "endpoint", "human", "function"],
    reads: "the file of replies",
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "model", published: "any" },
  },
  modelProvider: {
    schema: text.optional(),
    placeholder: "NAME",
    help: `Provider: ${PROVIDERS.join(", ")} [default: from the model name]`,
    config: "model.provider",
    replaces: ["model"],
    notFor: ["command", "endpoint", "human", "function"],
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "model", published: "any" },
  },
  baseUrl: {
    schema: url.optional(),
    help: "URL of a compatible server",
    config: "model.base-url",
    notFor: EXTERNAL,
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.baseUrl", published: "any" },
  },
  wireApi: {
    schema: oneOf(["chat", "responses"]).optional(),
    help: "Wire format for openai: chat or responses [default: depends on the server]",
    config: "model.wire-api",
    notFor: EXTERNAL,
    isForAsk: true,
    effect: { changes: "measurements", recordedAs: "settings.wireApi", isRecordedAsGiven: true, published: "any" },
  },
  temperature: {
    schema: numberBetween(0, 2).optional(),
    help: "Temperature from 0 to 2 [default: the agent's, otherwise the provider's]",
    config: "model.temperature",
    notFor: EXTERNAL,
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.temperature", isRecordedAsGiven: true },
  },
  maxTurns: {
    schema: wholeNumber(1, 1_000).optional(),
    help: "Maximum model calls per task [default: the agent's, 10]",
    config: "limits.max-turns",
    notFor: ["human"],
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.maxTurns", published: 10 },
  },
  maxTokens: {
    schema: wholeNumber(1).optional(),
    help: "Maximum tokens per reply [default: the agent's, 2048]",
    config: "model.max-tokens",
    notFor: EXTERNAL,
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.maxTokens", isRecordedAsGiven: true, published: 2048 },
  },
  reasoningEffort: {
    schema: reasoningEffort.optional(),
    placeholder: "EFFORT",
    help: `Reasoning effort: ${REASONING_EFFORTS.join(", ")} [default: the agent's, otherwise the model's]`,
    config: "model.reasoning-effort",
    notFor: EXTERNAL,
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.reasoningEffort", isRecordedAsGiven: true },
  },
  reasoningTokens: {
    schema: wholeNumber(0).optional(),
    help: "Additional tokens for reasoning [default: the agent's, otherwise depends on the model]",
    config: "model.reasoning-tokens",
    notFor: EXTERNAL,
    isForAsk: true,
    effect: { changes: "measurements", recordedAs: "settings.reasoningTokens", isRecordedAsGiven: true },
  },
  ...REQUEST_FLAGS,
  price: {
    schema: price.optional(),
    help: "Price in US dollars per million tokens: IN,OUT[,CACHED]",
    config: "model.price",
    notFor: ["api", "human", ...STORED],
    isForAsk: true,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.price", published: "any" },
  },
  cache: {
    schema: toggle,
    help: "Cache the model's replies, and answer from the cache",
    config: "run.cache",
    notFor: EXTERNAL,
    isPerSession: true,
    inLibrary: "session",
    effect: "none",
  },
  record: {
    schema: file.optional(),
    help: "Record the model's replies in FILE, for --model-id replay/FILE",
    config: "run.record",
    notFor: [...EXTERNAL, "queue"],
    writes: "recording",
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

export const EXTERNAL_AGENT_FLAGS = {
  agentCommand: {
    schema: withTraits(text, { risk: "program" }).optional(),
    placeholder: "COMMAND",
    help: "Program that runs the agent: JSON Lines on stdin and stdout",
    config: "agent.command",
    replaces: ["agent", "model"],
    effect: { changes: "measurements", recordedAs: "settings.externalAgent" },
  },
  agentUrl: {
    schema: url.optional(),
    help: "OpenAI-compatible endpoint that runs the agent with its own tools (--agent is the model)",
    config: "agent.url",
    replaces: ["agent", "model"],
    effect: { changes: "measurements", recordedAs: "settings.externalAgent" },
  },
  apiUrl: {
    schema: url.optional(),
    help: "Server with the playground API that runs the agent [API_URL]",
    config: "agent.api-url",
    replaces: ["agent", "model"],
    effect: { changes: "measurements", recordedAs: "settings.externalAgent" },
  },
  workspace: {
    schema: text.optional(),
    placeholder: "ID",
    alias: "w",
    help: "With --api-url: workspace [WORKSPACE_ID]",
    config: "agent.workspace",
    effect: { changes: "measurements", recordedAs: "settings.externalAgent" },
  },
  tellTask: {
    schema: toggle,
    help: "With --api-url: add the mailbox and date to the question",
    config: "agent.tell-task",
    effect: { changes: "measurements", recordedAs: "settings.externalAgent" },
  },
} satisfies Record<string, RunFlag>;

const SPEED_FLAGS = {
  concurrency: {
    schema: concurrency.default("auto"),
    placeholder: "N|auto",
    help: "Maximum concurrent tasks, or auto (as many as the server accepts) [default: auto]",
    config: "limits.concurrency",
    notFor: ["human", "queue"],
    isPerSession: true,
    inLibrary: "session",
    effect: "none",
  },
  rpm: {
    schema: LIMIT_VALUES.rpm.optional(),
    help: "Maximum requests per minute",
    config: "limits.rpm",
    notFor: ["command", "human", "function"],
    isPerSession: true,
    inLibrary: "session",
    effect: "none",
  },
  tpm: {
    schema: LIMIT_VALUES.tpm.optional(),
    help: "Maximum input and output tokens per minute",
    config: "limits.tpm",
    notFor: ["command", "api", "human", "function"],
    isPerSession: true,
    inLibrary: "session",
    effect: "none",
  },
  queue: {
    schema: url.optional(),
    help: "Let the workers of a Redis server answer (art-e worker), as redis://HOST:PORT [ART_E_QUEUE_URL]",
    effect: { changes: "measurements", recordedAs: "settings.queue", published: "any" },
  },
  requestTimeout: {
    schema: numberAbove(0, LONGEST_TIMER_S).default(180),
    placeholder: "SECONDS",
    help: "Timeout per model call, in seconds",
    config: "limits.request-timeout",
    notFor: ["command", "endpoint", "human", "function"],
    isPerSession: true,
    isForAsk: true,
    inLibrary: "session",
    effect: "none",
  },
  taskTimeout: {
    schema: taskTimeoutSeconds.default(600),
    placeholder: "SECONDS",
    help: "Timeout per task, in seconds",
    config: "limits.task-timeout",
    isForAsk: true,
    inLibrary: "session",
    effect: { changes: "measurements", recordedAs: "settings.taskTimeoutMs", published: "any" },
  },
} satisfies Record<string, RunFlag>;

const LIMIT_FLAGS = {
  maxCost: {
    schema: LIMIT_VALUES.maxCostUsd.optional(),
    placeholder: "USD",
    help: "Stop the run at this cost, in US dollars (it can be resumed)",
    config: "limits.max-cost",
    notFor: ["api", "human"],
    inLibrary: "session",
    effect: "none",
  },
  maxTaskCost: {
    schema: LIMIT_VALUES.maxCostUsd.optional(),
    placeholder: "USD",
    help: "End a task at this cost, in US dollars",
    config: "limits.max-task-cost",
    notFor: EXTERNAL,
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.maxTaskCostUsd", isRecordedAsGiven: true },
  },
  maxRunTokens: {
    schema: LIMIT_VALUES.maxTokens.optional(),
    help: "Stop the run after N input and output tokens",
    config: "limits.max-run-tokens",
    notFor: ["api", "human"],
    inLibrary: "session",
    effect: "none",
  },
  maxTime: {
    schema: timeBudgetMinutes.optional(),
    placeholder: "MINUTES",
    help: "Stop the run after this time, in minutes",
    config: "limits.max-time",
    inLibrary: "session",
    effect: "none",
  },
  until: {
    schema: claim.optional(),
    placeholder: "CLAIM",
    help: `Stop the run when a claim is settled, and ask in random order (see --seed): ${CLAIM_FORMS}`,
    config: "run.until",
    notFor: ["resume"],
    effect: { changes: "tasks", recordedAs: "settings.until" },
  },
  perturb: {
    schema: perturbation.optional(),
    placeholder: "KIND",
    help: `Disturb each task, for art-e reliability: ${PERTURBATIONS.join(", ")} (or hostile=KIND,...). Usually with --repeat RUN`,
    config: "run.perturb",
    notFor: [...EXTERNAL, "suite", "resume"],
    effect: { changes: "measurements", recordedAs: "settings.perturbation" },
  },
  maxFailures: {
    schema: failures.optional(),
    help: "Stop the run after N failed tasks, or at a percentage: 5%",
    config: "limits.max-failures",
    inLibrary: "session",
    effect: "none",
  },
  unsafeHostPython: {
    schema: toggle,
    help: "Run execute_python without a sandbox, with your permissions",
    notFor: EXTERNAL,
    effect: { changes: "measurements", recordedAs: "settings.unsafeHostPython" },
  },
} satisfies Record<string, RunFlag>;

export const SCORER_FLAGS = {
  scorers: {
    schema: scorers.optional(),
    help: "Additional scorers, separated by commas (eval:NAME runs an eval) [default: all]",
    config: "run.scorers",
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

export const JUDGE_FLAGS = {
  judge: {
    schema: modelName.optional(),
    placeholder: "MODEL",
    help: "Judge: provider/model, art or art:provider/model (the published protocol), eval:NAME (the judge of an eval), or off [default: the cheap model of the agent's provider, if there is a key]",
    config: "judge.model",
    replaces: ["judge"],
    notFor: ["suite without answers"],
    reads: "the judge's file of replies",
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.judge.model", published: "gemini-2.0-flash" },
  },
  noJudge: {
    schema: toggle,
    help: "Same as --judge off",
    replaces: ["judge"],
    notFor: ["suite without answers"],
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.judge.model", published: "gemini-2.0-flash" },
  },
  judgeVotes: {
    schema: wholeNumber(1, 25).optional(),
    help: "Number of verdicts per answer (the majority wins) [default: 1]",
    config: "judge.votes",
    notFor: ["suite without answers"],
    inLibrary: "new",
    effect: { changes: "measurements", recordedAs: "settings.judge.votes", published: 1 },
  },
  judgeBaseUrl: {
    schema: url.optional(),
    help: "URL of a compatible server for the judge",
    config: "judge.base-url",
    notFor: ["suite without answers"],
    effect: { changes: "measurements", recordedAs: "settings.judge.baseUrl", published: "any" },
  },
  judgeReasoningEffort: {
    schema: reasoningEffort.optional(),
    placeholder: "EFFORT",
    help: "Reasoning effort of the judge [default: its model's]",
    config: "judge.reasoning-effort",
    notFor: ["suite without answers"],
    effect: { changes: "measurements", recordedAs: "settings.judge.reasoningEffort" },
  },
  judgeHeader: {
    schema: headers.optional(),
    help: `Header to add to the judge's requests (repeatable). VALUE can contain \${VARIABLE}`,
    config: "judge.headers",
    notFor: ["suite without answers"],
    effect: { changes: "measurements", recordedAs: "settings.judge.extraHeaders" },
  },
  judgeBody: {
    schema: bodyFields.optional(),
    help: "Field to add to the body of the judge's requests, such as seed=42 (repeatable)",
    config: "judge.body",
    notFor: ["suite without answers"],
    effect: { changes: "measurements", recordedAs: "settings.judge.extraBody" },
  },
} satisfies Record<string, RunFlag>;

const OUTPUT_FLAGS = {
  output: {
    schema: file.optional(),
    alias: "o",
    help: "Save the results as a JSON file",
    config: "run.output",
    writes: "results",
    inLibrary: "session",
    effect: "none",
  },
  overwrite: { ...OVERWRITE_FLAG.overwrite, effect: "none" },
} satisfies Record<string, RunFlag>;

export const GATE_FLAGS = {
  failUnder: {
    schema: thresholds.optional(),
    help: "Minimum scores, such as accuracy=0.8,sources=0.7 (maximum, if lower is better). accuracy is the headline score. Exit code 3 if missed",
    config: "gates.fail-under",
    isPerSession: true,
    effect: "none",
  },
  minCoverage: {
    schema: numberBetween(0, 1).optional(),
    placeholder: "FRACTION",
    help: "With --fail-under or --baseline: minimum fraction of the tasks that must have the score, unless it does not apply to them [default: 0.9]",
    config: "gates.min-coverage",
    isPerSession: true,
    effect: "none",
  },
  requireValidated: {
    schema: toggle,
    help: "With --fail-under on an eval or the judge's score: reject it if its newest test did not pass",
    config: "gates.require-validated",
    isPerSession: true,
    effect: "none",
  },
  baseline: {
    schema: withTraits(runName, { path: "source" }).optional(),
    help: "Run or results file to compare --metric with. Exit code 3 if worse",
    config: "gates.baseline",
    isPerSession: true,
    reads: "the baseline",
    effect: "none",
  },
  noWorseThan: {
    schema: numberBetween(0, 1_000).optional(),
    help: "With --baseline: maximum loss, excluded with 95% confidence. The default takes at least 73 questions [default: 0.05]",
    config: "gates.no-worse-than",
    isPerSession: true,
    effect: "none",
  },
  metric: {
    schema: text.optional(),
    placeholder: "SCORE",
    help: "Score for --baseline and --junit-tasks [default: accuracy, the headline score]",
    config: "gates.metric",
    isPerSession: true,
    effect: "none",
  },
  failedTasks: {
    schema: oneOf(FAILED_TASKS).optional(),
    help: "With --fail-under or --baseline: count failed tasks as wrong, or exclude them [default: wrong]",
    config: "gates.failed-tasks",
    isPerSession: true,
    effect: "none",
  },
  junit: {
    schema: file.optional(),
    help: "Write each gate and task as a test case to FILE (JUnit XML). Only missed gates are failures",
    config: "gates.junit",
    isPerSession: true,
    writes: "junit",
    effect: "none",
  },
  junitTasks: {
    schema: toggle,
    help: "With --junit: wrong answers by --metric are failures too, and failed tasks are errors",
    config: "gates.junit-tasks",
    isPerSession: true,
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

/** Flags for sending traces to an OTLP server. */
export const OTLP_FLAGS = {
  otlp: {
    schema: toggle,
    help: "Send the traces to the server in OTEL_EXPORTER_OTLP_ENDPOINT",
    config: "traces.otlp",
    isPerSession: true,
    effect: "none",
  },
  otlpEndpoint: {
    schema: url.optional(),
    help: "Send the traces to this OTLP endpoint, with the keys from OTEL_EXPORTER_OTLP_HEADERS",
    config: "traces.otlp-endpoint",
    isPerSession: true,
    effect: "none",
  },
  scores: {
    schema: oneOf(SCORE_APIS).optional(),
    help: `Also send the scores, to the API of ${SCORE_APIS.join(" or ")} at the same server`,
    config: "traces.scores",
    isPerSession: true,
    effect: "none",
  },
  noContent: {
    schema: toggle,
    help: "With --otlp: leave out messages, calls, answers and reasons",
    config: "traces.no-content",
    isPerSession: true,
    effect: "none",
  },
} satisfies Record<string, RunFlag>;

/** The flags per group, in the order of the help. */
const GROUPS = {
  Run: GENERAL,
  Questions: QUESTION_RUN_FLAGS,
  "Suite tasks": SUITE_FLAGS,
  Model: MODEL_FLAGS,
  "External agent": EXTERNAL_AGENT_FLAGS,
  Speed: SPEED_FLAGS,
  Limits: LIMIT_FLAGS,
  Scores: { ...SCORER_FLAGS, ...JUDGE_FLAGS },
  "Results and gates": { ...OUTPUT_FLAGS, ...GATE_FLAGS },
  "Sending traces": OTLP_FLAGS,
};

export const RUN_FLAG_GROUPS: Readonly<Record<string, readonly RunFlagName[]>> = Object.fromEntries(
  Object.entries(GROUPS).map(([title, flags]) => [title, Object.keys(flags) as RunFlagName[]]),
);

const ALL = {
  ...GENERAL,
  ...QUESTION_RUN_FLAGS,
  ...SUITE_FLAGS,
  ...MODEL_FLAGS,
  ...EXTERNAL_AGENT_FLAGS,
  ...SPEED_FLAGS,
  ...LIMIT_FLAGS,
  ...SCORER_FLAGS,
  ...JUDGE_FLAGS,
  ...OUTPUT_FLAGS,
  ...GATE_FLAGS,
  ...OTLP_FLAGS,
};

type AllFlags = typeof ALL;

export type RunFlagName = keyof AllFlags;

/** Names of the flags that are options of the library. */
export type LibraryFlagName<Of extends NonNullable<RunFlag["inLibrary"]>> = {
  [Name in RunFlagName]: AllFlags[Name] extends { readonly inLibrary: Of } ? Name : never;
}[RunFlagName];

/** Values of the flags that the settings of an own run contain as given, by setting. */
export type GivenSettings = {
  readonly [Name in RunFlagName as AllFlags[Name]["effect"] extends {
    readonly recordedAs: `settings.${infer Setting}`;
    readonly isRecordedAsGiven: true;
  }
    ? Setting
    : never]?: NonNullable<RunOptions[Name]>;
};

export const RUN_FLAGS: Readonly<Record<RunFlagName, RunFlag>> = ALL;

/** Names of all flags that fulfil a condition. */
export function flagsWhere(isWanted: (flag: RunFlag) => boolean): readonly RunFlagName[] {
  return (Object.keys(RUN_FLAGS) as RunFlagName[]).filter((name) => isWanted(RUN_FLAGS[name]));
}

export const runSchema = z.object(shapeOf(ALL));

/** Options of a run. Undefined options come from the agent, the stored run or a default. */
export type RunOptions = Readonly<z.output<typeof runSchema>>;
