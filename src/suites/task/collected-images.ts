// Collects the images that an agent created, from files and notebooks.
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { parseJsonOrNull } from "../../platform/json.js";
import { HOME, type TaskMachine } from "../../sandbox/task-machine.js";
import { makeTemporaryFolder } from "../../sandbox/workspace.js";
import {
  type FinalState,
  MAX_PICTURE_BYTES,
  MAX_PICTURES,
  MAX_PICTURES_BYTES,
  type Picture,
} from "../../tasks/suite-task.js";

/** Maximum number of collected files. */
const MAX_FILES = 50;
/** Maximum size of a file in bytes. Larger ones are not copied out. */
const MAX_FILE_BYTES = 10_000_000;
const FIND_MS = 20_000;

/**
 * Collects the images in the user's home that were written after `since`: PNG files and the images in notebooks. Skips
 * hidden folders and installed packages. Returns null if the machine cannot be searched.
 */
export async function collectFinalState(
  machine: TaskMachine,
  since: Date,
  signal: AbortSignal,
): Promise<FinalState | null> {
  if (!machine.canRun) return null;
  const folder = await makeTemporaryFolder("left");
  try {
    const pictures = new KeptPictures();
    for (const path of await findFiles(machine, since, signal)) await addPictures(machine, path, folder, pictures);
    return pictures.all();
  } catch {
    // The machine belongs to the agent, so a failure to collect from it must not affect the grade.
    signal.throwIfAborted();
    return null;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function findFiles(machine: TaskMachine, since: Date, signal: AbortSignal): Promise<string[]> {
  const passedOver = "( -name .?* -o -name site-packages -o -name node_modules ) -prune".split(" ");
  const imageFiles = "-type f ( -iname *.png -o -iname *.ipynb )".split(" ");
  const recentFiles = ["-newerct", `@${since.getTime() / 1_000}`, "-size", `-${MAX_FILE_BYTES + 1}c`];
  const argv = ["find", HOME, "-xdev", ...passedOver, "-o", ...imageFiles, ...recentFiles, "-print0"];
  const { stdout } = await machine.run({ argv, cwd: "/", env: {}, timeoutMs: FIND_MS }, signal);
  const paths = stdout.split("\0").filter((path) => path !== "");
  return paths.sort().slice(0, MAX_FILES);
}

async function addPictures(machine: TaskMachine, path: string, folder: string, pictures: KeptPictures): Promise<void> {
  const file = join(folder, "file");
  if (!(await machine.copyOut(path, file))) return;
  const { size } = await stat(file);
  // The file might have grown since it was found.
  if (size > MAX_FILE_BYTES) return;
  if (path.toLowerCase().endsWith(".png")) {
    if (size > MAX_PICTURE_BYTES) pictures.omit();
    else pictures.add(path, null, await readFile(file));
  } else {
    for (const { cell, bytes } of notebookPictures(await readFile(file, "utf8"))) pictures.add(path, cell, bytes);
  }
}

/** Images up to the limits on their number and size. */
class KeptPictures {
  private readonly pictures: Picture[] = [];
  private bytes = 0;
  private omitted = 0;

  omit(): void {
    this.omitted++;
  }

  /** Adds an image if it is a PNG file. */
  add(path: string, cell: number | null, bytes: Buffer): void {
    const size = pngSize(bytes);
    if (size === null) return;
    const isTooMuch = bytes.length > MAX_PICTURE_BYTES || this.bytes + bytes.length > MAX_PICTURES_BYTES;
    if (isTooMuch || this.pictures.length === MAX_PICTURES) {
      this.omit();
      return;
    }
    this.bytes += bytes.length;
    this.pictures.push({ path, cell, ...size, data: bytes.toString("base64") });
  }

  all(): FinalState {
    return { pictures: this.pictures, omitted: this.omitted };
  }
}

const SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const MAX_SIDE = 20_000;
const MAX_PIXELS = 16 * 1024 * 1024;

/**
 * Returns the width and height from a PNG's header, or null if it is not a PNG or would take too much memory to show.
 */
export function pngSize(bytes: Buffer): { readonly width: number; readonly height: number } | null {
  if (bytes.length < 33 || !bytes.subarray(0, 8).equals(SIGNATURE)) return null;
  if (bytes.toString("latin1", 12, 16) !== "IHDR") return null;
  const [width, height] = [bytes.readUInt32BE(16), bytes.readUInt32BE(20)];
  const isShown = width > 0 && height > 0 && Math.max(width, height) <= MAX_SIDE && width * height <= MAX_PIXELS;
  return isShown ? { width, height } : null;
}

const lines = z.union([z.string(), z.array(z.string()).transform((parts) => parts.join(""))]);

/** Notebook outputs. Only images are read, and other formats do not contain any. */
const notebookSchema = z.object({
  cells: z.array(
    z.object({
      outputs: z
        .array(z.object({ data: z.object({ "image/png": lines.optional().catch(undefined) }).optional() }).catch({}))
        .catch([]),
    }),
  ),
});

/** Returns the images in a notebook. Cell numbers start at 0, as in run_notebook. */
export function notebookPictures(text: string): { readonly cell: number; readonly bytes: Buffer }[] {
  const notebook = notebookSchema.safeParse(parseJsonOrNull(text));
  if (!notebook.success) return [];
  return notebook.data.cells.flatMap(({ outputs }, i) =>
    outputs.flatMap(({ data }) => {
      const base64 = data?.["image/png"];
      return base64 === undefined ? [] : [{ cell: i, bytes: Buffer.from(base64, "base64") }];
    }),
  );
}
