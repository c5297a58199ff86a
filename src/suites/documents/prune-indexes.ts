import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";

/** Indexes that are kept for the next time: those that were used last. */
const KEPT = 8;
/** Parts of killed programs; a younger one may still be written. */
const PART_MS = 86_400_000;

/** Removes what is no longer used of a folder of indexes. One that another program has open stays readable to it. */
export async function pruneIndexes(folder: string): Promise<void> {
  const names = await readdir(folder);
  const files = await Promise.all(
    names.map(async (name) => ({ name, usedMs: (await stat(join(folder, name)).catch(() => null))?.mtimeMs ?? 0 })),
  );
  const parts = files.filter(({ name, usedMs }) => name.endsWith(".part") && usedMs < Date.now() - PART_MS);
  const indexes = files.filter(({ name }) => name.endsWith(".sqlite")).sort((a, b) => b.usedMs - a.usedMs);
  for (const { name } of [...parts, ...indexes.slice(KEPT)]) await rm(join(folder, name), { force: true });
}
