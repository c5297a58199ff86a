// Schemas of responses in snake case, and their types for the playground. They are strict only for the OpenAPI
// document. Responses are not validated.
import { z } from "@hono/zod-openapi";
import { MODE_FIXES } from "../error-analysis/mode-fixes.js";
import { criterionNameSchema } from "../evals/criteria.js";
import { EVAL_STATUSES, LABEL_SOURCES, THRESHOLD_NAMES } from "../evals/definition.js";
import { drawnFromSchema, EVAL_LABELS, LABEL_DRAWS, probabilitySchema } from "../evals/labels.js";
import { REASONING_EFFORTS } from "../models/reasoning-effort.js";
import { TOOL_RESULTS } from "../models/tool-results.js";
import { jsonObjectSchema as jsonObject } from "../platform/json.js";
import { questionCheckSchema, questionReviewSchema, REVIEW_DECISIONS } from "../questions/provenance.js";
import { estimateSchema } from "../statistics/estimate.js";
import { ENDINGS } from "../tasks/ending.js";
import { taskIdSchema } from "../tasks/question.js";
import { RATINGS } from "../traces/feedback-store.js";
import { HEADLINE_SCORERS } from "../traces/headline-score.js";
import { headlineSchema } from "../traces/run-totals.js";
import { runStatusSchema } from "../traces/task-result.js";
import type { ChatTrace, Trace } from "../traces/trace.js";

/**
 * The generator of the OpenAPI document does not terminate with recursive schemas, so these schemas state only a type.
 */
export const jsonObjectSchema = jsonObject.meta({ type: "object" });
export const nullableJsonObjectSchema = jsonObject.nullable().meta({ type: ["object", "null"] });
const jsonValueSchema = z.json().meta({ type: ["object", "array", "string", "number", "boolean", "null"] });

const time = z.iso.datetime().meta({ description: "ISO 8601, UTC" });

const settingsShape = z.strictObject({
  maxTurns: z.number().int(),
  maxTokens: z.number().int(),
  reasoningTokens: z.number().int().optional(),
  toolCalls: z.enum(["all", "first"]),
  toolChoice: z.enum(["auto", "required"]),
  toolResults: z.enum(TOOL_RESULTS),
  temperature: z.number().optional(),
  reasoningEffort: z.enum(REASONING_EFFORTS).optional(),
});

export const agentShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  prompt: z.string(),
  model: z.string().nullable().meta({ description: "provider/name, or null for the chat's model" }),
  settings: settingsShape,
  version: z.number().int(),
  builtin: z.boolean().meta({ description: "Whether it is built into the program, and can be copied but not changed" }),
  tools: z.array(z.string()),
  created_at: time,
  updated_at: time,
});

export type AgentJson = z.output<typeof agentShape>;

export const agentVersionShape = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  version: z.number().int(),
  prompt_template: z.string(),
  definition: z.string().meta({ description: "The version as YAML, like a file of art-e agents export" }),
  variables: z.array(z.string()),
  source: z.literal("manual"),
  parent_version_id: z.string().nullable(),
  accuracy: z.null(),
  status: z.enum(["active", "archived"]),
  created_at: z.iso.datetime(),
});

export type AgentVersionJson = z.output<typeof agentVersionShape>;

export const toolShape = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  parameters_schema: jsonObjectSchema,
  handler_key: z.string(),
  handler_config: jsonObjectSchema,
  category: z.string(),
  builtin: z.boolean(),
  created_at: time,
  updated_at: time,
});

export type ToolJson = z.output<typeof toolShape>;

export const agentToolShape = z.strictObject({
  id: z.string().meta({ description: "Tool id" }),
  agent_id: z.string(),
  tool_id: z.string(),
  name: z.string(),
  description: z.string(),
  parameters_schema: jsonObjectSchema,
  handler_key: z.string(),
  category: z.string(),
  created_at: time,
  config: nullableJsonObjectSchema,
});

export type AgentToolJson = z.output<typeof agentToolShape>;

