import { oursOver, startModelServer, writeQuestions } from "./harness.js";
import { median } from "./quantiles.js";

/** What sending traces while a run goes on costs the run: pairs of runs with and without it, as the machine changes. */

export interface LiveOtlpBench {
  readonly tasks: number;
  readonly atOnce: number;
  readonly latencyMs: number;
  readonly pairs: number;
  /** Tasks a second. */
  readonly without: number;
  readonly sending: number;
  /** Median of the ratios of pairs: 1 is no loss. */
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
  // In a process of its own too: it takes spans as it takes requests for replies.
  const collector = await startModelServer();
  try {
    const flags = { without: [], sending: ["--otlp-endpoint", collector.url] };
    const rates: Record<keyof typeof flags, number[]> = { without: [], sending: [] };
    for (let pair = 0; pair < pairs; pair++) {
      // Each goes first in turn.
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
