import { readFile, stat, writeFile } from "node:fs/promises";
import { z } from "zod";
import type { TaskMachine } from "../../../domain/tasks/task-machine.js";
import { parseJsonOrNull } from "../../../platform/parse-json.js";
import { WORKSPACE_LIMITS } from "../../../sandbox/sandbox-limits.js";
import { machinePath } from "./machine-path.js";
import { MachineRefusal, ONLY_FILES } from "./on-machine.js";
import { readProgram } from "./read-program.js";
import { withTemporaryFile } from "./temporary-file.js";

const INSPECT_MS = 30_000;
const EXECUTABLE = 0o755;

/** Reads a complete UTF-8 text file of the machine; refuses anything else. */
export async function readMachineText(machine: TaskMachine, path: string): Promise<string> {
  const bytes = await withTemporaryFile(async (file) => {
    if (!(await machine.copyOut(machinePath(path), file))) {
      throw new MachineRefusal(
        `${path} is no regular file: it does not exist, or is a folder, or is or goes through a link. list_files shows what there is.`,
      );
    }
    const { size } = await stat(file);
    if (size > WORKSPACE_LIMITS.fileBytes) throw new MachineRefusal(`${path} is too large: ${size} bytes.`);
    return readFile(file);
  });
  try {
    if (!bytes.includes(0)) return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    // Not UTF-8.
  }
  throw new MachineRefusal(`${path} is a binary file of ${bytes.length} bytes, not UTF-8 text.`);
}

/** Writes or replaces a file of the machine, and says how many bytes it has. Creates parent folders. */
export async function writeMachineText(
  machine: TaskMachine,
  path: string,
  content: string,
  signal: AbortSignal,
): Promise<number> {
  const bytes = Buffer.from(content, "utf8");
  const target = machinePath(path);
  const there = machine.canRun ? await inspect(machine, target, 0, signal) : null;
  if (there?.type === "folder") throw new MachineRefusal(`${path} is a folder.`);
  await withTemporaryFile(async (file) => {
    await writeFile(file, bytes, { mode: there?.executable === true ? EXECUTABLE : 0o644 });
    await machine.copyIn(file, target);
  });
  return bytes.length;
}

const entrySchema = z.object({ path: z.string(), type: z.enum(["file", "folder", "link", "other"]), size: z.number() });
const inspectionSchema = z.object({
  type: z.enum(["file", "folder", "link", "other", "none"]),
  executable: z.boolean(),
  error: z.string().nullable(),
  entries: z.array(entrySchema),
  total: z.number(),
});

/**
 * What is below a folder of the machine, by path and relative to it, those of upper folders before those of lower
 * ones where there are more than `limit`. Folders whose names begin with a dot are listed without what is in them.
 */
export async function listMachineFolder(machine: TaskMachine, path: string, limit: number, signal: AbortSignal) {
  if (!machine.canRun) throw new MachineRefusal(`${ONLY_FILES} Its files can be read by their paths.`);
  const { type, error, entries, total } = await inspect(machine, machinePath(path), limit, signal);
  if (type === "none") throw new MachineRefusal(`${path} does not exist in the machine.`);
  if (type !== "folder") throw new MachineRefusal(`${path} is not a folder.`);
  if (error !== null) throw new MachineRefusal(`${path} cannot be listed: ${error}.`);
  return { folder: machinePath(path), entries, total };
}

async function inspect(machine: TaskMachine, path: string, limit: number, signal: AbortSignal) {
  const argv = ["python3", "-I", "-S", "-c", await readProgram("inspect-path.py"), path, String(limit)];
  const { stdout, stderr } = await machine.run({ argv, cwd: "/", env: {}, timeoutMs: INSPECT_MS }, signal);
  const parsed = inspectionSchema.safeParse(parseJsonOrNull(stdout));
  if (parsed.success) return parsed.data;
  throw new Error(stderr.trim().split("\n").at(-1) || "its answer cannot be read");
}
