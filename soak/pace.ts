import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { startModelServer, writeQuestions } from "../bench/harness.js";

export interface PaceFigures {
  readonly rpm: number;
  readonly minutes: readonly { readonly taken: number; readonly refused: number }[];
  /** Fraction of the allowed requests that were made, from the second minute to the last complete one. */
  readonly used: number;
  /** Fraction of the requests in that time that were refused. */
  readonly refused: number;
}

/** A run against a server with a limit on requests per minute, in real time. */
export async function pace(
  bin: string,
  db: string,
  folder: string,
  { rpm, minutes }: { rpm: number; minutes: number },
): Promise<PaceFigures> {
  const server = await startModelServer("--rpm", String(rpm), "--latency", "300");
  try {
    const questions = writeQuestions(db, join(folder, "pace.jsonl"), Math.ceil((rpm * (minutes + 1)) / 3));
    const args = ["run", "-a", "email-search", "--db", db, "--json", "--quiet", "-l", "0", "--dataset", questions];
    const limits = ["--model-id", "openai/bench", "--base-url", `${server.url}/v1`, "--max-time", String(minutes)];
    // The run ends at its time limit, so its exit code is not 0.
    await promisify(execFile)(process.execPath, [bin, ...args, ...limits], {
      env: { ...process.env, OPENAI_API_KEY: "soak" },
      maxBuffer: 1 << 26,
    }).catch(({ stderr }: { stderr: string }) => {
      if (!stderr.includes("--max-time is over")) throw new Error(stderr);
    });
    const seen = (await (await fetch(`${server.url}/figures`)).json()) as PaceFigures["minutes"];
    const counted = seen.slice(1, minutes);
    const taken = counted.reduce((sum, minute) => sum + minute.taken, 0);
    const refused = counted.reduce((sum, minute) => sum + minute.refused, 0);
    return { rpm, minutes: seen, used: taken / (rpm * counted.length), refused: refused / (taken + refused) };
  } finally {
    server.stop();
  }
}
