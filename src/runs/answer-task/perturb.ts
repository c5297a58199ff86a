// Perturbations of a run's tasks, for measuring how an agent copes with them. Each depends only on the task or the
// call, so that a resumed run and the workers of a queue perturb a task in the same way.
import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonValue } from "../../platform/json.js";
import { definedProperties } from "../../platform/optional-values.js";
import { shuffled } from "../../questions/dataset.js";
import { resultValue, type Tool, type ToolContext, type ToolResult } from "../../tools/tool.js";
import type { Perturbation } from "../../traces/run-settings.js";

type PerturbedCall = (tool: Tool, args: JsonValue, context: ToolContext) => Promise<ToolResult>;

const FINAL_ANSWER = "return_final_answer";

const SHORTEST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 3_000;

/**
 * Wordings that keep the question, with its names, dates and numbers, as it is. They add no fact that could be
 * searched, and do not say whether there is an answer.
 */
const WORDINGS: readonly ((question: string) => string)[] = [
  (question) => `Could you look this up in my mail? ${question}`,
  (question) => `${question} Please check my mailbox before you answer.`,
  (question) => `Here is what I would like to know: ${question}`,
  (question) => `Hello, I have a question about my email. ${question} Thank you!`,
  (question) => `Find the answer to the following question. Question: ${question}`,
  (question) => `I cannot remember this myself. ${question}`,
];

export function reword(instruction: string): string {
  const wording = WORDINGS[numberFrom(instruction, WORDINGS.length)];
  return wording === undefined ? instruction : wording(instruction);
}

/** Returns the tools with the perturbation. The final answer is never perturbed. */
export function perturbTools(tools: readonly Tool[], perturbation: Perturbation | undefined): readonly Tool[] {
  const perturb = perturbation === undefined ? undefined : PERTURBED_CALLS[perturbation];
  if (perturb === undefined) return tools;
  return tools.map((tool) =>
    tool.id === FINAL_ANSWER ? tool : { ...tool, call: (args, context) => perturb(tool, args, context) },
  );
}

/** Tasks in which a tool has already failed, by their contexts. */
const failedTasks = new WeakSet<ToolContext>();

const PERTURBED_CALLS: Readonly<Partial<Record<Perturbation, PerturbedCall>>> = {
  /** The first call of each task fails, as if the mail server had closed the connection. */
  async "tool-error"(tool, args, context) {
    if (failedTasks.has(context)) return tool.call(args, context);
    failedTasks.add(context);
    const error = `${tool.id} failed: the connection to the mail server was closed. Try again.`;
    return { ok: false, kind: "failed", error };
  },

  async latency(tool, args, context) {
    const ms = SHORTEST_DELAY_MS + numberFrom([tool.id, args], LONGEST_DELAY_MS - SHORTEST_DELAY_MS);
    await delay(ms, undefined, { signal: context.signal });
    return tool.call(args, context);
  },

  /** A list of emails has the same emails in another order. */
  async shuffled(tool, args, context) {
    const result = await tool.call(args, context);
    return result.ok && result.final === undefined
      ? { ...resultWithout(result), value: shuffleEmails(resultValue(result), numberFrom([tool.id, args], 2 ** 31)) }
      : result;
  },
};

function resultWithout(result: Extract<ToolResult, { ok: true }>) {
  return { ok: true, ...definedProperties({ repairs: result.repairs }) } as const;
}

function shuffleEmails(value: JsonValue, seed: number): JsonValue {
  if (Array.isArray(value)) return shuffled(value as readonly JsonValue[], seed);
  if (typeof value !== "object" || value === null || !("emails" in value) || !Array.isArray(value.emails)) return value;
  return { ...value, emails: shuffled(value.emails as readonly JsonValue[], seed) };
}

/** Returns a number from 0 to `below` - 1 that depends only on the value. */
function numberFrom(value: JsonValue, below: number): number {
  const digest = createHash("sha256").update(JSON.stringify(value)).digest();
  return digest.readUInt32BE(0) % below;
}
