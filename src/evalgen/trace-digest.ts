import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { askedOf } from "../domain/runs/chat.js";

/** What one tool result may take of a digest. */
const SHARE_OF_A_RESULT = 0.25;

/**
 * A trace as a short text for a model: question, calls with the beginnings of their results, answer, sources. Neither
 * gold nor scores nor a verdict. At most `maxChars` characters.
 */
export function traceDigest(trace: EvaluatedTrace, maxChars: number): string {
  const { answer, sources, ending, turns, durationMs, toolCalls } = trace;
  const last = turns.at(-1);
  const head = `Question: ${cut(askedOf(trace), maxChars / 4)}`;
  const tail = [
    `Answer: ${answer === null ? "none" : cut(answer, maxChars / 4)}`,
    `Sources: ${cut(sources.join(", ") || "none", maxChars / 8)}`,
    `Ending: ${ending}; ${turns.length} turns, ${toolCalls.length} tool calls, ${(durationMs / 1_000).toFixed(1)} s${
      last?.finishReason === "length" ? "; the last reply was cut off" : ""
    }`,
  ].join("\n");
  const room = Math.max(0, maxChars - head.length - tail.length - 2);
  const ofCall = Math.min(room / Math.max(1, toolCalls.length), maxChars * SHARE_OF_A_RESULT);
  const calls = toolCalls.map(({ name, arguments: args, result, error }, i) => {
    const outcome = error === null ? JSON.stringify(result) : `error: ${error}`;
    return cut(`Call ${i + 1}: ${name}(${JSON.stringify(args)}) -> ${outcome}`, ofCall - 1);
  });
  return [head, ...calls, tail].join("\n");
}

function cut(text: string, maxChars: number): string {
  const room = Math.max(20, Math.floor(maxChars));
  return text.length <= room ? text : `${text.slice(0, room - 4)} ...`;
}