export const sessionShape = z.strictObject({
  id: z.string(),
  agent_id: z.string(),
  inbox_address: z.string().nullable(),
  query_date: z.string().nullable(),
  chats: z.number().int().optional(),
  question: z.string().nullable().optional().meta({ description: "First question" }),
  created_at: time,
  updated_at: time,
});

export type SessionLineJson = z.output<typeof sessionShape>;

/** For lists with offsets. */
const offsetPage = { has_more: z.boolean(), total_count: z.number().int() };

export type OffsetPageJson = z.output<z.ZodObject<typeof offsetPage>>;

export const sessionPageShape = z.strictObject({ sessions: z.array(sessionShape), ...offsetPage });

export type SessionPageJson = z.output<typeof sessionPageShape>;

export const inboxesShape = z.strictObject({
  inboxes: z.array(z.string()),
  questions: z
    .array(z.strictObject({ inbox: z.string(), question: z.string(), date: z.string() }))
    .readonly()
    .meta({ description: "At most three questions per mailbox, from the datasets of runs, each with its date" }),
  messages: z.number().int(),
  first_date: z.string().nullable(),
  last_date: z.string().nullable(),
});

export type InboxesJson = z.output<typeof inboxesShape>;

export const modelsShape = z.strictObject({
  models: z.array(z.strictObject({ id: z.string(), provider: z.string() })),
  default_model: z.string().meta({ description: "Model for agents without their own" }),
});

export type ModelsJson = z.output<typeof modelsShape>;

export const mailShape = z.strictObject({
  message_id: z.string(),
  subject: z.string(),
  sender: z.string(),
  to: z.array(z.string()),
  cc: z.array(z.string()),
  bcc: z.array(z.string()),
  date: z.string().nullable(),
  body: z.string(),
});

export type MailJson = z.output<typeof mailShape>;

const scoreLabel = z.string().meta({ description: "Name of the score for people" });

const runLineShape = z.strictObject({
  id: z.string(),
  name: z.string().nullable(),
  note: z.string().nullable(),
  tags: z.array(z.string()).readonly(),
  agent_id: z.string(),
  model: z.string(),
  dataset: z.string(),
  split: z.string(),
  perturbation: z.string().nullable().meta({ description: "Perturbation of every task, or null for a plain run" }),
  status: runStatusSchema,
  tasks: z.number().int().meta({ description: "Number of tasks with a result" }),
  completed_tasks: z.number().int().meta({ description: "Number of these tasks that did not fail" }),
  failed_tasks: z.number().int().meta({ description: "Number of these tasks that failed" }),
  total_tasks: z.number().int(),
  error: z.string().nullable().meta({ description: "Most frequent error of the failed tasks, or null" }),
  cost_usd: z
    .number()
    .nullable()
    .meta({ description: "The agent's cost in US dollars, or null if a price is unknown" }),
  judge_cost_usd: z.number().nullable().meta({ description: "Cost of judging in US dollars, or null if unknown" }),
  total_cost_usd: z.number().nullable().meta({ description: "Sum of both, or null if either is unknown" }),
  score: headlineSchema,
  tokens: z.number().int().meta({ description: "Input and output tokens of all results" }),
  duration_ms: z
    .number()
    .nullable()
    .meta({ description: "Milliseconds in which a process executed the run, or null if none has ended yet" }),
  started_at: z.string(),
});

export type RunLineJson = z.output<typeof runLineShape>;

export const runPageShape = z.strictObject({ runs: z.array(runLineShape), ...offsetPage });

export type RunPageJson = z.output<typeof runPageShape>;

export const resultPageShape = z.strictObject({
  taskResults: z.array(z.looseObject({ taskId: taskIdSchema, traceId: z.string() })),
  ...offsetPage,
});

export const messageShape = z.strictObject({
  role: z.enum(["user", "assistant", "tool"]),
  content: z.string(),
  tool_calls: z.array(z.strictObject({ id: z.string(), tool_name: z.string(), arguments: jsonValueSchema })).optional(),
  tool_call_id: z.string().optional(),
  is_error: z.boolean().optional(),
});

