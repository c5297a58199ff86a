// The parts of a question's review: its wording, cited emails and unsaved edits.
import { compact } from "../../platform/optional-values.js";
import type { QuestionCheck, QuestionWording } from "../../questions/provenance.js";
import type { QuestionDetailsJson } from "../../server/response-shapes.js";
import { h, minuteText, untrustedInline, untrustedText } from "../dom.js";
import { type Fact, factList } from "./lists.js";
import { mailArticle } from "./trace.js";

/** Text about a question that has not been saved yet. */
interface UnsavedEdits {
  readonly reason: string;
  /** The new wording, or null if the question is not being edited. */
  readonly edited: QuestionWording | null;
}

/** Fields for a new wording of a question, hidden until the reviewer edits it. */
export class WordingEditor {
  readonly element: HTMLElement;
  private readonly question = h("textarea", { id: "edited-question", rows: 3, maxlength: 4_000 });
  private readonly answer = h("textarea", { id: "edited-answer", rows: 3, maxlength: 20_000 });
  private original: QuestionWording = { question: "", answer: "" };

  /** `changed` is called after text was changed or discarded. */
  constructor(
    private readonly save: (edited: QuestionWording) => void,
    private readonly changed: () => void,
  ) {
    this.element = h(
      "div.editor",
      { hidden: true, input: changed, keydown: (event: KeyboardEvent) => this.pressKey(event) },
      h("label", { for: "edited-question" }, "Question"),
      this.question,
      h("label", { for: "edited-answer" }, "Answer"),
      this.answer,
      h(
        "div.label-buttons",
        h("button.primary", { click: () => this.save(this.wording) }, "Save ", h("kbd", "Ctrl Enter")),
        h("button", { click: () => this.cancel() }, "Cancel ", h("kbd", "Esc")),
      ),
    );
  }

  /** The new wording, or null if the question is not being edited. */
  get edited(): QuestionWording | null {
    return this.element.hidden ? null : this.wording;
  }

  /** Fills the fields for another question. */
  show(original: QuestionWording, edited: QuestionWording | null): void {
    this.original = original;
    this.wording = edited ?? original;
    this.element.hidden = edited === null;
  }

  edit(): void {
    this.element.hidden = false;
    this.question.focus();
    this.changed();
  }

  private get wording(): QuestionWording {
    return { question: this.question.value, answer: this.answer.value };
  }

  private set wording({ question, answer }: QuestionWording) {
    this.question.value = question;
    this.answer.value = answer;
  }

  private cancel(): void {
    (document.activeElement as HTMLElement | null)?.blur();
    this.show(this.original, null);
    this.changed();
  }

  private pressKey(event: KeyboardEvent): void {
    if (event.isComposing) return;
    if (event.key === "Escape") this.cancel();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.save(this.wording);
    else return;
    event.preventDefault();
  }
}

/** Question that each check answers, in words for the reviewer. */
const CHECK_TEXTS: Readonly<Record<string, string>> = {
  gold: "The cited emails exist and contain the answer's values",
  sources: "The cited emails answer the question",
  each_mail: "Every cited email is needed",
  earlier_mails: "The latest email changes the answer",
  without_mail: "The answer is not known without the email",
  other_mails: "Other emails contain no other answer",
};

const UNANSWERABLE_TEXTS: Readonly<Record<string, string>> = {
  mail_later: "the email with the answer came later",
  detail_absent: "no email contains it",
};

/** The question in its current wording, the decision, and the results of the checks. */
export function questionSection(details: QuestionDetailsJson): HTMLElement {
  const { question, answer } = details.review?.edited ?? details;
  return h(
    "section.judged",
    { tabindex: -1, "aria-label": "Question and answer" },
    decisionLine(details),
    untrustedText(question, "question", "p"),
    untrustedText(answer, "answer", "p"),
    factList(factsOf(details)),
    h("h3", "Checks"),
    h("ul.checks", details.checks.map(checkItem)),
  );
}

