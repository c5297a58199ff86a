import type { EvaluatedTrace } from "../domain/evals/evaluated-trace.js";
import { askedOf } from "../domain/runs/chat.js";
import type { ToolCallRecord } from "../domain/runs/trace.js";

/** What one tool result may take of a digest. */
const SHARE_OF_A_RESULT = 0.25;
/** Where calls have less room than this, those in the middle are left out. */
const MIN_OF_A_CALL = 80;

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
  const room = Math.max(MIN_OF_A_CALL, maxChars - head.length - tail.length - 2);
  const shown = Math.min(toolCalls.length, Math.floor(room / MIN_OF_A_CALL));
  const ofCall = Math.min(room / Math.max(1, shown), maxChars * SHARE_OF_A_RESULT) - 1;
  const lineOf = ({ name, arguments: args, result, error }: ToolCallRecord, i: number) => {
    const outcome = error === null ? JSON.stringify(result) : `error: ${error}`;
    return cut(`Call ${i + 1}: ${name}(${JSON.stringify(args)}) -> ${outcome}`, ofCall);
  };
  const first = Math.ceil(shown / 2);
  const calls = toolCalls.flatMap((call, i) =>
    i < first || i >= toolCalls.length - (shown - first) ? [lineOf(call, i)] : [],
  );
  return [head, ...calls, tail].join("\n");
}

function cut(text: string, maxChars: number): string {
  const room = Math.max(20, Math.floor(maxChars));
  return text.length <= room ? text : `${text.slice(0, room - 4)} ...`;
}
