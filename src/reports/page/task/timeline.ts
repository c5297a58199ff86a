import { sumByKind, type TimelineSegment } from "../../../domain/runs/timeline-segment.js";
import { duration } from "../../text/format-number.js";
import { TIMELINE_WORDS } from "../../text/timeline-text.js";
import { h } from "../shared/dom.js";

/** One line of time: what each stretch of a task went into, and the sums; nothing where no time is known. */
export function timeline(segments: readonly TimelineSegment[]): HTMLElement | null {
  const total = segments.reduce((sum, { durationMs }) => sum + durationMs, 0);
  if (total === 0) return null;
  return h(
    "section",
    { class: "timeline" },
    h("h3", {}, "Time"),
    h("div", { class: "line", "aria-hidden": "true" }, ...segments.map((segment) => stretch(segment, total))),
    h(
      "ul",
      { class: "legend" },
      ...sumByKind(segments).map(({ kind, ms }) =>
        h(
          "li",
          {},
          h("span", { class: `key time-${kind}`, "aria-hidden": "true" }),
          `${TIMELINE_WORDS[kind]} `,
          h("b", { class: "figure" }, duration(ms)),
        ),
      ),
    ),
  );
}

function stretch({ kind, startMs, durationMs, turn, detail }: TimelineSegment, total: number): HTMLElement {
  const where = turn === null ? "" : `turn ${turn}, `;
  const what = detail === null ? TIMELINE_WORDS[kind] : `${TIMELINE_WORDS[kind]}: ${detail}`;
  const part = h("span", { class: `time-${kind}`, title: `${where}${what}, ${duration(durationMs)}` });
  part.style.left = `${((startMs / total) * 100).toFixed(3)}%`;
  part.style.width = `${((durationMs / total) * 100).toFixed(3)}%`;
  return part;
}
