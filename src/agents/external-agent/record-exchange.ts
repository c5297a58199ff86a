// Records the work of an agent whose model calls are not visible as one turn.
import { chargeOf } from "../../models/call-cost.js";
import type { Usage } from "../../models/usage.js";
import type { Transcript } from "../rollout.js";

interface Exchange {
  /** The answer, or an empty text. */
  readonly answer: string;
  /** Null if unknown. */
  readonly usage: Usage | null;
  /** US dollars as reported by the agent. If undefined, computed from the usage. */
  readonly costUsd: number | undefined;
}

/** How the tokens and costs that an agent reports are charged. */
export interface Charging {
  readonly priceOf: (usage: Usage) => number | null;
  /** Receives notes about an answer, such as implausible costs. */
  readonly noteAll: (notes: readonly string[]) => void;
}

/** Start of the exchange: ISO 8601, and milliseconds on the monotonic clock. */
interface Beginning {
  readonly startedAt: string;
  readonly started: number;
}

/**
 * Adds the answer and one turn for the entire work of an agent whose model calls are not visible. The time of its tool
 * calls does not count as model time.
 */
export function recordExchange(
  transcript: Transcript,
  { answer, usage, costUsd }: Exchange,
  { startedAt, started }: Beginning,
  { priceOf, noteAll }: Charging,
): void {
  const { notes, ...charge } = chargeOf({ usage, costUsd }, priceOf);
  noteAll(notes);
  if (answer !== "") transcript.messages.push({ role: "assistant", content: answer, toolCalls: [] });
  const toolMs = transcript.toolCalls.reduce((sum, { durationMs }) => sum + durationMs, 0);
  transcript.turns.push({
    startedAt,
    latencyMs: Math.max(0, performance.now() - started - toolMs),
    finishReason: "stop",
    rawFinishReason: "",
    ...charge,
    retries: [],
    cached: false,
  });
}
