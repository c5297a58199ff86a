import { oursOver, startModelServer, writeQuestions } from "./harness.js";
import { median } from "./quantiles.js";

/**
 * The cost for a run of sending traces meanwhile: pairs of runs with and without it, because the machine's speed
 * varies.
 */

export interface LiveOtlpBench {
  readonly tasks: number;
  readonly atOnce: number;
  readonly latencyMs: number;
  readonly pairs: number;
  /** Tasks per second. */
  readonly without: number;
  readonly sending: number;
  /** Median of the pairs' ratios. 1 means no loss. */
  readonly ratio: number;
}

interface Size {
  readonly tasks: number;
  readonly atOnce: number;
  readonly latencyMs: number;
  readonly pairs: number;
}

export async function benchLiveOtlp(file: string, questions: string, size: Size): Promise<LiveOtlpBench> {
  const { tasks, atOnce, latencyMs, pairs } = size;
  const path = writeQuestions(file, questions, tasks);
  const model = await startModelServer("--latency", String(latencyMs));
  // Also in a separate process: it receives spans like requests for replies.
  const collector = await startModelServer();
  try {
    const flags = { without: [], sending: ["--otlp-endpoint", collector.url] };
    const rates: Record<keyof typeof flags, number[]> = { without: [], sending: [] };
    for (let pair = 0; pair < pairs; pair++) {
      // The two take turns in going first.
      const order = pair % 2 === 0 ? (["without", "sending"] as const) : (["sending", "without"] as const);
      for (const kind of order) {
        const { rate } = await oursOver(file, path, `${model.url}/v1`, atOnce, flags[kind]);
        rates[kind].push(rate);
      }
    }
    const ratios = rates.sending.map((rate, i) => rate / (rates.without[i] ?? Number.NaN));
    return { ...size, without: median(rates.without), sending: median(rates.sending), ratio: median(ratios) };
  } finally {
    model.stop();
    collector.stop();
  }
}
