import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";

const BIN = join(import.meta.dirname, "../bin/art-e.js");

/** Starts a command of the built program that serves a page, and returns the URL that it prints. */
export async function startPage(
  folder: string,
  args: readonly string[],
): Promise<{ readonly child: ChildProcess; readonly url: string }> {
  const child = spawn(process.execPath, [BIN, ...args], {
    cwd: folder,
    env: { ...process.env, OPENAI_API_KEY: "demo" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8");
    stream.on("data", (chunk: string) => {
      text += chunk;
    });
  }
  for (;;) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+\S*(?=\s)/.exec(text) ?? [];
    if (url !== undefined) return { child, url };
    if (child.exitCode !== null) throw new Error(`art-e ${args.join(" ")} ended: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
