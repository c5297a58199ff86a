import { z } from "zod";
import type { ListedTask } from "../../app/suites/list-tasks.js";
import { EXIT } from "../../domain/errors.js";
import { table } from "../../reports/text/text-table.js";
import type { Command } from "../cli/command.js";
import { readFlags, text } from "../cli/read-flags.js";
import { SUITE_DIR, SUITE_SELECTION_FLAGS, suiteSelectionShape } from "../flags/suite-selection-flags.js";

const schema = z.object({ dir: text, ...suiteSelectionShape });

export const listTasksCommand: Command = {
  positionals: { dir: SUITE_DIR },
  flags: SUITE_SELECTION_FLAGS,
  async run(argv, { out }) {
    const { dir, ...flags } = readFlags("suite list", schema, argv);
    const { listTasks } = await import("../../app/suites/list-tasks.js");
    const list = listTasks(dir, flags);
    if (list.unreadable > 0)
      out.note(`Tasks that cannot be read: ${list.unreadable}. art-e suite check ${dir} says why.`);
    out.result(list, () => [taskTable(list.tasks), "", countLine(list.tasks)].join("\n"));
    return EXIT.done;
  },
};

function taskTable(tasks: readonly ListedTask[]): string {
  return table(
    ["id", "tool", "tags", "actions", "evaluation", "runnable"],
    tasks.map(({ id, tool, tags, actionNumber, evaluation, runnable }) => [
      id,
      tool,
      tags.join(","),
      actionNumber === null ? "-" : String(actionNumber),
      evaluation,
      runnable,
    ]),
  );
}

/** `44 tasks: 40 files, 4 script` */
function countLine(tasks: readonly ListedTask[]): string {
  const counts = new Map<string, number>();
  for (const { runnable } of tasks) counts.set(runnable, (counts.get(runnable) ?? 0) + 1);
  const parts = [...counts].map(([runnable, count]) => `${count} ${runnable}`).join(", ");
  return `${tasks.length} ${tasks.length === 1 ? "task" : "tasks"}${parts === "" ? "" : `: ${parts}`}`;
}
