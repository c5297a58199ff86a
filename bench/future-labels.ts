// Emails of real mailboxes that were read together with the mail that followed, and how often the rules agree.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { wilson } from "../src/statistics/intervals.js";
import { SELECTION_KINDS } from "../src/tasks/selection.js";
import { estimate, share } from "../src/text/format.js";

const LABELS = fileURLToPath(new URL("../fixtures/future/labels.tsv", import.meta.url));

/** A decision whether an email is right in a task of this kind, mailbox and date. */
export interface Label {
  readonly id: string;
  readonly mailbox: string;
  readonly date: string;
  readonly kind: string;
  /** The verdict of the rule when the email was read: yes or no. */
  readonly rule: string;
  /** The reader's decision: yes, no, or unknown. */
  readonly read: string;
  /**
   * Whether the reader decided without the verdict of the rule: yes or no. `again`: the reader saw it, and later
   * decided the same without it.
   */
  readonly blind: string;
}

export function readLabels(): readonly Label[] {
  const [, ...lines] = readFileSync(LABELS, "utf8").trim().split("\n");
  return lines.map((line) => {
    const [id = "", mailbox = "", date = "", kind = "", rule = "", read = "", blind = ""] = line.split("\t");
    return { id, mailbox, date, kind, rule, read, blind };
  });
}

export const AGREEMENT_COLUMNS = ["kind", "read", "agree", "if the rules say right", "otherwise", "F1 of the reader"];

/** Returns the cells of the table of agreement: for each kind a row of all decided emails, and one of the blind ones. */
export function agreementRows(labels: readonly Label[]): readonly (readonly string[])[] {
  const decided = labels.filter(({ read }) => read !== "unknown");
  return SELECTION_KINDS.flatMap((kind) => {
    const all = decided.filter((label) => label.kind === kind);
    return [
      [kind, "all", ...agreementCells(all)],
      [kind, "blind", ...agreementCells(all.filter(({ blind }) => blind === "yes"))],
    ];
  });
}

function agreementCells(labels: readonly Label[]): readonly string[] {
  const rate = (some: readonly Label[]) => {
    const agreed = some.filter(({ rule, read }) => rule === read).length;
    return estimate({ value: agreed / some.length, ...wilson(agreed, some.length), n: some.length });
  };
  const [right, others] = ["yes", "no"].map((verdict) => labels.filter(({ rule }) => rule === verdict));
  const hits = labels.filter(({ rule, read }) => rule === "yes" && read === "yes").length;
  const misses = labels.filter(({ rule, read }) => rule !== read).length;
  return [rate(labels), rate(right ?? []), rate(others ?? []), share((2 * hits) / (2 * hits + misses))];
}
