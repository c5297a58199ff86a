import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Gives `work` the path of a file that is not there yet, in a folder of its own that is removed afterwards. */
export async function withTemporaryFile<T>(work: (path: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "art-e-machine-file-"));
  try {
    return await work(join(folder, "file"));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