export const feedbackShape = z.strictObject({
  id: z.string(),
  trace_id: z.string(),
  agent_id: z.string(),
  rating: z.enum(RATINGS),
  notes: z.string().nullable(),
  created_at: time,
});

const traceLineShape = z.strictObject({
  id: z.string(),
  trace_id: z.string(),
  run_id: z.string().nullable(),
  run_name: z.string().nullable(),
  task_id: taskIdSchema.nullable(),
  agent_id: z.string(),
  session_id: z.string(),
  model: z.string(),
  ending: z.enum(ENDINGS),
  question: z.string(),
  answer: z.string().nullable(),
  score: z
    .strictObject({ scorer: z.enum(HEADLINE_SCORERS), label: scoreLabel, value: z.number() })
    .nullable()
    .meta({ description: "First score among the headline scores, or null if the trace has none" }),
  rating: z.enum(RATINGS).nullable(),
  started_at: time,
  duration_ms: z.number(),
});

export type TraceLineJson = z.output<typeof traceLineShape>;

export const tracePageShape = z.strictObject({
  traces: z.array(traceLineShape),
  next_cursor: z.string().nullable(),
  has_more: z.boolean(),
  total_count: z.number().int(),
});

export type TracePageJson = z.output<typeof tracePageShape>;

export const stepShape = z.strictObject({
  step_id: z.string(),
  trace_id: z.string(),
  timestamp: time,
  messages_added: z.array(z.strictObject({ role: z.string(), content: z.string() })),
  tool_calls: z.array(
    z.strictObject({
      tool_name: z.string(),
      arguments: jsonValueSchema,
      result: jsonValueSchema,
      error: z.string().nullable(),
    }),
  ),
  input: jsonValueSchema,
  output: jsonValueSchema,
  metadata: z.strictObject({
    span_id: z.string(),
    parent_span_id: z.string().nullable(),
    span_name: z.string(),
    latency_ms: z.number(),
    tokens_input: z.number().nullable(),
    tokens_output: z.number().nullable(),
  }),
  error: z.string().nullable(),
});

export const judgmentsShape = z.strictObject({
  labels: z.array(
    z.strictObject({
      id: z.number().int(),
      criterion: z.string(),
      label: z.enum(EVAL_LABELS),
      source: z.enum(LABEL_SOURCES),
      note: z.string().nullable(),
      annotator: z.string().nullable(),
      created_at: z.string(),
    }),
  ),
  notes: z.array(
    z.strictObject({
      note: z.string().nullable().meta({ description: "Null if nothing went wrong" }),
      annotator: z.string().nullable(),
      modes: z.array(z.string()),
      created_at: z.string(),
    }),
  ),
});

export type JudgmentsJson = z.output<typeof judgmentsShape>;

export const traceDetailsShape = traceLineShape.omit({ rating: true, score: true, run_name: true }).extend({
  scores: z.array(
    z.strictObject({
      name: z.string(),
      label: scoreLabel,
      value: z.number().nullable().meta({ description: "Null if the score could not be determined" }),
      explanation: z.string().nullable(),
    }),
  ),
  steps: z.array(stepShape),
  feedback: z.array(feedbackShape),
  ...judgmentsShape.shape,
  trace: z.looseObject({ traceId: z.string() }).meta({ description: "Trace in the format of export-traces" }),
});

export const repeatShape = z.strictObject({
  trace_id: z.string(),
  agent_id: z.string(),
  agent_version: z.number().int(),
  model: z.string(),
  base_url: z.string().nullable().meta({ description: "Recorded model server, or null for the default" }),
  prompt: z.string(),
  settings: settingsShape,
  inbox: z.string().nullable(),
  query_date: z.string().nullable(),
  question: z.string(),
});

/** The recorded agent and question of a trace, as the playground repeats them. */
export type RepeatJson = z.output<typeof repeatShape>;

/** The complete `trace`. The schema does not repeat the documentation of export-traces. */
export type TraceDetailsJson = Omit<z.output<typeof traceDetailsShape>, "trace"> & {
  readonly trace: Trace | ChatTrace;
};

