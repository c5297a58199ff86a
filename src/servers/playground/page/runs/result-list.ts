import { h, replaceChildren, untrustedText } from "../../../../reports/page/shared/dom.js";
import { scoreText } from "../../../../reports/page/shared/format.js";
import { duration } from "../../../../reports/text/format-number.js";
import type { ResultPageJson } from "../api-types.js";
import { get } from "../request.js";
import { errorNotice, idLink, table } from "../tables.js";

/** All results of a run, 100 at a time, once it is opened. */
export function resultList(runId: string): HTMLElement {
  const path = `/api/runs/${encodeURIComponent(runId)}/results`;
  const results: ResultPageJson["taskResults"][number][] = [];
  const body = h("div");
  const failure = h("div");
  const more = h("button", { type: "button", hidden: true, click: () => loadPage() }, "Show more");
  async function loadPage(): Promise<void> {
    try {
      const next = await get<ResultPageJson>(`${path}?limit=100&offset=${results.length}`);
      results.push(...next.taskResults);
      more.hidden = !next.has_more;
      failure.replaceChildren();
      replaceChildren(
        body,
        h("p", { class: "hint" }, `${results.length} of ${next.total_count}`),
        resultTable(results),
      );
    } catch (error) {
      failure.replaceChildren(errorNotice((error as Error).message));
    }
  }
  const element = h("details", { class: "all-results" }, h("summary", {}, "All results"), body, failure, more);
  element.addEventListener("toggle", () => {
    // Opened again, the list is read anew: a run that goes on has more by then.
    if (!element.open) return;
    results.length = 0;
    void loadPage();
  });
  return element;
}

function resultTable(results: readonly ResultPageJson["taskResults"][number][]): HTMLElement {
  return table(
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
  );
}
