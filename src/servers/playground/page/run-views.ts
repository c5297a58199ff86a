import { h, replaceChildren, untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText, scoreText } from "../../../reports/page/shared/format.js";
import { duration } from "../../../reports/text/format-number.js";
import type { ResultPageJson, RunJson, RunLineJson } from "./api-types.js";
import { get, post } from "./request.js";
import { factList, idLink, table } from "./tables.js";

export async function runList(page: HTMLElement): Promise<void> {
  const { runs } = await get<{ runs: RunLineJson[] }>("/api/runs");
  page.append(
    h("h2", {}, "Runs"),
    runs.length === 0
      ? h("p", { class: "notice" }, "No runs yet: art-e run -a AGENT makes one.")
      : table(
          "Runs",
          ["Run", "Agent", "Model", "Tasks", "Status", "Started"],
          runs.map((run) => [
            idLink("runs", run.id),
            run.agent_id,
            run.model,
            `${run.tasks} of ${run.total_tasks}`,
            run.status,
            minuteText(run.started_at),
          ]),
        ),
  );
}

export async function runView(page: HTMLElement, id: string): Promise<void> {
  const path = `/api/runs/${encodeURIComponent(id)}`;
  const run = await get<RunJson>(path);
  const results = await resultList(path);
  page.append(
    h("h2", {}, "Run"),
    h("p", { class: "hint mono" }, run.runId),
    factList(factsOf(run)),
    h("button", { type: "button", click: () => openReport(path) }, "Open the report"),
    " ",
    idLink("label", run.runId, "Label its traces"),
    h("h3", {}, "Results"),
    ...results,
  );
}

function factsOf(run: RunJson): [string, string][] {
  const { totalTasks, split, completedTasks, failedTasks } = run;
  return [
    ["Agent", `${run.agentId} (${run.model})`],
    ["Tasks", `${totalTasks} of the ${split} split: ${completedTasks} completed, ${failedTasks} failed`],
    ["Exact match", scoreText(run.exactMatchAccuracy)],
    ["Semantic score", scoreText(run.avgSemanticScore)],
    ["Sources correct", scoreText(run.sourcesCorrect)],
    ["Gold mail found", scoreText(run.foundGold)],
    ["Cost", run.costUsd === null ? "price not known" : `$${run.costUsd.toFixed(2)}`],
  ];
}

/** The results, 100 at a time, and the button that loads more. */
async function resultList(path: string): Promise<HTMLElement[]> {
  const results: ResultPageJson["taskResults"][number][] = [];
  const body = h("div");
  const more = h("button", { type: "button", click: () => loadPage() }, "Show more");
  async function loadPage(): Promise<void> {
    const next = await get<ResultPageJson>(`${path}/results?limit=100&offset=${results.length}`);
    results.push(...next.taskResults);
    more.hidden = !next.has_more;
    replaceChildren(
      body,
      h("p", { class: "hint" }, `${results.length} of ${next.total_count}`),
      table(
        "Results",
        ["Task", "Question", "Answer", "Right answer", "Score", "Ending", "Took"],
        results.map((result) => [
          idLink("trace", result.traceId, String(result.taskId)),
          untrustedText(result.question, "clip", "span"),
          untrustedText(result.agentAnswer || "–", "clip", "span"),
          untrustedText(result.groundTruth, "clip", "span"),
          scoreText(result.semanticScore),
          result.ending,
          duration(result.executionTimeMs),
        ]),
      ),
    );
  }
  await loadPage();
  return [body, more];
}

/** Opens the window before the request: pop-up blockers allow it only while the click is handled. */
async function openReport(path: string): Promise<void> {
  const report = window.open("", "_blank");
  try {
    const { url } = await post<{ url: string }>(`${path}/report`, {});
    if (report !== null) report.location.href = url;
  } catch (error) {
    report?.close();
    throw error;
  }
}
