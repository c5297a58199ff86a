import { existsSync } from "node:fs";
import type { JsonValue } from "../../src/platform/json.js";
import { findMachineHost } from "../../src/sandbox/bubblewrap-machine.js";
import { readSnapshots, snapshotOf } from "../../src/sandbox/machine-snapshots.js";
import { openTaskMachine, type SandboxedMachine } from "../../src/sandbox/open-task-machine.js";
import type { TaskMachine } from "../../src/sandbox/task-machine.js";
import { toTool } from "../../src/tools/load-tools.js";
import { openMailbox } from "../../src/tools/mailbox.js";
import type { ToolContext } from "../../src/tools/tool.js";
import { getTool } from "../../src/tools/tools-store.js";
import { never, type TestDb } from "../runs/demo-setup.js";
import { context } from "./demo-tools.js";

/** Machines for the tools' tests, each with the registry's tools. */

/** A folder of Python packages with nbclient and ipykernel, if the machine's own Python does not have them. */
export const PACKAGES = process.env.ART_E_PYTHON_PACKAGES ?? "";

/**
 * One machine for all tests of a file, which closes it. Each test works in its own folder. Null if no machine is
 * supported.
 */
export async function startSandboxed(): Promise<SandboxedMachine | null> {
  const choice = await findMachineHost();
  if (!choice.ok) return null;
  const base = snapshotOf("base", await readSnapshots(null));
  const packages = existsSync(PACKAGES) ? { readOnly: [PACKAGES], env: { PYTHONPATH: PACKAGES } } : {};
  return openTaskMachine(choice.host, { ...base, ...packages }, { hidden: [] }, never).catch(() => null);
}

export async function hasNotebooks(sandboxed: SandboxedMachine | null): Promise<boolean> {
  const argv = ["python3", "-c", "import nbclient, ipykernel"];
  const run = await sandboxed?.run({ argv, cwd: null, env: {}, timeoutMs: 60_000 }, never);
  return run?.exitCode === 0;
}

export function callTool(
  { db }: TestDb,
  machine: TaskMachine | undefined,
  id: string,
  args: JsonValue,
  changes: Partial<ToolContext> = {},
) {
  const tool = toTool({ tool: getTool(db, id), config: null }, { mailbox: openMailbox(db) });
  return tool.call(args, { ...context, ...(machine === undefined ? {} : { machine }), ...changes });
}