const reviewSummaryShape = z.strictObject({
  counts: z.record(z.enum([...REVIEW_DECISIONS, "waiting"]), z.number().int()),
  agreement: z
    .strictObject({
      all: estimateSchema,
      by_check: z.array(z.strictObject({ check: z.string(), agreement: estimateSchema })),
    })
    .meta({ description: "Agreement between the reviewer and the checks on the original questions" }),
});

export type ReviewSummaryJson = z.output<typeof reviewSummaryShape>;

const reviewShape = questionReviewSchema.nullable().meta({ description: "Null if no decision has been made" });

export const reviewListShape = reviewSummaryShape.extend({
  dataset: z.string(),
  reviewed_dataset: z.string(),
  questions: z.array(z.strictObject({ id: z.number().int(), decision: z.enum(REVIEW_DECISIONS).nullable() })),
});

export type ReviewListJson = z.output<typeof reviewListShape>;

export const savedReviewShape = reviewSummaryShape.extend({ review: reviewShape });

export type SavedReviewJson = z.output<typeof savedReviewShape>;

const spans = z.array(z.strictObject({ start: z.number().int(), end: z.number().int() }));

export const questionDetailsShape = z.strictObject({
  id: z.number().int(),
  question: z.string(),
  answer: z.string(),
  inbox_address: z.string(),
  query_date: z.string(),
  how_realistic: z.number(),
  made_by: z.string().nullable(),
  kind: z.string().nullable(),
  unanswerable: z.string().nullable(),
  easy: z.boolean(),
  checks: z.array(questionCheckSchema),
  mails: z.array(
    z.strictObject({
      message_id: z.string(),
      is_cited: z.boolean().meta({ description: "False if the email is dated after the question" }),
      passage: z.enum(["recorded", "found"]).nullable(),
      in_subject: spans,
      in_body: spans,
      mail: mailShape
        .omit({ message_id: true, bcc: true })
        .nullable()
        .meta({ description: "Null if the email is not in the database" }),
    }),
  ),
  review: reviewShape,
});

export type QuestionDetailsJson = z.output<typeof questionDetailsShape>;

const evalLineShape = z.strictObject({
  id: z.string().meta({ description: "NAME@VERSION" }),
  name: z.string(),
  version: z.number().int(),
  kind: z.string(),
  reference: z.boolean().meta({ description: "Whether it needs the gold answer" }),
  criterion: z.string(),
  status: z.enum(EVAL_STATUSES),
  validation: z.enum(["none", "stale", "passed", "rejected"]),
  created_at: z.string(),
  test: z
    .strictObject({
      mode: z.string().meta({ description: "Failure mode of the labels" }),
      thresholds: z.enum(THRESHOLD_NAMES),
      true_positive_rate: estimateSchema,
      true_negative_rate: estimateSchema,
      good_failed: z.number().int().meta({ description: "Number of good traces that it fails" }),
      bad_passed: z.number().int().meta({ description: "Number of bad traces that it passes" }),
      labels: z.record(z.string(), z.number().int()).meta({ description: "Number of labels by source" }),
      rejections: z.array(z.string()),
      warnings: z.array(z.string()),
      tested_at: z.string(),
    })
    .nullable()
    .meta({ description: "Newest test on held-out labels, or null" }),
});

export type EvalLineJson = z.output<typeof evalLineShape>;

export const evalListShape = z.strictObject({
  evals: z.array(evalLineShape),
  modes: z.array(z.string()).meta({ description: "Failure modes with notes or labels" }),
});

export type EvalListJson = z.output<typeof evalListShape>;

export const evalVersionShape = z.strictObject({
  eval: evalLineShape,
  code: z.string().meta({ description: "The eval as a function, its rubric, or its judge's settings" }),
  modes: z.array(z.string()).meta({ description: "Failure modes that it was made for or tested for" }),
  history: z
    .array(z.strictObject({ at: z.string(), lines: z.array(z.string()) }))
    .meta({ description: "Versions and tests of all versions, oldest first, each with its details" }),
});

