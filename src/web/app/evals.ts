// The section of evals: their versions with measured error rates, and forms that suggest, test and activate them.
import type {
  ActivatedEvalJson,
  EvalJobEventJson,
  EvalJobRequest,
  EvalLineJson,
  EvalListJson,
  EvalVersionJson,
} from "../../server/response-shapes.js";
import { count } from "../../text/format.js";
import {
  type Child,
  factLine,
  h,
  intervalText,
  minuteText,
  replaceChildren,
  scoreText,
  select,
  untrustedInline,
  untrustedText,
} from "../dom.js";
import { get, post, postEvents } from "./api.js";
import { changeLock } from "./decision-page.js";
import { type Column, clipped, factList, idLink, numeric, searchedList, statusLine, table, twoLines } from "./lists.js";

type Rate = NonNullable<EvalLineJson["test"]>["true_positive_rate"];

type JobResult<T> = Extract<EvalJobEventJson, { readonly type: T }>;

export async function evalList(page: HTMLElement, query: URLSearchParams, signal: AbortSignal): Promise<void> {
  const status = statusLine();
  const result = h("div");
  const tools = h("div", status.element);
  const change = changeLock(tools, status.say);
  const activate = (id: string) =>
    change(async () => {
      const said = await activated(id);
      await reload();
      status.say(said);
    });
  const reload = async () => {
    page.replaceChildren();
    await show();
  };
  const suggest = (mode: string) =>
    change(async () => {
      status.say("Comparing templates with the labels …");
      const suggested = await runJob({ action: "suggest", mode }, "suggested", signal, status.say);
      replaceChildren(result, suggestion(mode, suggested));
      await reload();
      status.say("");
    });
  const show = async () => {
    const { evals, modes } = await get<EvalListJson>("/api/evals");
    replaceChildren(tools, modes.length > 0 && modeForm(modes, suggest), status.element, result);
    await searchedList<EvalLineJson>(page, query, signal, {
      title: "Evals",
      section: "evals",
      intro: h(
        "p.hint",
        "TPR is the fraction of good traces that pass, and TNR the fraction of bad traces that fail, on labels that were not used to choose the eval.",
      ),
      fields: null,
      none: [
        "No evals yet. ",
        h("a", { href: "#label" }, "Label traces"),
        modes.length > 0 ? ", then suggest evals for their failure mode." : " to suggest evals for a failure mode.",
      ],
      load: async () => ({ lines: evals, next: null, total: evals.length }),
      search: "Search evals",
      tools,
      columns: columnsOf((id) => void activate(id)),
    });
  };
  await show();
}

/** Shows one version with its newest test, and the history of all versions. */
export async function evalView(page: HTMLElement, name: string, signal: AbortSignal): Promise<void> {
  const {
    eval: line,
    code,
    modes,
    history,
  } = await get<EvalVersionJson>(`/api/evals/versions/${encodeURIComponent(name)}`);
  const { id, kind, criterion, test } = line;
  const status = statusLine();
  const result = h("div");
  const buttons = h("div.run-actions");
  const change = changeLock(buttons, status.say);
  const mode = select({ "aria-label": "Failure mode" }, modes);
  mode.value = test?.mode ?? modes[0] ?? "";
  const selectedMode = () => (modes.length === 0 ? {} : { mode: mode.value });
  const again = async (said: string) => {
    page.replaceChildren();
    await evalView(page, id, signal);
    const shown = page.querySelector('[role="status"]');
    if (shown !== null) replaceChildren(shown, said);
  };
  const runTest = async () => {
    status.say("Testing …");
    const { tests } = await runJob({ action: "test", name: id, ...selectedMode() }, "tested", signal, status.say);
    await again(tests.map(testText).join(" "));
  };
  const review = async () => {
    status.say("Comparing with the labels …");
    const reviewed = await runJob({ action: "review", name: id, ...selectedMode() }, "reviewed", signal, status.say);
    status.say("");
    replaceChildren(result, disagreements(reviewed));
  };
  const button = (label: string, click: () => Promise<unknown>) =>
    h("button", { click: () => void change(async () => void (await click())) }, label);
  const isTestable = kind !== "cases";
  replaceChildren(
    buttons,
    isTestable && button(test === null ? "Test" : "Test again", runTest),
    isTestable && button("Show disagreements", review),
    modes.length > 1 && mode,
    canActivate(line) && button("Activate", async () => again(await activated(id))),
  );
  page.append(
    h("h2", id),
    untrustedText(criterion, null, "p"),
    buttons,
    status.element,
    result,
    factList([
      ["Status", line.status],
      ["Kind", kindText(line)],
      ["Test", h("span", testCell(line))],
      ["TPR", test && h("span", rateCell(test.true_positive_rate))],
      ["TNR", test && h("span", rateCell(test.true_negative_rate))],
      ["Labels", test && h("span", labelsCell(line))],
      ["Disagreed", test && String(disagreementsCell(line))],
      ["Notes", test === null || test.warnings.length === 0 ? null : `${test.warnings.join(". ")}.`],
    ]),
    h("h3", "Definition"),
    untrustedText(code, null, "pre"),
    h("h3", "History"),
    table(
      "History",
      ["Time", "Change"],
      history.map(({ at, lines: [first = "", ...details] }) => [
        minuteText(at),
        h("div", untrustedInline(first), details.length > 0 && untrustedText(details.join("\n"), "hint", "pre")),
      ]),
    ),
  );
}

