import { writeDockerfile } from "../../sandbox/task-machine/docker/dockerfile.js";
import { readSnapshots, snapshotOf } from "../../sandbox/task-machine/snapshots/read-snapshots.js";
import { openSuiteFolder } from "../../suites/definition/suite-folder.js";

/** The Dockerfile of a snapshot, of the suite in this folder or a built-in one. */
export async function snapshotImage(name: string, folder: string | undefined): Promise<string> {
  const root = folder === undefined ? null : openSuiteFolder(folder).root;
  return writeDockerfile(snapshotOf(name, await readSnapshots(root)));
}
