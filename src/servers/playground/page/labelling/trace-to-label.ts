import { h, untrustedText } from "../../../../reports/page/shared/dom.js";
import type { TraceDetailsJson, TraceJson } from "../api-types.js";
import { factList } from "../tables.js";
import { endingText } from "../task-ending-text.js";
import { mailboxFacts, messageSections } from "../trace-view.js";

/**
 * What is judged: the question, the answer, and what would have been right. Neither scores nor evals: a label that
 * follows them proves nothing about them.
 */
export function answerSection({ trace, question, answer }: TraceDetailsJson): HTMLElement {
  return h(
    "section",
    { class: "judged", tabindex: -1, "aria-label": "Question and answer" },
    untrustedText(question, "question", "p"),
    untrustedText(answer || `No answer: ${endingText(trace.ending)}.`, "answer", "p"),
    factList(factsOf(trace)),
  );
}

function factsOf(trace: TraceJson): [string, string][] {
  const right = trace.task?.answer ?? trace.grade?.reason;
  return [
    ...(right === undefined ? [] : [[trace.grade === undefined ? "Right" : "Grade", right] as [string, string]]),
    ["Sources", trace.sources.join(", ") || "none"],
    ...mailboxFacts(trace),
  ];
}

/** What the agent did, without its instructions and the question, which stands beside. Mails that it read are open. */
export function stepsSection({ trace, question }: TraceDetailsJson): HTMLElement {
  const messages = trace.messages.filter(({ role, content }) => role !== "system" && content !== question);
  const sections = messageSections({ ...trace, messages });
  for (const call of sections.flatMap((section) => [...section.querySelectorAll("details")])) {
    call.open = call.querySelector("article.mail") !== null;
  }
  return h(
    "section",
    { class: "label-steps", "aria-labelledby": "steps-title" },
    h("h3", { id: "steps-title" }, "What was said and done"),
    h("div", { class: "steps" }, ...sections),
  );
}