async function activated(id: string): Promise<string> {
  const { retired_version: retired } = await post<ActivatedEvalJson>("/api/evals/use", { name: id });
  return `${id} is active.${retired === null ? "" : ` Version ${retired} is retired.`}`;
}

/** Runs a job on the server and shows its progress. Throws an Error with the server's message and hint. */
async function runJob<T extends "suggested" | "tested" | "reviewed">(
  request: EvalJobRequest,
  type: T,
  signal: AbortSignal,
  say: (text: string) => void,
): Promise<JobResult<T>> {
  for await (const event of postEvents<EvalJobEventJson>("/api/evals/jobs", request, signal)) {
    if (event.type === "progress")
      say(`${count(event.done)}${event.total === null ? "" : ` of ${count(event.total)}`} results …`);
    else if (event.type === "error") throw new Error(`${event.message} ${event.hint}`.trim());
    else if (event.type === type) return event as JobResult<T>;
  }
  throw new Error("The server ended without a result.");
}

function modeForm(modes: readonly string[], suggest: (mode: string) => Promise<void>): HTMLElement {
  const mode = select({ "aria-label": "Failure mode" }, modes);
  return h("div.run-actions", h("button", { click: () => void suggest(mode.value) }, "Suggest evals for"), mode);
}

function suggestion(mode: string, { sentences, evals }: JobResult<"suggested">): HTMLElement {
  const [first = "", ...others] = sentences;
  return h(
    "section.notice",
    { "aria-label": `Suggested evals for ${mode}` },
    h("b", mode),
    untrustedText(first, null, "p"),
    evals.length > 0 &&
      table(
        "Suggested evals",
        ["Eval", "Fails if", numeric("TPR"), numeric("TNR")],
        evals.map(({ id, fails_if: failsIf, true_positive_rate: tpr, true_negative_rate: tnr }) => [
          idLink("evals", id),
          failsIf,
          scoreText(tpr),
          scoreText(tnr),
        ]),
      ),
    ...others.map((sentence) => untrustedText(sentence, null, "p")),
  );
}

function testText({ mode, rejections, error }: JobResult<"tested">["tests"][number]): string {
  if (error !== null) return `Not tested for ${mode}: ${error}`;
  return rejections.length === 0 ? `Passed for ${mode}.` : `Rejected for ${mode}: ${rejections.join("; ")}.`;
}

function disagreements({ total, disagreements: some }: JobResult<"reviewed">): HTMLElement {
  if (total === 0) return h("p.notice", "No label outside the held-out ones disagrees with it.");
  return h(
    "section",
    h("h3", `Disagreements (${total})`),
    h(
      "p.hint",
      "On labeled traces that are not held out for tests. The eval might be based on them. If you change one of these labels, later tests of evals from templates count only the held-out labels.",
    ),
    table(
      "Disagreements",
      ["Trace", "Label", numeric("Eval"), "Why"],
      some.map(({ trace_id: id, label, score, note, reason }) => [
        idLink("trace", id),
        note === null ? label : twoLines(label, clipped(note)),
        scoreText(score),
        clipped(reason),
      ]),
    ),
    some.length < total && h("p.hint", `The first ${some.length} are listed.`),
  );
}

function columnsOf(activate: (id: string) => void): readonly Column<EvalLineJson>[] {
  return [
    {
      title: "Eval",
      sort: ({ id }) => id,
      cell: ({ id, criterion }) => twoLines(idLink("evals", id), untrustedInline(criterion)),
    },
    { title: "Status", sort: ({ status }) => status, cell: (line) => statusCell(line, activate) },
    { title: "Kind", sort: ({ kind }) => kind, cell: kindText },
    {
      title: "TPR",
      sort: ({ test }) => test?.true_positive_rate.value ?? null,
      cell: ({ test }) => (test === null ? "–" : rateCell(test.true_positive_rate)),
      isNumeric: true,
    },
    {
      title: "TNR",
      sort: ({ test }) => test?.true_negative_rate.value ?? null,
      cell: ({ test }) => (test === null ? "–" : rateCell(test.true_negative_rate)),
      isNumeric: true,
    },
    { title: "Test", sort: ({ validation }) => validation, cell: testCell },
    { title: "Labels", cell: labelsCell },
    { title: "Disagreed", cell: disagreementsCell },
  ];
}

function kindText({ kind, reference }: EvalLineJson): string {
  return reference ? `${kind}, reference` : kind;
}

function rateCell(estimate: Rate): Child {
  return twoLines(scoreText(estimate.value), `${intervalText(estimate)}, n ${count(estimate.n)}`);
}

const VALIDATION: Readonly<Record<EvalLineJson["validation"], string>> = {
  none: "not tested",
  stale: "stale",
  passed: "passed",
  rejected: "rejected",
};

function testCell({ validation, test }: EvalLineJson): Child {
  if (test === null) return VALIDATION[validation];
  const about = factLine(
    validation === "stale" ? "labels have changed" : null,
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
  return `${count(test.good_failed)} good failed, ${count(test.bad_passed)} bad passed`;
}

function canActivate({ status, validation }: EvalLineJson): boolean {
  return status !== "active" && validation === "passed";
}

function statusCell(line: EvalLineJson, activate: (id: string) => void): Child {
  const { id, status } = line;
  if (!canActivate(line)) return status;
  const click = () => activate(id);
  return [`${status} `, h("button.quiet", { click, "aria-label": `Activate ${id}` }, "Activate")];
}
