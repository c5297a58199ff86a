// The list of runs, from which runs can be compared.
import { compact } from "../../platform/optional-values.js";
import { agentText, datasetText, failedAsWrong, UNJUDGED } from "../../reports/figure-text.js";
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
  scoreAxis,
  scoreText,
  untrustedInline,
} from "../dom.js";
import { track } from "../report/bar-list.js";
import { pageScope } from "./api.js";
import { type Column, clipped, idLink, offsetPage, searchedList, shortened, twoLines } from "./lists.js";
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
    none: noRuns(),
    search: "Search runs",
    load: (query, next) => offsetPage("/api/runs", query, next, ({ runs }: RunPageJson) => runs),
    columns: [canCompare ? selectColumn(selected, toggle) : NAME, ...COLUMNS],
    tools: compare,
    chart: scoreChart(),
    footnote: (runs) => (runs.some(({ score }) => isUnjudged(score?.scorer)) ? h("p.hint", UNJUDGED) : null),
  });
}

/** Says how to get a first run. */
export function noRuns(): Child[] {
  return [
    "No runs yet. Start one with ",
    h("code", "art-e run --agent email-search"),
    ", or try ",
    h("code", "art-e demo"),
    ".",
  ];
}

function compareLink(selected: readonly string[]): Child {
  if (selected.length < 2) return h("span.hint", "Select two or more runs to compare them.");
  const ids = encodeURIComponent(selected.join(","));
  return h("a.button", { href: `#compare/${ids}` }, `Compare ${counted(selected.length, "run")}`);
}

/** The names of the runs, with a box to select each for a comparison. */
function selectColumn(
  selected: readonly string[],
  toggle: (id: string, isSelected: boolean) => void,
): Column<RunLineJson> {
  return {
    ...NAME,
    cell(run) {
      const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name ?? run.id}` });
      box.checked = selected.includes(run.id);
      box.addEventListener("change", () => toggle(run.id, box.checked));
      return h("span.check", box, nameAndTags(run));
    },
  };
}

const NAME: Column<RunLineJson> = { title: "Run", sort: "run", cell: nameAndTags };

const COLUMNS: readonly Column<RunLineJson>[] = [
  { title: "Started", sort: "started", cell: started },
  { title: "Agent", sort: "agent", cell: agent, narrow: "new line" },
  { title: "Model", sort: "model", cell: ({ model }) => shortened(model) },
  { title: "Dataset", sort: "dataset", cell: (run) => clipped(datasetText(run)), narrow: "left out" },
  { title: "Score", sort: "score", cell: headline, narrow: "new line" },
  { title: "Tasks", sort: "tasks", cell: tasksDone, isNumeric: true },
  { title: "Failed", sort: "failed", cell: failures, isNumeric: true },
  { title: "Error", cell: ({ error }) => error && clipped(error), narrow: "left out", isExtra: true },
  { title: "Cost", sort: "cost", cell: cost, isNumeric: true },
  { title: "Tokens", sort: "tokens", cell: ({ tokens }) => count(tokens), isNumeric: true, isExtra: true },
  {
    title: "Total time",
    sort: "took",
    cell: ({ duration_ms: ms }) => durationText(ms),
    isNumeric: true,
    isExtra: true,
  },
];

/** The start of a run. Narrow screens leave it out if the id is shown, which contains it. */
function started({ name, started_at }: RunLineJson): Child {
  return h("span", { class: name === null ? "wide" : null }, minuteText(started_at));
}

function agent({ agent_id, perturbation }: RunLineJson): Child {
  return shortened(agentText(agent_id, perturbation));
}

/** The run's name, with its tags and note. */
function nameAndTags({ id, name, tags, note }: RunLineJson): Child {
  const link = idLink("runs", id, name ?? id);
  const about = compact([
    ...tags.map((tag) => h("a.chip", { href: `#runs?${new URLSearchParams({ q: `tag:${tag}` })}` }, tag)),
    note !== null && untrustedInline(note),
  ]);
  return about.length === 0 ? link : twoLines(link, about);
}

function tasksDone({ tasks, total_tasks, status }: RunLineJson): Child {
  const done = `${count(tasks)} of ${count(total_tasks)}`;
  return status === "completed" ? done : twoLines(done, status);
}

/** The known cost, with the judge's part. */
function cost({ cost_usd, judge_cost_usd, total_cost_usd }: RunLineJson): Child {
  if (judge_cost_usd === 0) return costText(cost_usd);
  const part =
    total_cost_usd === null && cost_usd === null
      ? "agent unknown"
      : `judge ${judge_cost_usd === null ? "unknown" : costText(judge_cost_usd)}`;
  return twoLines(costText(total_cost_usd ?? cost_usd ?? judge_cost_usd), h("span.wide", part));
}

/** The score with its interval as a bar, and the figures that qualify it. */
function headline({ score, completed_tasks }: RunLineJson): Child {
  if (score === null) return "–";
  const interval = intervalText(score);
  const withFailed = failedAsWrong(score);
  const notes: readonly Child[] = compact([
    score.label,
    score.n < completed_tasks && `n ${count(score.n)}`,
    withFailed !== null && [
      `${scoreText(withFailed)} with ${count(score.overAll.n - score.n)} failed`,
      h("span.roomy", " as wrong"),
    ],
    score.passHatK !== undefined && `pass^${score.passHatK.k} ${scoreText(score.passHatK.value)}`,
  ]);
  const figures = h(
    "span.score-line",
    h("b", `${scoreText(score.value)}${isUnjudged(score.scorer) ? "*" : ""}`),
    h("span", { title: `95% interval: ${interval}` }, track(score, scoreAxis([score]), 0)),
    h("span.roomy", interval),
  );
  return twoLines(
    figures,
    notes.map((note, i) => [i > 0 && "; ", note]),
  );
}

/** The number of failed tasks. Narrow screens show it once. */
function failures({ failed_tasks, error, score }: RunLineJson): Child {
  if (failed_tasks === 0) return h("span.wide", "0");
  const isShown = score !== null && failedAsWrong(score) !== null;
  const number = h("b.bad", { title: error }, count(failed_tasks));
  return h("span", { class: isShown ? "wide" : null }, number, h("span.narrow", " failed"));
}
