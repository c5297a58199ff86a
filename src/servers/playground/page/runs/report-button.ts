import { h } from "../../../../reports/page/shared/dom.js";
import { post } from "../request.js";
import { errorNotice } from "../tables.js";

export function reportButton(runId: string): HTMLElement {
  const failure = h("div");
  const click = () => openReport(runId).catch((error: Error) => failure.replaceChildren(errorNotice(error.message)));
  return h("div", {}, h("button", { type: "button", click }, "Open the report"), failure);
}

/** Opens the window before the request: pop-up blockers allow it only while the click is handled. */
async function openReport(runId: string): Promise<void> {
  const report = window.open("", "_blank");
  try {
    const { url } = await post<{ url: string }>(`/api/runs/${encodeURIComponent(runId)}/report`, {});
    if (report !== null) report.location.href = url;
  } catch (error) {
    report?.close();
    throw error;
  }
}
