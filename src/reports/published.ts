import type { RunHead } from "../domain/comparison.js";

/** A published ART-E result. Latency and cost are null where none was published. */
export interface PublishedFigure {
  readonly model: string;
  readonly accuracy: number;
  readonly secondsPerTask: number | null;
  readonly usdPerThousand: number | null;
}

/** As OpenPipe published them with ART-E; without intervals or denominators. */
export const PUBLISHED: readonly PublishedFigure[] = [
  { model: "ART-E 14B", accuracy: 0.96, secondsPerTask: 1.1, usdPerThousand: 0.85 },
  { model: "o3", accuracy: 0.9, secondsPerTask: 5.6, usdPerThousand: 55.19 },
  { model: "o4-mini", accuracy: 0.88, secondsPerTask: 3.4, usdPerThousand: 7.88 },
  { model: "Gemini 2.5 Pro", accuracy: 0.76, secondsPerTask: null, usdPerThousand: null },
  { model: "GPT-4.1", accuracy: 0.71, secondsPerTask: null, usdPerThousand: null },
];

/** What holds for every published figure and for none of ours. */
export const PUBLISHED_PROTOCOL =
  "a small model as judge that says True or False, no interval, 8 test inboxes, seven bad questions left out, one gold mail each";

/** How a run was made otherwise than the published ones, in words. */
export function protocolDifferences({ settings, split, agentId, scores }: RunHead): string[] {
  const selection = isRecord(settings.selection) ? settings.selection : {};
  return [
    (scores.judgeCorrect?.n ?? 0) === 0 && "no judge: its accuracy is exact match, which is far stricter",
    agentId !== "art-e" && `agent ${agentId}, not art-e`,
    split !== "test" && `the ${split} split`,
    selection.maxSources !== 1 && "questions with several gold mails too (--max-sources 1 leaves them out)",
    selection.excludeKnownBad !== true && "the known bad questions too (--exclude-known-bad leaves them out)",
    settings.cutoff !== "off" && "mail of after the question's day is invisible (--cutoff off shows it)",
    settings.maxTurns !== 10 && `${settings.maxTurns} turns, not 10`,
    settings.maxTokens !== 2048 && `${settings.maxTokens} tokens a reply, not 2048`,
    (selection.limit !== 0 || selection.ids !== undefined || selection.inbox !== undefined) &&
      "a part of the questions",
  ].filter((difference) => difference !== false);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
