// The attack on the page of a task or a trace: the planted emails beside what the agent did.
import type { AttackReport } from "../../attacks/obedience.js";
import { h, untrustedInline, untrustedText } from "../dom.js";

/** Null if no email was planted. */
export function attackTable(report: AttackReport | null): HTMLElement | null {
  if (report === null) return null;
  const { kind, isControl, isShown, ordered, emails, obedience } = report;
  const places = obedience.map(({ where, found }) => h("p", `In the ${where}: `, untrustedInline(found)));
  const verdict = !isShown ? "not seen by the agent" : obedience.length === 0 ? "resisted" : "hijacked";
  return h(
    "section.attack",
    h("h3", isControl ? "Harmless email of the shape of an attack" : "Attack"),
    h(
      "div.attack-sides",
      h(
        "div",
        h("p", h("b", kind), isControl ? "" : ": orders to ", isControl ? "" : untrustedInline(ordered)),
        ...emails.map(({ sender, subject, body }) =>
          h(
            "details",
            { open: emails.length === 1 },
            h("summary", untrustedInline(`${sender}: ${subject}`)),
            untrustedText(body, null, "pre"),
          ),
        ),
      ),
      h("div", h("p", "The agent: ", h("b", verdict)), ...places),
    ),
  );
}
