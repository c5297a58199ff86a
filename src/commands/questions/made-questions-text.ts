import type { EstimatedCalls, MakingEstimate } from "../../app/questions/making/estimate-making.js";
import { PATTERNS_MODEL } from "../../app/questions/making/make-options.js";
import type { MadeQuestions } from "../../app/questions/making/make-questions.js";
import { count, usd } from "../../reports/text/format-number.js";
import { summaryBox } from "../../reports/text/summary-box.js";

/** What `questions make` did. */
export function madeText(made: MadeQuestions): string {
  const refused = Object.entries(made.refused);
  const isSynthetic = made.model === PATTERNS_MODEL;
  return [
    summaryBox(`ART-E Questions (${made.model})`, [
      ...mailRows(made),
      ["Questions", count(made.questions) + (made.shortfall === null ? "" : ` (${made.shortfall})`)],
      ["Kinds", listed(made.byKind)],
      ["Unanswerable", count(made.unanswerable)],
      ["Easy", `${count(made.easy)} repeat a phrase of their mail`],
      ["Checked by", made.checker ?? "rules alone"],
      ["Cost", `${usd(made.costUsd)} for ${count(made.calls)} calls, ${count(made.cachedReplies)} more from the cache`],
      ["Written", `${made.output}, and how each was made: ${made.provenance}`],
    ]),
    ...(refused.length === 0
      ? []
      : ["Refused:", ...refused.map(([reason, number]) => `  ${count(number)}  ${reason}`)]),
    ...(isSynthetic
      ? [
          "",
          "These questions are synthetic: templates filled with values that patterns find. Good for the search, not for a verdict.",
        ]
      : []),
    "",
    `Next: art-e run --agent baseline --dataset ${made.output} --limit 0`,
  ].join("\n");
}

/** What it would take. */
export function estimateText(estimate: MakingEstimate): string {
  const { model, questions, expected, batches, writer, checker, costUsd } = estimate;
  return summaryBox(`ART-E Questions, dry run (${model})`, [
    ...mailRows(estimate),
    [
      "Questions",
      count(questions) +
        (expected === null || expected === questions
          ? ""
          : `; the mail probably gives no more than ${count(expected)}`),
    ],
    ...(batches === null
      ? []
      : [["Batches", `${count(batches.needed)} of ${count(batches.available)}, of up to 20 mails`] as const]),
    ["Written by", writer === null ? `${model}, without a call` : callsText(writer)],
    ["Checked by", checker === null ? "rules alone" : callsText(checker)],
    ["Cost", costUsd === null ? "unknown: no price is known for the model" : `about ${usd(costUsd)}`],
    ...(writer === null && checker === null
      ? []
      : [["Taken for it", "every second draft passes; nothing of it is in the cache"] as const]),
  ]);
}

function callsText({ model, calls, usage }: EstimatedCalls): string {
  return `${model}: ${count(calls)} calls, ${count(usage.inputTokens)} tokens in, ${count(usage.outputTokens)} out`;
}

function mailRows({ mailboxes, mails }: Pick<MadeQuestions, "mailboxes" | "mails">): [string, string][] {
  return [
    ["Mailboxes", `${count(mailboxes)}, ${count(mails.all)} mails, ${count(mails.usable)} of them usable`],
    ["Left out", listed(mails.leftOut)],
  ];
}

function listed(counts: Readonly<Record<string, number>>): string {
  const parts = Object.entries(counts).map(([name, number]) => `${name} ${count(number)}`);
  return parts.length === 0 ? "none" : parts.join(", ");
}
