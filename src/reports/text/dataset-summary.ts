import type { QuestionStatistics } from "../../domain/tasks/question-statistics.js";
import { count, oneDecimal, share } from "./format-number.js";
import { summaryBox } from "./summary-box.js";

/** The statistics of a dataset, in the lines of the published runner and two more. */
export function datasetSummary(statistics: QuestionStatistics): string {
  const { averageMessageIds, firstDate, lastDate } = statistics;
  return summaryBox(`ART-E Dataset Statistics (${statistics.split} split)`, [
    ["Total tasks", count(statistics.totalTasks)],
    ["Unique inboxes", count(statistics.uniqueInboxes)],
    ["Avg realistic score", share(statistics.averageRealism)],
    ["Avg message IDs per task", oneDecimal(averageMessageIds)],
    ["Dates of the questions", firstDate === null ? "-" : `${firstDate} to ${lastDate}`],
    ["Realistic score", histogram(statistics)],
  ]);
}

function histogram({ realismHistogram }: QuestionStatistics): string {
  const filled = realismHistogram.filter((bin) => bin.count > 0);
  return filled.map(({ from, to, count: tasks }) => `${from}-${to}: ${count(tasks)}`).join(", ") || "-";
}
