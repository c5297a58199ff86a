import { h, untrustedText } from "../../../../reports/page/shared/dom.js";
import { minuteText } from "../../../../reports/page/shared/format.js";
import { factList } from "../tables.js";
import type { CheckJson, QuestionDetailsJson } from "./review-types.js";

/** What each check asks, for whoever decides. */
const CHECK_TEXTS: Readonly<Record<string, string>> = {
  gold: "Mails are there and hold the answer's values",
  sources: "Answered from the cited mails",
  each_mail: "Of several mails none is superfluous",
  earlier_mails: "Changed by the latest mail",
  without_mail: "Not known without a mail",
  other_mails: "No other answer in other mails",
};

const UNANSWERABLE_TEXTS: Readonly<Record<string, string>> = {
  mail_later: "the mail that answers came later",
  detail_absent: "no mail holds it",
};

/** The question as it is to be judged, what was decided, and what the checks said. */
export function questionSection(details: QuestionDetailsJson): HTMLElement {
  const { question, answer } = details.review?.edited ?? details;
  return h(
    "section",
    { class: "judged", tabindex: -1, "aria-label": "Question and answer" },
    decisionLine(details),
    untrustedText(question, "question", "p"),
    untrustedText(answer, "answer", "p"),
    factList(factsOf(details)),
    h("h3", {}, "Checks"),
    h("ul", { class: "checks" }, ...details.checks.map(checkItem)),
  );
}

function decisionLine({ review }: QuestionDetailsJson): HTMLElement | null {
  if (review === null) return null;
  const { decision, decided_at: at, reason } = review;
  return h(
    "p",
    { class: `decision ${decision}` },
    h("strong", {}, decision),
    ` ${minuteText(at)}${reason === null ? "" : `: ${reason}`}`,
  );
}

function factsOf(details: QuestionDetailsJson): [string, string][] {
  const { id, inbox_address, query_date, kind, made_by, how_realistic, unanswerable, easy, review } = details;
  return [
    ["Number", String(id)],
    ["Asked by", `${inbox_address} on ${query_date}`],
    ...(kind === null ? [] : [["Kind", kind] as [string, string]]),
    ...(made_by === null ? [] : [["Made by", made_by] as [string, string]]),
    ["Realistic", how_realistic.toFixed(1)],
    ...(unanswerable === null
      ? []
      : [["No answer", UNANSWERABLE_TEXTS[unanswerable] ?? unanswerable] as [string, string]]),
    ...(easy ? [["Easy", "it repeats a phrase of its mail"] as [string, string]] : []),
    ...(review?.edited ? [["It was", `${details.question} – ${details.answer}`] as [string, string]] : []),
  ];
}

function checkItem({ check, by, passed, answer, reason }: CheckJson): HTMLElement {
  return h(
    "li",
    {},
    h("span", { class: passed ? "state" : "state bad" }, passed ? "passed" : "failed"),
    ` ${CHECK_TEXTS[check] ?? check} (${by}): `,
    untrustedText(answer === null ? reason : `${reason} – “${answer}”`, "", "span"),
  );
}
