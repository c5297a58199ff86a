import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { JsonObject } from "../src/platform/json.js";
import { taskMailbox } from "../src/questions/dataset.js";
import { openStore } from "../src/store/open-store.js";
import { table } from "../src/text/format.js";
import { toTool } from "../src/tools/load-tools.js";
import { openMailbox } from "../src/tools/mailbox.js";
import { getTool } from "../src/tools/tools-store.js";
import { importOurs } from "./import.js";
import { writeKaggleCsv } from "./synthetic-corpus.js";

const STATES = 1_024;
const ACTIONS = 10;

export interface ActionsBenchOptions {
  readonly mails: number;
  /** A folder that keeps the synthetic mail. */
  readonly keep: string | undefined;
  readonly json: boolean;
}

/** Starts 1,024 states of one mailbox at the same time, and acts in each of them through the tools of an agent. */
export async function printActionsBench({ mails, keep, json }: ActionsBenchOptions): Promise<void> {
  const folder = keep ?? mkdtempSync(join(tmpdir(), "art-e-bench-"));
  mkdirSync(folder, { recursive: true });
  try {
    const csv = join(folder, `mail-${mails}.csv`);
    const file = join(folder, `actions-${mails}.db`);
    if (!existsSync(csv)) await writeKaggleCsv(csv, { mails, seed: 1 });
    if (!existsSync(file)) importOurs(csv, file);
    const figures = { mails, ...(await measure(file)) };
    const rows = Object.entries(figures).map(([name, value]) => [name, value.toLocaleString("en-US")]);
    console.log(json ? JSON.stringify(figures, null, 2) : table(["actions in mailboxes", ""], rows));
  } finally {
    if (keep === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(file: string) {
  const db = openStore(file, { mustExist: true });
  try {
    const { inbox, ids } = largestMailbox(db);
    const mailbox = openMailbox(db);
    const tool = (id: string) => toTool({ tool: getTool(db, id), config: null }, { mailbox });
    const [label, move, draft] = [tool("label_emails"), tool("move_emails"), tool("create_draft")];
    const signal = new AbortController().signal;
    const start = () => ({ ...taskMailbox({ inbox_address: inbox, query_date: "2002-12-31" }, "off").access, signal });
    const act = async (context: ReturnType<typeof start>, i: number) => {
      const message_ids = [ids[i % ids.length] ?? ""];
      const calls: readonly [typeof label, JsonObject][] = [
        [label, { message_ids, add: [`Label ${i % 7}`] }],
        [move, { message_ids, folder: "Projects" }],
        [draft, { to: ["ann@x.example"], subject: `Draft ${i}`, body: "The folder is on its way.".repeat(20) }],
      ];
      const [called, args] = calls[i % calls.length] ?? [label, {}];
      const result = await called.call(args, context);
      if (!result.ok) throw new Error(result.error);
    };
    // So that the code is compiled, and the mailbox has been read.
    for (let i = 0; i < 100; i++) await act(start(), i);

    const memory = liveBytes();
    const started = process.cpuUsage();
    const states = Array.from({ length: STATES }, start);
    const startMs = cpuMs(started) / STATES;
    const acting = process.cpuUsage();
    for (const [n, state] of states.entries()) for (let i = 0; i < ACTIONS; i++) await act(state, n + i);
    const actionsPerMs = (STATES * ACTIONS) / cpuMs(acting);
    const megabytes = (liveBytes() - memory) / 2 ** 20;
    if (states.some(({ state }) => state.isUntouched)) throw new Error("a state is unchanged");
    return {
      "processor ms per start": round(startMs, 4),
      [`MB of ${STATES} states with ${ACTIONS} changes each`]: round(megabytes, 1),
      "actions per processor ms": round(actionsPerMs, 1),
    };
  } finally {
    db.close();
  }
}

function largestMailbox(db: ReturnType<typeof openStore>): { readonly inbox: string; readonly ids: readonly string[] } {
  const { id, inbox } = db
    .prepare<[], { id: number; inbox: string }>(
      `SELECT a.id, a.address AS inbox FROM addresses a JOIN mailboxes b ON b.address_id = a.id
       GROUP BY a.id ORDER BY count(*) DESC LIMIT 1`,
    )
    .get() ?? { id: 0, inbox: "" };
  const ids = db
    .prepare<[number], string>(
      `SELECT f.message_id FROM mailboxes b JOIN mail_order o ON o.position = b.position
       JOIN messages f ON f.mail_id = o.mail_id WHERE b.address_id = ? LIMIT 1000`,
    )
    .pluck()
    .all(id) as string[];
  return { inbox, ids };
}

function liveBytes(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  return process.memoryUsage().heapUsed;
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
