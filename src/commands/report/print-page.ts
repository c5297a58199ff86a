import type { WrittenPage } from "../../app/results/write-page.js";
import { reportFigures } from "../../reports/files/report-figures.js";
import { count, megabytes } from "../../reports/text/format-number.js";
import type { CommandContext } from "../cli/command.js";

/** Prints where the page and its conversations are. */
export function printPage({ head, bytes }: WrittenPage, output: string | undefined, context: CommandContext): void {
  if (context.settings.json) {
    const { scores: _, ...figures } = reportFigures(head);
    context.out.result({ ...figures, traces: head.traces, output, bytes }, () => "");
    return;
  }
  const tasks = head.runs.reduce((sum, run) => sum + run.tasks, 0);
  const file = output === undefined ? "" : ` to ${output} (${megabytes(bytes)})`;
  const { traces } = head;
  const isWithout = head.runs.every(({ hasConversations }) => !hasConversations);
  const where = isWithout ? "results files hold no conversations." : WHERE[traces.kind](folderOf(traces));
  context.note(`${count(tasks)} tasks written${file}; ${where}`);
}

function folderOf(traces: WrittenPage["head"]["traces"]): string {
  return traces.kind === "folder" ? traces.folder : "";
}

const WHERE = {
  embed: () => "their conversations are in the page.",
  folder: (folder: string) => `their conversations are in the folder ${folder} beside it: keep the two together.`,
  none: () => "without their conversations: art-e show RUN/TASK shows them.",
} as const;
