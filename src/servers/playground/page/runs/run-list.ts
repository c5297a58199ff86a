import { minuteText } from "../../../../reports/page/shared/format.js";
import type { RunLineJson } from "../api-types.js";
import { type FilterField, filteredList, type OffsetPageJson, offsetPage } from "../filtered-list.js";
import { idLink, table } from "../tables.js";

const FIELDS: readonly FilterField[] = [
  { name: "agent_id", label: "Agent (its id)", kind: "text" },
  { name: "model", label: "Model (part of it)", kind: "text" },
  { name: "dataset", label: "Dataset (part of it)", kind: "text" },
  {
    name: "status",
    label: "Status",
    kind: [
      ["running", "running"],
      ["completed", "completed"],
      ["interrupted", "stopped"],
    ],
  },
  { name: "tag", label: "Tag", kind: "text" },
  { name: "text", label: "Name or note (part of it)", kind: "text" },
  { name: "since", label: "From (day, UTC)", kind: "date" },
  { name: "before", label: "Before (day, UTC)", kind: "date" },
];

interface RunPageJson extends OffsetPageJson {
  readonly runs: readonly RunLineJson[];
}

export function runList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<RunLineJson>(page, query, {
    title: "Runs",
    section: "runs",
    fields: FIELDS,
    none: "No runs yet: art-e run makes one.",
    load: (filter, next) => offsetPage("/api/runs", filter, next, ({ runs }: RunPageJson) => runs),
    table: runTable,
  });
}

function runTable(runs: readonly RunLineJson[]): HTMLElement {
  return table(
    "Runs",
    ["Run", "Agent", "Model", "Tasks", "Status", "Started"],
    runs.map((run) => [
      idLink("runs", run.id, run.name ?? run.id),
      run.agent_id,
      run.model,
      `${run.tasks} of ${run.total_tasks}`,
      run.status === "interrupted" ? "stopped" : run.status,
      minuteText(run.started_at),
    ]),
  );
}
