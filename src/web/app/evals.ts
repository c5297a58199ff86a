// The section of evals: their versions with measured error rates and labels, and a button that activates a version.
import type { ActivatedEvalJson, EvalLineJson, EvalListJson } from "../../server/response-shapes.js";
import { count } from "../../text/format.js";
import { type Child, factLine, h, intervalText, minuteText, scoreText, untrustedInline } from "../dom.js";
import { get, post } from "./api.js";
import { type Column, clipped, searchedList, statusLine, twoLines } from "./lists.js";

type Rate = NonNullable<EvalLineJson["test"]>["true_positive_rate"];

export async function evalList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const status = statusLine();
  const activate = async ({ id }: EvalLineJson) => {
    try {
      const { retired_version: retired } = await post<ActivatedEvalJson>("/api/evals/use", { name: id });
      page.replaceChildren();
      await show();
      status.say(`${id} is active.${retired === null ? "" : ` Version ${retired} is retired.`}`);
    } catch (error) {
      status.say((error as Error).message, true);
    }
  };
  const show = () =>
    searchedList<EvalLineJson>(page, query, signal, {
      title: "Evals",
      section: "evals",
      intro: h(
        "p.hint",
        "TPR is the fraction of good traces that pass, and TNR the fraction of bad traces that fail, on the held-out half of the labels.",
      ),
      fields: null,
      none: [
        "No evals yet. ",
        h("a", { href: "#label" }, "Label traces"),
        ", then create some with ",
        h("code", "art-e evals suggest"),
        ".",
      ],
      async load() {
        const { evals } = await get<EvalListJson>("/api/evals");
        return { lines: evals, next: null, total: evals.length };
      },
      search: "Search evals",
      tools: status.element,
      columns: columnsOf((line) => void activate(line)),
    });
  await show();
}

function columnsOf(activate: (line: EvalLineJson) => void): readonly Column<EvalLineJson>[] {
  return [
    {
      title: "Eval",
      sort: ({ id }) => id,
      cell: ({ id, criterion }) => twoLines(untrustedInline(id), clipped(criterion)),
    },
    { title: "Status", sort: ({ status }) => status, cell: (line) => statusCell(line, () => activate(line)) },
    {
      title: "Kind",
      sort: ({ kind }) => kind,
      cell: ({ kind, reference }) => (reference ? `${kind}, reference` : kind),
    },
    {
      title: "TPR",
      sort: ({ test }) => test?.true_positive_rate.value ?? null,
      cell: rate("true_positive_rate"),
      isNumeric: true,
    },
    {
      title: "TNR",
      sort: ({ test }) => test?.true_negative_rate.value ?? null,
      cell: rate("true_negative_rate"),
      isNumeric: true,
    },
    { title: "Test", sort: ({ validation }) => validation, cell: testCell },
    { title: "Labels", cell: labelsCell },
    { title: "Disagreed", cell: disagreementsCell },
  ];
}

function rate(name: "true_positive_rate" | "true_negative_rate"): (line: EvalLineJson) => Child {
  return ({ test }) => (test === null ? "–" : rateCell(test[name]));
}

function rateCell(estimate: Rate): Child {
  return twoLines(scoreText(estimate.value), `${intervalText(estimate)}, n ${count(estimate.n)}`);
}

const VALIDATION: Readonly<Record<EvalLineJson["validation"], string>> = {
  none: "not tested",
  stale: "stale: labels have changed",
  passed: "passed",
  rejected: "rejected",
};

function testCell({ validation, test }: EvalLineJson): Child {
  if (test === null) return VALIDATION[validation];
  const about = factLine(
    `thresholds: ${test.thresholds}`,
    minuteText(test.tested_at),
    test.rejections.join("; ") || null,
  );
  return twoLines(VALIDATION[validation], untrustedInline(about));
}

/** The number of labels by source, with the failure mode that they are about. */
function labelsCell({ test }: EvalLineJson): Child {
  if (test === null) return "–";
  const sources = Object.entries(test.labels).map(([source, number]) => `${count(number)} by ${source}`);
  return twoLines(sources.join(", ") || "none", untrustedInline(test.mode));
}

function disagreementsCell({ test }: EvalLineJson): Child {
  if (test === null) return "–";
  return `${count(test.false_failures)} good failed, ${count(test.missed_failures)} bad passed`;
}

function statusCell({ id, status, validation }: EvalLineJson, click: () => void): Child {
  if (status === "active" || validation !== "passed") return status;
  return twoLines(status, h("button.quiet", { click, "aria-label": `Activate ${id}` }, "Activate"));
}
