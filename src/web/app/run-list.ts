import { datasetText, failedAsWrongText, runCostText, UNJUDGED } from "../../reports/wording.js";
import type { RunLineJson, RunPageJson } from "../../server/response-shapes.js";
import { count } from "../../text/format.js";
import { isUnjudged, rankingValue } from "../../traces/headline-score.js";
import {
  type Child,
  costText,
  durationText,
  h,
  intervalText,
  minuteText,
  replaceChildren,
  scoreText,
  untrustedInline,
} from "../dom.js";
import { get, isRunPage, pageScope } from "./api.js";
import { type Column, clipped, type FilterField, filteredList, idLink, offsetPage, twoLines } from "./lists.js";
import { agentFilter } from "./registry.js";

const FIELDS: readonly FilterField[] = [
  { name: "model", label: "Model contains", kind: "text" },
  { name: "dataset", label: "Dataset contains", kind: "text" },
  {
    name: "status",
    label: "Status",
    kind: [
      ["running", "running"],
      ["completed", "completed"],
      ["interrupted", "interrupted"],
    ],
  },
  { name: "tag", label: "Tag", kind: "text" },
  { name: "text", label: "Name or note contains", kind: "text" },
  { name: "since", label: "From (date, UTC)", kind: "date" },
  { name: "before", label: "Before (date, UTC)", kind: "date" },
];

/** Lists the runs. Selected runs can be compared. */
export async function runList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  const { runs } = await get<RunPageJson>("/api/runs?limit=200");
  const agents = isRunPage ? [] : [await agentFilter(runs.map(({ agent_id }) => agent_id))];
  const selected: string[] = [];
  const compare = h("span.compare");
  const showCompare = () => runs.length > 1 && replaceChildren(compare, compareLink(selected));
  const toggle = (id: string, isSelected: boolean) => {
    if (isSelected) selected.push(id);
    else selected.splice(selected.indexOf(id), 1);
    showCompare();
  };
  showCompare();
  return filteredList<RunLineJson>(page, query, {
    title: "Runs",
    section: "runs",
    fields: [...agents, ...FIELDS],
    none: "No runs yet. Start one with art-e run.",
    search: "Search runs",
    load: (filter, next) => offsetPage("/api/runs", filter, next, ({ runs }: RunPageJson) => runs),
    columns: pageScope.sections.has("compare") ? [selectColumn(selected, toggle), ...COLUMNS] : COLUMNS,
    tools: compare,
    footnote: (runs) => (runs.some(({ score }) => isUnjudged(score?.scorer)) ? h("p.hint", UNJUDGED) : null),
  });
}

function compareLink(selected: readonly string[]): Child {
  if (!pageScope.sections.has("compare")) return null;
  if (selected.length < 2) return h("span.hint", "Select two or more runs to compare them.");
  const ids = encodeURIComponent(selected.join(","));
  return h("a.button", { href: `#compare/${ids}` }, `Compare ${selected.length} runs`);
}

function selectColumn(
  selected: readonly string[],
  toggle: (id: string, isSelected: boolean) => void,
): Column<RunLineJson> {
  return {
    title: "Compare",
    cell({ id, name }) {
      const box = h("input", { type: "checkbox", "aria-label": `Compare ${name ?? id}` });
      box.checked = selected.includes(id);
      box.addEventListener("change", () => toggle(id, box.checked));
      return box;
    },
  };
}

const COLUMNS: readonly Column<RunLineJson>[] = [
  { title: "Run", sort: ({ id, name }) => name ?? id, cell: ({ id, name }) => idLink("runs", id, name ?? id) },
  { title: "Agent", sort: ({ agent_id }) => agent_id },
  { title: "Model", sort: ({ model }) => model, cell: ({ model }) => untrustedInline(model) },
  { title: "Dataset", sort: datasetText, cell: (run) => clipped(datasetText(run)) },
  { title: "Score", sort: ({ score }) => (score === null ? null : rankingValue(score)), cell: headline },
  { title: "Tasks", sort: ({ tasks }) => tasks, cell: tasksDone },
  { title: "Failed", sort: ({ failed_tasks }) => failed_tasks, cell: failures },
  { title: "Cost", sort: ({ total_cost_usd }) => total_cost_usd, cell: cost },
  { title: "Tokens", sort: ({ tokens }) => tokens, cell: ({ tokens }) => count(tokens) },
  { title: "Duration", sort: ({ duration_ms: ms }) => ms, cell: ({ duration_ms: ms }) => durationText(ms) },
  { title: "Started", sort: ({ started_at }) => started_at, cell: ({ started_at }) => minuteText(started_at) },
];

function tasksDone({ tasks, total_tasks, status }: RunLineJson): Child {
  return twoLines(`${count(tasks)} of ${count(total_tasks)}`, status);
}

function cost({ cost_usd: costUsd, judge_cost_usd: judgeCostUsd }: RunLineJson): Child {
  return runCostText({ costUsd, judgeCostUsd }, costText);
}

function headline({ score, tasks }: RunLineJson): Child {
  if (score === null) return "–";
  const star = isUnjudged(score.scorer) ? "*" : "";
  const [value, interval] = [`${scoreText(score.value)}${star}`, intervalText(score)];
  const scored = score.n < tasks ? `, n ${count(score.n)}` : "";
  return twoLines(value, h("span.lines", score.label, h("br"), `${interval}${scored}${failedAsWrongText(score)}`));
}

/** The number of failed tasks, and their most frequent error. */
function failures({ failed_tasks, error }: RunLineJson): Child {
  if (failed_tasks === 0) return "0";
  return h("span.failures", h("b.bad", count(failed_tasks)), " ", clipped(error ?? ""));
}
