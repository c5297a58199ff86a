import type { TaskResult } from "../../domain/runs/benchmark-result.js";
import { modelAndToolTimeOf } from "../../domain/runs/task-times.js";
import type { QuestionRow, ReportTasks, ScoreMeaning, TaskRow } from "../page/report-data.js";
import type { SuiteTaskRow } from "../page/report-suite.js";
import { stageOf } from "./classify-task.js";

/** The tasks of a report as table rows; a question that several runs answered is stored once. */
export class TaskRows {
  private readonly questions: QuestionRow[] = [];
  private readonly indexes = new Map<string, number>();
  private readonly rows: TaskRow[][] = [];

  constructor(private readonly meanings: readonly ScoreMeaning[]) {}

  add(run: number, result: TaskResult, toolCalls: number | null): void {
    const row: TaskRow = [
      this.questionOf(result),
      result.epoch,
      result.agentAnswer,
      result.ending,
      result.turns,
      modelAndToolTimeOf(result) ?? result.executionTimeMs,
      result.costUsd,
      stageOf(result),
      this.meanings.map(({ name }) => roundOff(result.scores[name] ?? null)),
      result.error ?? null,
      result.suite === undefined ? null : [result.suite.state, result.suite.reason, toolCalls],
    ];
    while (this.rows.length <= run) this.rows.push([]);
    this.rows[run]?.push(row);
  }

  all(): ReportTasks {
    return { questions: this.questions, rows: this.rows };
  }

  private questionOf(result: TaskResult): number {
    const { taskId, question, groundTruth, inbox, queryDate, goldSources } = result;
    const realism = roundOff(result.howRealistic) ?? 0;
    const facts = suiteFacts(result);
    const row: QuestionRow = [taskId, question, groundTruth, inbox, queryDate ?? "", realism, goldSources, facts];
    const key = JSON.stringify(row);
    const known = this.indexes.get(key);
    if (known !== undefined) return known;
    this.indexes.set(key, this.questions.length);
    return this.questions.push(row) - 1;
  }
}

function suiteFacts({ suite }: TaskResult): SuiteTaskRow | null {
  if (suite === undefined) return null;
  const { tool, snapshot, tags, relatedApps, actionNumber, counterpart } = suite;
  return [tool, snapshot, tags, relatedApps, actionNumber, counterpart];
}

/** To four digits, which is more than the table shows. */
function roundOff(value: number | null): number | null {
  return value === null ? null : Math.round(value * 10_000) / 10_000;
}
