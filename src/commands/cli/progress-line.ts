import { stripControls } from "../../platform/strip-controls.js";
import { duration } from "../../reports/text/format-number.js";

/** What is shown beside a bar. */
export interface ProgressDetail {
  /** What matters most. */
  readonly main: string;
  /** What follows where there is room, the most important first. */
  readonly more?: readonly string[];
}

export interface ProgressState extends ProgressDetail {
  readonly title: string;
  readonly done: number;
  /** Null: unknown. */
  readonly total: number | null;
  readonly elapsedMs: number;
}

const WIDEST_BAR = 24;
const NARROWEST_BAR = 4;
/** The rest is shown only where a bar of this width remains. */
const BAR_BESIDE_REST = 10;

/**
 * `Answering ███░░░░░ 12 %  semantic 0.412  12/100  $0.0123  0:42 min left  1 failed`, at most so many columns wide.
 * What there is no room for is left out from the end, then the bar, then the title.
 */
export function progressLine(state: ProgressState, columns: number): string {
  const { title, done, total } = state;
  const head = stripControls(title);
  const [shown, ...rest] = partsOf(state);
  let text = shown ?? "";
  // With the spaces around it.
  const room = () => columns - head.length - text.length - 2;
  for (const part of rest) {
    if (room() - part.length - 2 < BAR_BESIDE_REST) break;
    text += `  ${part}`;
  }
  const width = Math.min(WIDEST_BAR, room());
  if (total !== null && width >= NARROWEST_BAR) return `${head} ${bar(done, total, width)} ${text}`;
  const line = `${head} ${text}`;
  return (line.length <= columns ? line : text).slice(0, columns);
}

/** The same without a bar, for a log. */
export function progressText(state: ProgressState): string {
  return `${stripControls(state.title)} ${partsOf(state).join("  ")}`;
}

/** What must be seen, and each of the rest. */
function partsOf({ done, total, elapsedMs, main, more = [] }: ProgressState): readonly string[] {
  const parts = [];
  if (total !== null && total > 0) parts.push(`${Math.floor((Math.min(done, total) / total) * 100)} %`);
  if (main !== "") parts.push(stripControls(main));
  if (total !== null && done > 0 && done < total) {
    parts.push(`${duration((elapsedMs / done) * (total - done))} left`);
  }
  return [parts.join("  "), ...more.filter((part) => part !== "").map(stripControls)];
}

function bar(done: number, total: number, width: number): string {
  const filled = total === 0 ? 0 : Math.round(Math.min(1, done / total) * width);
  return "█".repeat(filled) + "░".repeat(width - filled);
}
