import { ENDINGS } from "../../../domain/tasks/task-ending.js";
import { untrustedText } from "../../../reports/page/shared/dom.js";
import { minuteText } from "../../../reports/page/shared/format.js";
import { duration } from "../../../reports/text/format-number.js";
import type { TraceLineJson, TracePageJson } from "./api-types.js";
import { type FilterField, filteredList } from "./filtered-list.js";
import { get } from "./request.js";
import { idLink, table } from "./tables.js";
import { endingText } from "./task-ending-text.js";

const FIELDS: readonly FilterField[] = [
  { name: "agent_id", label: "Agent (its id)", kind: "text" },
  { name: "run_id", label: "Run (its id)", kind: "text" },
  { name: "ending", label: "Ending", kind: ENDINGS.map((ending) => [ending, endingText(ending)]) },
  {
    name: "rating",
    label: "Rated",
    kind: ["positive", "neutral", "negative"].map((rating) => [rating, rating]),
  },
  { name: "date_from", label: "From (day, UTC)", kind: "date" },
  { name: "date_to", label: "Before (day, UTC)", kind: "date" },
];

export function traceList(page: HTMLElement, query: URLSearchParams): Promise<void> {
  return filteredList<TraceLineJson>(page, query, {
    title: "Traces",
    section: "traces",
    fields: FIELDS,
    none: "Nothing yet: ask an agent, or let one run with art-e run.",
    async load(filter, next) {
      const cursor: [string, string][] = next === null ? [] : [["cursor", next]];
      const path = `/api/traces?${new URLSearchParams([...filter, ...cursor])}`;
      const { traces, next_cursor, total_count } = await get<TracePageJson>(path);
      return { lines: traces, next: next_cursor, total: total_count };
    },
    table: traceTable,
  });
}

function traceTable(lines: readonly TraceLineJson[]): HTMLElement {
  return table(
    "Traces",
    ["Started", "Agent", "Question", "Answer", "Ending", "Took", "Rated"],
    lines.map((line) => [
      idLink("trace", line.id, minuteText(line.started_at)),
      line.agent_id,
      untrustedText(line.question, "clip", "span"),
      untrustedText(line.answer ?? "–", "clip", "span"),
      line.ending,
      duration(line.duration_ms),
      line.rating,
    ]),
  );
}
