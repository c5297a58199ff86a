import type { ScoreRecord } from "../../otlp/score-record.js";
import type { ExportedTrace } from "../trace-format.js";
import { otlpTraceId } from "./span-ids.js";

/** The scores of a trace that could be told. */
export function scoreRecords(trace: ExportedTrace, content: boolean): ScoreRecord[] {
  const judged = "judge" in trace && trace.judge !== null;
  return Object.entries(trace.scores).flatMap(([name, { value, explanation }]) =>
    value === null
      ? []
      : [
          {
            traceId: otlpTraceId(trace.traceId),
            name,
            value,
            explanation: content ? (explanation ?? null) : null,
            byModel: judged && JUDGED.has(name),
          },
        ],
  );
}

/** Scorers whose figure is a model's verdict. */
const JUDGED: ReadonlySet<string> = new Set(["judgeCorrect", "judgeScore"]);
