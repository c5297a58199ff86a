import type { Gate } from "../../domain/scores/gate.js";
import { estimate } from "./format-estimate.js";

/** `missed  accuracy (exactMatch) 0.742 [0.690, 0.789] n=300, wanted at least 0.8` */
export function gateText(gate: Gate): string {
  const { metric, scorer, figure, passed } = gate;
  const name = metric === scorer ? metric : `${metric} (${scorer})`;
  return `${passed ? "passed" : "missed"}  ${name} ${formatFigure(gate)}, wanted ${formatThreshold(gate)}${figure.n === 0 ? ": there is no such score" : ""}`;
}

function formatFigure({ kind, figure }: Gate): string {
  const sign = kind === "no_worse_than" && (figure.value ?? 0) > 0 ? "+" : "";
  return `${sign}${estimate(figure)}`;
}

function formatThreshold({ kind, better, limit, baseline }: Gate): string {
  if (kind === "fail_under") return `${better === "higher" ? "at least" : "at most"} ${limit}`;
  const bound = better === "higher" ? `the interval above -${limit}` : `the interval below ${limit}`;
  return `${bound} against ${baseline}`;
}
