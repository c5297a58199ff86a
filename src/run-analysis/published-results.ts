import type { RunHead } from "../domain/scores/comparison.js";
import { isScored } from "../domain/scores/metric-name.js";
import type { PublishedResults } from "../domain/scores/published-result.js";

/** As OpenPipe published them with ART-E; without intervals or denominators. */
export const PUBLISHED: PublishedResults = {
  figures: [
    { model: "ART-E 14B", accuracy: 0.96, secondsPerTask: 1.1, usdPerThousand: 0.85 },
    { model: "o3", accuracy: 0.9, secondsPerTask: 5.6, usdPerThousand: 55.19 },
    { model: "o4-mini", accuracy: 0.88, secondsPerTask: 3.4, usdPerThousand: 7.88 },
    { model: "Gemini 2.5 Pro", accuracy: 0.76, secondsPerTask: null, usdPerThousand: null },
    { model: "GPT-4.1", accuracy: 0.71, secondsPerTask: null, usdPerThousand: null },
  ],
  protocol:
    "agent art-e over the first 100 test questions with one gold mail each, seven known bad ones left out; mail through ART's import filter, no cutoff; gemini-2.0-flash as judge, which says True or False; no intervals",
};

const QUESTIONS = 100;
const JUDGE = "gemini-2.0-flash";

/**
 * In words, how a run's protocol differs from that of the published results. `--protocol art` sets all that a run can.
 */
export function protocolDifferences({ settings, split, agentId, scores, dataset }: RunHead): string[] {
  const selection = isRecord(settings.selection) ? settings.selection : {};
  return [
    ...judgeDifferences(settings.judge, isScored("judgeCorrect", scores)),
    agentId !== "art-e" && `agent ${agentId}, not art-e`,
    split !== "test" && `the ${split} split`,
    dataset.revision === null && `questions of the file ${dataset.source}, which may be others`,
    selection.maxSources !== 1 && "questions with several gold mails too (--max-sources 1 leaves them out)",
    selection.excludeKnownBad !== true && "the known bad questions too (--exclude-known-bad leaves them out)",
    isOtherSelection(selection) &&
      `not the first ${QUESTIONS} questions (-l ${QUESTIONS}, in their order, and nothing else chosen)`,
    settings.epochs !== 1 && `each question asked ${settings.epochs} times`,
    settings.mailFilter !== "art" && "mail not imported through ART's filter (import --filter art)",
    settings.cutoff !== "off" && "mail after the question's date is invisible (--cutoff off shows it)",
    settings.maxTurns !== 10 && `${settings.maxTurns} turns, not 10`,
    settings.maxTokens !== 2048 && `${settings.maxTokens} tokens a reply, not 2048`,
    typeof settings.temperature === "number" && `temperature ${settings.temperature}, not the model's own`,
  ].filter((difference) => difference !== false);
}

function judgeDifferences(judge: unknown, isJudged: boolean): (string | false)[] {
  if (!isJudged || !isRecord(judge)) return ["no judge: its accuracy is exact match, which is far stricter"];
  const { model, protocol, votes } = judge;
  return [
    protocol !== "art" && "a judge with four verdicts, not True or False (--judge art)",
    typeof model === "string" && !model.endsWith(`/${JUDGE}`) && `judge ${model}, not ${JUDGE}`,
    typeof votes === "number" && votes > 1 && `${votes} votes of the judge, not one`,
  ];
}

function isOtherSelection({ limit, ids, inbox, shuffle, minRealism }: Record<string, unknown>): boolean {
  return limit !== QUESTIONS || shuffle === true || [ids, inbox, minRealism].some((chosen) => chosen !== undefined);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
