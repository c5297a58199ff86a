import { h } from "../../../../reports/page/shared/dom.js";
import { estimate } from "../../../../reports/text/format-estimate.js";
import { table } from "../tables.js";
import type { ReviewSummaryJson } from "./review-types.js";

/** `12 to decide. 30 accepted, 3 edited, 5 rejected.` */
export function countsText({ counts }: ReviewSummaryJson): string {
  const { waiting, accepted, edited, rejected } = counts;
  return `${waiting} to decide. ${accepted} accepted, ${edited} edited, ${rejected} rejected.`;
}

/** How often the reviewer and the checks say the same; nothing while there is nothing to compare. */
export function agreementSection({ agreement }: ReviewSummaryJson): HTMLElement | null {
  const { all, by_check: byCheck } = agreement;
  if (all.n === 0) return null;
  return h(
    "details",
    { class: "agreement" },
    h("summary", {}, `You and the checks say the same: ${estimate(all)}`),
    table(
      "Agreement by check",
      ["Check", "The same said, with its 95 % interval"],
      byCheck.map(({ check, agreement: same }) => [check, estimate(same)]),
    ),
    h("p", { class: "hint" }, "The same: it passed and you accepted it as it stood, or it failed and you did not."),
  );
}
