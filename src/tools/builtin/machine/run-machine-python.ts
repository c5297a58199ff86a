import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import type { ToolResult } from "../../../domain/agents/tool.js";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { cutMiddle } from "./cut-middle.js";
import { withTemporaryFile } from "./temporary-file.js";

const SECONDS = 120;
const OUTPUT_CHARS = 20_000;

/** As with `python3 -c`, modules of the working folder can be imported; unlike it, errors show the source's lines. */
const SCRIPT = `PYTHONPATH="$PWD\${PYTHONPATH:+:$PYTHONPATH}" python3 "$1/main.py"; code=$?; rm -rf "$1"; exit "$code"`;

/** Runs a program with the machine's Python, in the user's home. */
export async function runMachinePython(machine: TaskMachine, code: string, signal: AbortSignal): Promise<ToolResult> {
  const folder = `/tmp/execute_python/${randomUUID()}`;
  await withTemporaryFile(async (file) => {
    await writeFile(file, code);
    await machine.copyIn(file, `${folder}/main.py`);
  });
  const run = await machine.run(
    { argv: ["bash", "-c", SCRIPT, "bash", folder], cwd: null, env: {}, timeoutMs: SECONDS * 1_000 },
    signal,
  );
  const [stdout, stderr] = [run.stdout, run.stderr.replaceAll(`${folder}/main.py`, "main.py")];
  return {
    ok: true,
    value: {
      stdout: cutMiddle(stdout, OUTPUT_CHARS),
      stderr: cutMiddle(stderr, OUTPUT_CHARS),
      exit_code: run.exitCode,
      timed_out: run.exitCode === null,
      truncated: Math.max(stdout.length, stderr.length) > OUTPUT_CHARS,
      ...(run.exitCode === null
        ? { stopped: `Stopped after ${SECONDS} seconds. Do less in one call, or use run_shell.` }
        : {}),
    },
  };
}
