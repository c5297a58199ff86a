import { h } from "../../../../reports/page/shared/dom.js";
import type { RunLineJson } from "../api-types.js";
import { get, post } from "../request.js";
import { errorNotice } from "../tables.js";

/** Opens the report of a run, alone or against another one. */
export function reportButton(runId: string): HTMLElement {
  const failure = h("div");
  const fail = (error: Error) => failure.replaceChildren(errorNotice(error.message));
  const baseline = h("select", { "aria-label": "Compare with" }, h("option", { value: "" }, "not compared"));
  listOthers(runId, baseline).catch(fail);
  const click = () => openReport(runId, baseline.value).catch(fail);
  return h("div", {}, h("button", { type: "button", click }, "Open the report"), " ", baseline, failure);
}

/** Runs with a completed task, newest first. */
async function listOthers(runId: string, list: HTMLSelectElement): Promise<void> {
  const { runs } = await get<{ runs: RunLineJson[] }>("/api/runs");
  for (const run of runs) {
    if (run.id === runId || run.completed_tasks === 0) continue;
    const label = `compared with ${run.name ?? run.id}: ${run.agent_id}, ${run.model}`;
    list.append(h("option", { value: run.id }, label));
  }
}

/** Opens the window before the request: pop-up blockers allow it only while the click is handled. */
async function openReport(runId: string, baseline: string): Promise<void> {
  const report = window.open("", "_blank");
  const path = (id: string) => `/api/runs/${encodeURIComponent(id)}/report`;
  try {
    const { url } = await post<{ url: string }>(
      baseline === "" ? path(runId) : `${path(baseline)}?with=${encodeURIComponent(runId)}`,
      {},
    );
    if (report !== null) report.location.href = url;
  } catch (error) {
    report?.close();
    throw error;
  }
}