export type EvalVersionJson = z.output<typeof evalVersionShape>;

const evalReference = z.string().min(1).max(300).meta({ description: "Eval name, or NAME@VERSION" });

export const evalJobRequestSchema = z.discriminatedUnion("action", [
  z.strictObject({ action: z.literal("suggest"), mode: criterionNameSchema }),
  z.strictObject({ action: z.literal("test"), name: evalReference, mode: criterionNameSchema.optional() }),
  z.strictObject({ action: z.literal("review"), name: evalReference, mode: criterionNameSchema.optional() }),
]);

export type EvalJobRequest = z.output<typeof evalJobRequestSchema>;

export const evalJobEventShape = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("progress"), done: z.number().int(), total: z.number().int().nullable() }),
  z.strictObject({
    type: z.literal("suggested"),
    sentences: z.array(z.string()).meta({ description: "What the mode needs, and why" }),
    evals: z
      .array(
        z.strictObject({
          id: z.string(),
          true_positive_rate: z.number(),
          true_negative_rate: z.number(),
          fails_if: z.string(),
        }),
      )
      .meta({ description: "Saved drafts with their cross-validated rates on training labels" }),
  }),
  z.strictObject({
    type: z.literal("tested"),
    tests: z.array(
      z.strictObject({
        mode: z.string(),
        rejections: z.array(z.string()),
        warnings: z.array(z.string()),
        error: z.string().nullable().meta({ description: "Why the eval could not be tested for this mode, or null" }),
      }),
    ),
  }),
  z.strictObject({
    type: z.literal("reviewed"),
    total: z.number().int(),
    disagreements: z
      .array(
        z.strictObject({
          trace_id: z.string(),
          label: z.enum(["good", "bad"]),
          score: z.number().nullable(),
          note: z.string().nullable(),
          reason: z.string(),
        }),
      )
      .meta({ description: "Training traces on which the eval and the label differ, at most 200" }),
  }),
  z.strictObject({ type: z.literal("error"), message: z.string(), hint: z.string() }),
]);

export type EvalJobEventJson = z.output<typeof evalJobEventShape>;

export const activatedEvalShape = z.strictObject({
  retired_version: z.number().int().nullable().meta({ description: "Former active version, or null" }),
});

export type ActivatedEvalJson = z.output<typeof activatedEvalShape>;

export const errorShape = z
  .strictObject({
    error: z.strictObject({ code: z.string(), message: z.string(), details: jsonValueSchema, request_id: z.string() }),
  })
  .openapi("Error");

