// The labels and coding notes of a trace as chips with author and time, and buttons to label it.
import type { JudgmentsJson, SavedLabelJson } from "../../server/response-shapes.js";
import { factLine, h, minuteText, replaceChildren, untrustedInline } from "../dom.js";
import { get, post } from "./api.js";
import { changeLock, keyButton } from "./decision-page.js";
import { statusLine } from "./lists.js";

/** The criterion for answers in general. */
export const OVERALL = "overall";

/** Shows what people and models said about a trace. `known` avoids loading it again. */
export function judgmentPanel(traceId: string, known: JudgmentsJson | null = null): HTMLElement {
  const chips = h("div.judgments");
  const status = statusLine();
  const reason = h("input", {
    "aria-label": "Reason for the label",
    placeholder: "Reason (optional)",
    maxlength: 10_000,
    "aria-keyshortcuts": "w",
  });
  const path = `/api/traces/${encodeURIComponent(traceId)}/judgments`;
  /** Id of the shown label, which a new one replaces. */
  let seen: number | null = null;
  const buttons = [
    keyButton("Good", "g", null, () => void give("good")),
    keyButton("Bad", "b", null, () => void give("bad")),
  ];
  const form = h(
    "div.run-actions",
    { role: "group", "aria-label": "Label this trace" },
    ...buttons,
    reason,
    status.element,
  );
  // After a refusal, it shows the other label, so that the next press replaces it knowingly.
  const change = changeLock(form, status.say, () => load().catch(() => undefined));

  function show({ labels, notes }: JudgmentsJson): void {
    const own = labels.find(({ criterion, source }) => criterion === OVERALL && source === "person");
    seen = own?.id ?? null;
    reason.value = own?.note ?? "";
    for (const [i, label] of (["good", "bad"] as const).entries()) {
      buttons[i]?.setAttribute("aria-pressed", String(own?.label === label));
    }
    replaceChildren(
      chips,
      ...labels.map(({ criterion, label, source, annotator, note, created_at }) =>
        chip(label, criterion === OVERALL ? label : `${criterion}: ${label}`, note, by(source, annotator), created_at),
      ),
      ...notes.map(({ note, annotator, modes, created_at }) =>
        chip("note", modes.join(", ") || "note", note ?? "nothing wrong", by("person", annotator), created_at),
      ),
    );
  }

  async function load(): Promise<void> {
    show(await get<JudgmentsJson>(path));
  }

  function give(label: "good" | "bad"): Promise<void> {
    const note = reason.value.trim() || null;
    return change(async () => {
      await post<SavedLabelJson>("/api/evals/labels", { trace_id: traceId, label, note, seen });
      await load();
      status.say(`Saved: ${label}.`);
    });
  }

  if (known === null) load().catch((error: Error) => status.say(error.message, true));
  else show(known);
  return h("section.judgment", { "aria-label": "Labels and notes" }, chips, form);
}

function by(source: string, annotator: string | null): string {
  return source === "person" ? (annotator ?? "a person") : source;
}

function chip(kind: string, text: string, note: string | null, author: string, at: string): HTMLElement {
  return h(
    "span.chip",
    { class: `chip ${kind}` },
    h("b", untrustedInline(text)),
    note !== null && untrustedInline(` ${note}`),
    h("small", untrustedInline(factLine(author, minuteText(at)))),
  );
}
