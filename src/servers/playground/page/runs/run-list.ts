import { h } from "../../../../reports/page/shared/dom.js";
import { minuteText } from "../../../../reports/page/shared/format.js";
import type { RunLineJson } from "../api-types.js";
import { get } from "../request.js";
import { idLink, table } from "../tables.js";

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
            idLink("runs", run.id, run.name ?? run.id),
            run.agent_id,
            run.model,
            `${run.tasks} of ${run.total_tasks}`,
            run.status === "interrupted" ? "stopped" : run.status,
            minuteText(run.started_at),
          ]),
        ),
  );
}
