import { minuteText } from "../../../../reports/page/shared/format.js";
import type { RunLineJson } from "../api-types.js";
import { type FilterField, filteredList } from "../filtered-list.js";
import { get } from "../request.js";
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

interface RunPageJson {
  readonly runs: readonly RunLineJson[];
  readonly has_more: boolean;
  readonly total_count: number;
}

export function runList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<RunLineJson>(page, query, {
    title: "Runs",
    section: "runs",
    fields: FIELDS,
    none: "No runs yet: art-e run makes one.",
    async load(filter, next) {
      const offset = Number(next ?? 0);
      const path = `/api/runs?${new URLSearchParams([...filter, ["offset", String(offset)]])}`;
      const { runs, has_more, total_count } = await get<RunPageJson>(path);
      return { lines: runs, next: has_more ? String(offset + runs.length) : null, total: total_count };
    },
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
