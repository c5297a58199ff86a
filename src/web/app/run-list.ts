// The list of runs, from which runs can be compared.
import { compact } from "../../platform/optional-values.js";
import { datasetText, failedAsWrongText, runCostText, UNJUDGED } from "../../reports/figure-text.js";
import type { RunLineJson, RunPageJson } from "../../server/response-shapes.js";
import { count, counted } from "../../text/format.js";
import { isUnjudged } from "../../traces/headline-score.js";
import { RUN_FIELDS } from "../../traces/list-fields.js";
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
import { pageScope } from "./api.js";
import { type Column, clipped, idLink, offsetPage, searchedList, twoLines } from "./lists.js";
import { scoreChart } from "./score-chart.js";

/** Lists the runs. Selected runs can be compared. */
export async function runList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const canCompare = pageScope.sections.has("compare");
  const selected: string[] = [];
  const compare = h("span.compare");
  const showCompare = () => canCompare && replaceChildren(compare, compareLink(selected));
  const toggle = (id: string, isSelected: boolean) => {
    if (isSelected) selected.push(id);
    else selected.splice(selected.indexOf(id), 1);
    showCompare();
  };
  showCompare();
  return searchedList<RunLineJson>(page, query, signal, {
    title: "Runs",
    section: "runs",
    fields: RUN_FIELDS,
    none: [
      "No runs yet. Start one with ",
      h("code", "art-e run --agent email-search"),
      ", or try ",
      h("code", "art-e demo"),
      ".",
    ],
    search: "Search runs",
    load: (query, next) => offsetPage("/api/runs", query, next, ({ runs }: RunPageJson) => runs),
    columns: canCompare ? [selectColumn(selected, toggle), ...COLUMNS] : COLUMNS,
    tools: compare,
    chart: scoreChart(),
    footnote: (runs) => (runs.some(({ score }) => isUnjudged(score?.scorer)) ? h("p.hint", UNJUDGED) : null),
  });
}

function compareLink(selected: readonly string[]): Child {
  if (selected.length < 2) return h("span.hint", "Select two or more runs to compare them.");
  const ids = encodeURIComponent(selected.join(","));
  return h("a.button", { href: `#compare/${ids}` }, `Compare ${counted(selected.length, "run")}`);
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
  { title: "Run", sort: "run", cell: nameAndTags },
  { title: "Agent", sort: "agent", cell: ({ agent_id }) => untrustedInline(agent_id) },
  { title: "Model", sort: "model", cell: ({ model }) => untrustedInline(model) },
  { title: "Dataset", sort: "dataset", cell: (run) => clipped(datasetText(run)) },
  { title: "Score", sort: "score", cell: headline, isNumeric: true },
  { title: "Tasks", sort: "tasks", cell: tasksDone, isNumeric: true },
  { title: "Failed", sort: "failed", cell: failures },
  { title: "Cost", sort: "cost", cell: cost, isNumeric: true },
  { title: "Tokens", sort: "tokens", cell: ({ tokens }) => count(tokens), isNumeric: true },
  { title: "Total time", sort: "took", cell: ({ duration_ms: ms }) => durationText(ms), isNumeric: true },
  { title: "Started", sort: "started", cell: ({ started_at }) => minuteText(started_at) },
];

/** The run's name, with its tags and note below. */
function nameAndTags({ id, name, tags, note }: RunLineJson): Child {
  const link = idLink("runs", id, name ?? id);
  const about = compact([
    ...tags.map((tag) => h("a.chip", { href: `#runs?${new URLSearchParams({ q: `tag:${tag}` })}` }, tag)),
    note !== null && clipped(note),
  ]);
  return about.length === 0 ? link : twoLines(link, about);
}

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
