import { chmodSync } from "node:fs";
import { join } from "node:path";
import { writeFiles } from "./temporary-folder.js";

/** A small Harbor task: write "yes" into /app/answer.txt. */
const FILES: Readonly<Record<string, string>> = {
  "task.toml": 'version = "1.0"\n[metadata]\ntags = ["small"]\n',
  "instruction.md": "Write yes into /app/answer.txt.\n",
  "environment/Dockerfile": "FROM debian:12-slim\nWORKDIR /app\n",
  "tests/test.sh": '#!/bin/bash\n[ "$(cat /app/answer.txt)" = yes ]\necho $((1 - $?)) > /logs/verifier/reward.txt\n',
  "solution/solve.sh": "#!/bin/bash\necho yes > answer.txt\n",
};

/** Writes a task's folder with changed files. Null omits a file. */
export function writeHarborTask(folder: string, files: Readonly<Record<string, string | null>> = {}): string {
  for (const [path, content] of Object.entries({ ...FILES, ...files })) {
    if (content === null) continue;
    writeFiles(folder, { [path]: content });
    if (content.startsWith("#!")) chmodSync(join(folder, path), 0o755);
  }
  return folder;
}
