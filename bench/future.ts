import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { wilson } from "../src/statistics/intervals.js";
import { estimate, share, table } from "../src/text/format.js";
import { importReal } from "./search-quality/question-sets.js";

/**
 * Measures the tasks about the future of a mailbox. First, how often the rules that make them agree with a person who
 * read the emails and what followed. Then, what agents without a language model reach on the tasks of the real mailboxes.
 */

const LABELS = fileURLToPath(new URL("../fixtures/future/labels.tsv", import.meta.url));
const AGENT = fileURLToPath(new URL("./future-agent.mjs", import.meta.url));
const PROGRAM = fileURLToPath(new URL("../bin/art-e.js", import.meta.url));

const AGENTS: Readonly<Record<string, readonly string[]>> = {
  none: ["-a", "noop"],
  "all in the window": ["--agent-command", `${process.execPath} ${AGENT} all`, "-a", "all"],
  "newest 3": ["--agent-command", `${process.execPath} ${AGENT} newest`, "-a", "newest"],
  "open, to one person, question mark": ["--agent-command", `${process.execPath} ${AGENT} rule`, "-a", "rule"],
  baseline: ["-a", "baseline"],
  "mail-rules": ["-a", "mail-rules"],
};

export function printFutureBench(enron: string, folder: string): void {
  printAgreement();
  if (!existsSync(join(enron, "maildir.tar.gz"))) throw new Error(`no mail in ${enron}`);
  const db = importReal(enron, folder);
  const artE = (...args: readonly string[]) =>
    execFileSync(process.execPath, [PROGRAM, "--db", db, "--quiet", ...args], { cwd: folder, encoding: "utf8" });
  for (const kind of ["needs-reply", "waiting-for"]) {
    const dataset = join(folder, `${kind}.jsonl`);
    artE("questions", "make", "--kind", kind, "-n", "2000", "--unanswerable", "0.5", "-o", dataset, "--overwrite");
    const rows = Object.entries(AGENTS).map(([name, flags]) => {
      const output = join(folder, "results.json");
      artE("run", ...flags, "--dataset", dataset, "-l", "0", "-o", output, "--overwrite", "--config", "off");
      const { scores } = JSON.parse(readFileSync(output, "utf8")) as { scores: Record<string, ScoreFigures> };
      const { selectionF1, selectionPrecision, selectionRecall } = scores;
      if (selectionF1 === undefined) throw new Error(`${output} has no selectionF1`);
      const { value, n, byInbox, micro } = selectionF1;
      const microOf = (figures: ScoreFigures | undefined) => share(figures?.micro.value ?? null);
      return [
        name,
        estimate({ value, ...byInbox, n }),
        share(micro.value),
        microOf(selectionPrecision),
        microOf(selectionRecall),
      ];
    });
    console.log(table([kind, "F1, mailboxes as clusters", "F1 of all emails", "precision", "recall"], rows));
  }
}

/** The figures of a score in a results file that this benchmark prints. */
interface ScoreFigures {
  readonly value: number | null;
  readonly n: number;
  readonly byInbox: { readonly low: number | null; readonly high: number | null };
  readonly micro: { readonly value: number | null };
}

function printAgreement(): void {
  const [, ...lines] = readFileSync(LABELS, "utf8").trim().split("\n");
  const labels = lines.map((line) => line.split("\t")).filter(([, , , , , read]) => read !== "unknown");
  const kinds = [...new Set(labels.map(([, , , kind]) => kind ?? ""))];
  const rows = kinds.map((wanted) => {
    const of = labels.filter(([, , , kind]) => kind === wanted);
    const rate = (some: typeof of) => {
      const agreed = some.filter(([, , , , rule, read]) => rule === read).length;
      return estimate({ value: agreed / some.length, ...wilson(agreed, some.length), n: some.length });
    };
    const answered = (rule: string) => rate(of.filter(([, , , , each]) => each === rule));
    return [wanted, rate(of), answered("yes"), answered("no")];
  });
  console.log(table(["rule and reader", "agree", "if the rule says right", "otherwise"], rows));
}