function decisionLine({ review }: QuestionDetailsJson): HTMLElement | null {
  if (review === null) return null;
  const { decision, decided_at: at, reason } = review;
  return h(
    "p",
    { class: `decision ${decision}` },
    h("strong", decision),
    ` ${minuteText(at)}${reason === null ? "" : `: ${reason}`}`,
  );
}

function factsOf(details: QuestionDetailsJson): Fact[] {
  const { id, inbox_address, query_date, kind, made_by, how_realistic, unanswerable, easy, review } = details;
  return [
    ["Number", String(id)],
    ["Asked by", `${inbox_address} on ${query_date}`],
    ["Kind", kind],
    ["Created by", made_by],
    ["Realistic", how_realistic.toFixed(1)],
    ["No answer", unanswerable === null ? null : (UNANSWERABLE_TEXTS[unanswerable] ?? unanswerable)],
    ["Easy", easy ? "it repeats a phrase from its email" : null],
    ["Original", review?.edited ? `${details.question} – ${details.answer}` : null],
  ];
}

function checkItem({ check, by, passed, answer, reason }: QuestionCheck): HTMLElement {
  return h(
    "li",
    h("span", { class: passed ? "state" : "state bad" }, passed ? "passed" : "failed"),
    ` ${CHECK_TEXTS[check] ?? check} (${by}): `,
    untrustedInline(answer === null ? reason : `${reason} – “${answer}”`),
  );
}

/** The emails that a question cites, with the answering passages marked. */
export function citedMails(mails: readonly QuestionDetailsJson["mails"][number][]): HTMLElement {
  return h(
    "section.label-steps.cited-mails",
    { "aria-labelledby": "mails-title" },
    h("h3", { id: "mails-title" }, mails.length === 1 ? "Cited email" : "Cited emails"),
    mails.length === 0 ? [h("p.notice", "The question cites no emails.")] : mails.map(evidence),
  );
}

/** Scrolls each email to its marked passage. Call it when the emails are in the page. */
export function scrollToPassages(mails: HTMLElement): void {
  for (const mark of mails.querySelectorAll<HTMLElement>("pre mark")) {
    const body = mark.parentElement;
    if (body !== null) body.scrollTop = mark.offsetTop - body.clientHeight / 3;
  }
}

function evidence({
  message_id: id,
  mail,
  is_cited: isCited,
  passage,
  in_subject,
  in_body,
}: QuestionDetailsJson["mails"][number]): HTMLElement {
  if (mail === null) {
    return h("p.notice.bad", "Not in the database: ", h("code", id));
  }
  const article = mailArticle(mail, in_subject, in_body);
  // Long emails scroll, so the keyboard must be able to scroll them too.
  article.querySelector("pre")?.setAttribute("tabindex", "0");
  const notes = compact([
    !isCited && "This email is from after the question, so it does not count as an answer.",
    passage === "found" && "The passage most similar to the answer is marked.",
  ]);
  return h("div.notice", notes.length !== 0 && h("p.hint", notes.join(" ")), article);
}

const keyOf = (dataset: string, id: number) => `art-e-review ${dataset} ${id}`;

/** Stores text until the tab is closed, so that a reload loses nothing. */
export function keepUnsaved(dataset: string, id: number, words: UnsavedEdits): void {
  const isEmpty = words.reason === "" && words.edited === null;
  if (isEmpty) forgetUnsaved(dataset, id);
  else sessionStorage.setItem(keyOf(dataset, id), JSON.stringify(words));
}

export function readUnsaved(dataset: string, id: number): UnsavedEdits | null {
  const written = sessionStorage.getItem(keyOf(dataset, id));
  return written === null ? null : (JSON.parse(written) as UnsavedEdits);
}

export function forgetUnsaved(dataset: string, id: number): void {
  sessionStorage.removeItem(keyOf(dataset, id));
}
