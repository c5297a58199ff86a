import { h } from "../../../reports/page/shared/dom.js";
import { post } from "./request.js";

/** Two thumbs and a note, for one trace. */
export function feedbackForm(traceId: string): HTMLElement {
  const status = h("p", { class: "hint", role: "status" });
  const note = h("input", {
    type: "text",
    "aria-label": "Note to your feedback",
    placeholder: "Note (optional)",
    maxlength: 10_000,
  });
  const thumbs = {
    positive: thumbButton("Good answer", true, () => send("positive")),
    negative: thumbButton("Bad answer", false, () => send("negative")),
  };
  async function send(rating: "positive" | "negative"): Promise<void> {
    try {
      await post("/api/feedback", { trace_id: traceId, rating, notes: note.value.trim() || null });
      for (const [name, button] of Object.entries(thumbs)) button.setAttribute("aria-pressed", String(name === rating));
      status.textContent = "Thank you: it is kept with the trace.";
    } catch (error) {
      status.textContent = (error as Error).message;
    }
  }
  const { positive, negative } = thumbs;
  return h("div", { class: "feedback", role: "group", "aria-label": "Feedback" }, positive, negative, note, status);
}

function thumbButton(label: string, isUp: boolean, click: () => void): HTMLElement {
  const attributes = { type: "button", class: "thumb", "aria-label": label, title: label, "aria-pressed": "false" };
  return h("button", { ...attributes, click }, thumbIcon(isUp));
}

/** Drawn, because not every system has a font with this character. */
function thumbIcon(isUp: boolean): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [name, value] of Object.entries({
    viewBox: "0 0 24 24",
    width: "18",
    height: "18",
    "aria-hidden": "true",
  })) {
    svg.setAttribute(name, value);
  }
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("fill", "currentColor");
  path.setAttribute(
    "d",
    "M2 10h4v11H2zm6 0 5-8c1.6 0 2.6 1.2 2.3 2.8L14.6 9H20c1.3 0 2.3 1.2 2 2.5l-1.7 7.6A2.5 2.5 0 0 1 17.9 21H8z",
  );
  if (!isUp) path.setAttribute("transform", "rotate(180 12 12)");
  svg.append(path);
  return svg;
}
