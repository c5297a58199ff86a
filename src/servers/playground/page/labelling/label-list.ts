import { h } from "../../../../reports/page/shared/dom.js";
import { minuteText } from "../../../../reports/page/shared/format.js";
import type { RunLineJson } from "../api-types.js";
import { get } from "../request.js";
import { table } from "../tables.js";
import { OVERALL, subjectHash } from "./label-types.js";

/** The runs whose traces can be labelled, and the chats. */
export async function labelList(page: HTMLElement): Promise<void> {
  const { runs } = await get<{ runs: RunLineJson[] }>("/api/runs?limit=200");
  const criterion = h("input", { id: "criterion", type: "text", value: OVERALL, autocomplete: "off" });
  const link = (runId: string | null, text: string) => {
    const subject = () => subjectHash({ runId, criterion: criterion.value.trim() || OVERALL });
    const open = (event: Event) => {
      event.preventDefault();
      location.hash = subject();
    };
    return h("a", { href: subject(), click: open }, text);
  };
  page.append(
    h("h2", {}, "Label traces"),
    h("p", {}, "Say of one trace after another whether it is good or bad, and why. Evals are chosen and proved by it."),
    h(
      "p",
      { class: "criterion" },
      h("label", { for: "criterion" }, "Failure mode that the labels are about (overall: none in particular)"),
      criterion,
    ),
    table(
      "What to label",
      ["Traces of", "Agent", "Model", "Tasks", "Started"],
      [
        ...runs.map((run) => [
          link(run.id, run.id),
          run.agent_id,
          run.model,
          `${run.tasks} of ${run.total_tasks}`,
          minuteText(run.started_at),
        ]),
        [link(null, "chats"), "any", "any", "–", "–"],
      ],
    ),
  );
}
