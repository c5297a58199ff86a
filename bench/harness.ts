import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import OpenAI, { type ClientOptions } from "openai";
import pLimit from "p-limit";
import { Agent, fetch as undiciFetch } from "undici";
import { openStore } from "../src/store/open-store.js";
import { median } from "./quantiles.js";

const ROOT = fileURLToPath(new URL("../", import.meta.url));
const JITI = join(ROOT, "node_modules/jiti/lib/jiti-cli.mjs");

export interface HarnessBench {
  readonly tasks: number;
  readonly atOnce: number;
  readonly latencyMs: number;
  /**
   * Tasks per second, with three turns per task. Our runs search real mail, score and store; the bare SDK does nothing
   * of it.
   */
  readonly ours: number;
  /** With Node's own fetch and default settings. */
  readonly bareSdk: number;
  /** With undici's fetch over a pool of one connection per task. */
  readonly pooledSdk: number;
  readonly peakMegabytes: number;
}

/** Both use the same model server in a separate process. */
export async function benchHarness(
  file: string,
  folder: string,
  { tasks, atOnce, latencyMs, runs }: { tasks: number; atOnce: number; latencyMs: number; runs: number },
): Promise<HarnessBench> {
  const server = await startModelServer("--latency", String(latencyMs));
  try {
    const baseUrl = `${server.url}/v1`;
    const questions = writeQuestions(file, join(folder, "questions.jsonl"), tasks);
    const ours: { rate: number; peak: number }[] = [];
    const bare: number[] = [];
    const pooled: number[] = [];
    // So that the server's own code is compiled before the measurement.
    await bareOver(baseUrl, 500, 64, "default");
    for (let run = 0; run < runs; run++) {
      ours.push(await oursOver(file, questions, baseUrl, atOnce));
      bare.push(await bareOver(baseUrl, tasks, atOnce, "default"));
      pooled.push(await bareOver(baseUrl, tasks, atOnce, "pooled"));
    }
    return {
      tasks,
      atOnce,
      latencyMs,
      ours: median(ours.map(({ rate }) => rate)),
      bareSdk: median(bare),
      pooledSdk: median(pooled),
      peakMegabytes: median(ours.map(({ peak }) => peak)),
    };
  } finally {
    server.stop();
  }
}

/** In a separate process. */
export async function startModelServer(...args: string[]): Promise<{ url: string; stop(): void }> {
  const server = spawn(process.execPath, [JITI, join(ROOT, "bench/model-server.ts"), ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [data] = (await once(server.stdout, "data")) as [Buffer];
  return { url: `http://127.0.0.1:${Number(data.toString())}`, stop: () => void server.kill() };
}

/** Questions made from the subjects of emails in the file, each about the mailbox of one of its owners. */
export function writeQuestions(file: string, path: string, tasks: number): string {
  const db = openStore(file, { mustExist: true });
  const rows = db
    .prepare(
      `SELECT m.subject, x.message_id AS id, w.address FROM messages x JOIN mails m ON m.id = x.mail_id
       JOIN owners w ON w.id = x.owner_id WHERE w.address IS NOT NULL AND m.subject <> '' LIMIT ?`,
    )
    .all(tasks) as { subject: string; id: string; address: string }[];
  db.close();
  const lines = Array.from({ length: tasks }, (_, i) => {
    const row = rows[i % rows.length];
    return JSON.stringify({
      id: i + 1,
      question: `What did they say about ${row?.subject}?`,
      answer: "benchmark",
      message_ids: [row?.id],
      how_realistic: 1,
      inbox_address: row?.address,
      query_date: "2003-01-01",
    });
  });
  writeFileSync(path, lines.join("\n"));
  return path;
}

/** The built program. The rate excludes startup and shutdown, because it comes from the run's own clock. */
export async function oursOver(
  file: string,
  questions: string,
  baseUrl: string,
  atOnce: number,
  more: readonly string[] = [],
) {
  const reporter = `data:text/javascript,process.on("exit", () => process.stderr.write("\\npeak " + process.resourceUsage().maxRSS))`;
  const args = ["--import", reporter, join(ROOT, "bin/art-e.js"), "run", "-a", "email-search", "--db", file, "--json"];
  const flags = ["--model-id", "openai/bench", "--base-url", baseUrl, "--dataset", questions, "-l", "0", ...more];
  const { stdout, stderr } = await promisify(execFile)(
    process.execPath,
    [...args, ...flags, "--quiet", "--concurrency", String(atOnce)],
    { env: { ...process.env, OPENAI_API_KEY: "bench" }, maxBuffer: 1 << 26 },
  );
  const { completedTasks, totalTimeMs } = JSON.parse(stdout) as { completedTasks: number; totalTimeMs: number };
  return { rate: (completedTasks / totalTimeMs) * 1_000, peak: Number(/peak (\d+)\s*$/.exec(stderr)?.[1]) / 1024 };
}

/** Only the OpenAI SDK, with tools that do nothing. */
async function bareOver(
  baseUrl: string,
  tasks: number,
  atOnce: number,
  connections: "default" | "pooled",
): Promise<number> {
  const agent = connections === "pooled" ? new Agent({ connections: atOnce, keepAliveTimeout: 60_000 }) : null;
  const client = new OpenAI({
    apiKey: "bench",
    baseURL: baseUrl,
    maxRetries: 0,
    ...(agent === null ? {} : over(agent)),
  });
  const limit = pLimit(atOnce);
  const started = performance.now();
  await limit.map(Array.from({ length: tasks }), async () => {
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      { role: "system", content: "The mailbox is someone@example.com." },
      { role: "user", content: "What was said?" },
    ];
    for (let turn = 0; turn < 3; turn++) {
      const reply = await client.chat.completions.create({ model: "bench", messages });
      const message = reply.choices[0]?.message;
      if (message === undefined) throw new Error("no reply");
      messages.push(message);
      for (const call of message.tool_calls ?? []) {
        messages.push({
          role: "tool",
          tool_call_id: call.id,
          content: '{"emails":[{"message_id":"<1@example.com>"}]}',
        });
      }
    }
  });
  const seconds = (performance.now() - started) / 1_000;
  await agent?.close();
  return tasks / seconds;
}

/** undici has its own types for fetch. */
function over(dispatcher: Agent): Pick<ClientOptions, "fetch"> {
  const pooled = (url: unknown, init: object = {}) => undiciFetch(url as string, { ...init, dispatcher });
  return { fetch: pooled as unknown as typeof fetch };
}