export const openaiErrorShape = z
  .strictObject({
    error: z.strictObject({
      message: z.string(),
      type: z.string(),
      param: z.string().nullable(),
      code: z.string().nullable(),
      request_id: z.string(),
    }),
  })
  .openapi("OpenAIError");

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** Returns an object with its property names as in responses: `agentId` becomes `agent_id`. */
export function snakeKeys<T extends object>(object: T): { [Key in keyof T as SnakeCase<Key & string>]: T[Key] } {
  const renamed = Object.entries(object).map(([name, value]) => [
    name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return Object.fromEntries(renamed) as ReturnType<typeof snakeKeys<T>>;
}

/** Converts SQLite's `2026-11-21 12:38:41` to ISO 8601. */
export function isoTime(sqlite: string): string {
  return `${sqlite.replace(" ", "T")}Z`;
}

export const noteCountsShape = z
  .array(z.strictObject({ note: z.string(), traces: z.number().int() }))
  .meta({ description: "Distinct notes with their number of traces, the most frequent first" });

export const taxonomyShape = z.object({
  coded: z.number().int().meta({ description: "Number of coded traces" }),
  nothing_wrong: z.number().int(),
  ungrouped: noteCountsShape,
  modes: z.array(
    z.strictObject({
      name: z.string(),
      sentence: z.string().nullable(),
      fix: z.enum(MODE_FIXES),
      traces: z.number().int(),
      rate: estimateSchema,
      notes: noteCountsShape,
    }),
  ),
});

export const modeProposalShape = z.object({
  modes: z.array(z.strictObject({ name: z.string(), sentence: z.string(), notes: noteCountsShape })),
  left: noteCountsShape.meta({ description: "Notes that the model left out" }),
  cost_usd: z.number().nullable().meta({ description: "US dollars, or null if the price is unknown" }),
});

export type ModeProposalJson = z.output<typeof modeProposalShape>;

export type NoteCountJson = z.output<typeof noteCountsShape>[number];

export type TaxonomyJson = z.output<typeof taxonomyShape>;

export const codingQueueShape = z.object({
  run_id: z.string().nullable(),
  run_name: z.string().nullable(),
  queue: z.array(
    z.object({
      trace_id: z.string(),
      is_repeat: z
        .boolean()
        .meta({ description: "Whether the trace has a note and is shown again for a second one, without the first" }),
      drawn_from: drawnFromSchema
        .nullable()
        .meta({ description: "Number of traces that this one was drawn from, or null if somebody chose it" }),
      probability: probabilitySchema
        .nullable()
        .meta({ description: "Probability with which an enriched draw selected this trace" }),
    }),
  ),
  notes: noteCountsShape,
});

export type CodingQueueJson = z.output<typeof codingQueueShape>;

export const changedModesShape = z.object({ mode: z.string(), traces: z.number().int(), taxonomy: taxonomyShape });

export type ChangedModesJson = z.output<typeof changedModesShape>;

const labelSummaryShape = z.strictObject({
  labels: z
    .record(z.string(), z.number().int())
    .meta({ description: "Number of good, bad, neutral and skipped traces" }),
  sources: z
    .record(z.string(), z.number().int())
    .meta({ description: "Number of good and bad labels by source. Only those by people validate or correct" }),
  self_agreement: estimateSchema.meta({ description: "Agreement of repeated labels by the same person" }),
  between_annotators: estimateSchema.meta({ description: "Agreement between two people's labels" }),
});

export type LabelSummaryJson = z.output<typeof labelSummaryShape>;

export const savedLabelShape = labelSummaryShape.extend({ id: z.number().int() });

export type SavedLabelJson = z.output<typeof savedLabelShape>;

export const labelQueueShape = labelSummaryShape.extend({
  run_id: z.string().nullable(),
  run_name: z.string().nullable(),
  sentence: z.string().nullable().meta({ description: "Description of the criterion, or null" }),
  waiting: z.number().int().meta({ description: "Number of traces without a label by a person, or by this annotator" }),
  queue: z.array(
    z.strictObject({
      trace_id: z.string(),
      is_repeat: z.boolean(),
      drawn: z.enum(LABEL_DRAWS).meta({ description: "Sampling method, as reported by the queue" }),
      drawn_from: drawnFromSchema
        .nullable()
        .meta({ description: "Number of traces from which a random or enriched draw selected this one" }),
      probability: probabilitySchema
        .nullable()
        .meta({ description: "Probability with which an enriched draw selected this trace" }),
      basis: z
        .enum(["direct", "adjudicated"])
        .meta({ description: "adjudicated: decided between labels of several people. Takes precedence over them" }),
      labels: z
        .array(z.strictObject({ annotator: z.string(), label: z.enum(["good", "bad"]), note: z.string().nullable() }))
        .meta({ description: "Annotators' labels to adjudicate. Empty in the other orders" }),
    }),
  ),
});

export type LabelQueueJson = z.output<typeof labelQueueShape>;

/** A task in all runs over the same questions. */
export const sameTaskShape = z.strictObject({
  score_label: z.string().nullable().describe("Name of the compared score, or null if no run has one."),
  answers: z
    .array(
      z.strictObject({
        run_id: z.string(),
        run_name: z.string().nullable(),
        agent_id: z.string(),
        model: z.string(),
        started_at: z.string(),
        epoch: z.number().int(),
        ending: z.string(),
        answer: z.string().nullable(),
        score: z.number().nullable(),
      }),
    )
    .describe("Newest run first; at most 100."),
});

export type SameTaskJson = z.output<typeof sameTaskShape>;
