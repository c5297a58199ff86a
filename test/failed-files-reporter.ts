import { writeFileSync } from "node:fs";
import type { Reporter, TestModule } from "vitest/node";

/** Writes the paths of the files with failed tests to the file that ART_E_FAILED_FILES names, for `.ci/run`. */
export default class FailedFilesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const path = process.env.ART_E_FAILED_FILES;
    if (path === undefined) return;
    const failed = modules.filter((module) => module.state() === "failed");
    writeFileSync(path, failed.map(({ relativeModuleId }) => `${relativeModuleId}\n`).join(""));
  }
}
