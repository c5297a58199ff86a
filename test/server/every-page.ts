import { SECTIONS } from "../../src/web/app/sections.js";

/** Every kind of page that `art-e serve` shows: its sections, and what they show of one run, trace or chat. */

/** Ids of what the pages show. */
export interface ShownIds {
  readonly runs: readonly [string, string];
  /** `RUN/TASK/EPOCH` */
  readonly task: string;
  readonly trace: string;
  readonly session: string;
  readonly mail: string;
  /** Tasks of other kinds of runs, as `RUN/TASK/EPOCH`, by the kind. */
  readonly others: Readonly<Record<string, string>>;
  readonly evalName?: string;
}

export interface PageView {
  readonly name: string;
  readonly hash: string;
  /** Selector of the part that appears last. */
  readonly last: string;
}

const ROWS = "main tbody tr";

export function everyPage({ runs, task, trace, session, mail, others, evalName }: ShownIds): PageView[] {
  const [run] = runs;
  const compared = runs.join(",");
  const views: readonly (readonly [name: string, hash: string, last: string])[] = [
    ["ask", "chat", "#question"],
    ["ask-agent", "chat/baseline", "#question"],
    ["chats", "chats", ROWS],
    ["chat", `chats/${session}`, ".chat .answer"],
    ["runs", "runs", ROWS],
    ["no-runs", "runs?q=status:running", ".notice"],
    ["run", `runs/${run}`, "tr[data-index]"],
    ["run-unknown", "runs/none", ".notice.bad"],
    ["task", `runs/${run}?task=${task}`, "dialog .columns"],
    ["compare", `compare/${compared}`, "tr[data-index]"],
    ["compare-task", `compare/${compared}?task=${task}`, "dialog .columns"],
    ["traces", "traces", ROWS],
    ["trace", `trace/${trace}`, ".conversation"],
    ["mail", `mail/${encodeURIComponent(mail)}`, "article.mail"],
    ["agents", "agents", ROWS],
    ["agent", "agents/baseline", "main h3"],
    ["tools", "tools", ROWS],
    ["tool", "tools/email_search", "main h3"],
    ["label-runs", "label", ROWS],
    ["label", `label/${run}`, ".labeling"],
    ["code", `code/${run}`, ".labeling"],
    ["modes", "modes", ROWS],
    ...Object.entries(others).flatMap(([kind, other]) => {
      const hash = `runs/${other.split("/")[0]}`;
      return [
        [`${kind}-run`, hash, "tr[data-index]"],
        [`${kind}-task`, `${hash}?task=${other}`, "dialog .columns"],
      ] as const;
    }),
    ...(evalName === undefined ? [] : [["eval", `evals/${evalName}`, "main h3"] as const]),
  ];
  const hashes = new Set(views.map(([, hash]) => hash));
  const lists = SECTIONS.all.filter((section) => !hashes.has(section));
  return [...views, ...lists.map((section) => [`${section}-list`, section, "main h2"] as const)].map(
    ([name, hash, last]) => ({ name, hash, last }),
  );
}
