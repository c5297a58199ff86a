import { join } from "node:path";
import { reportCommand } from "../../../src/cli/commands/report.js";
import { readSettings } from "../../../src/cli/settings.js";
import { openOutput } from "../../../src/cli/terminal.js";
import { never, openEmpty, type TestDb } from "../../runs/demo-setup.js";

/** Creates a report page from runs that a test saves, like the command. */

export async function writeReport(
  save: (db: TestDb["db"]) => void,
  flags: Readonly<Record<string, unknown>> = {},
): Promise<{ readonly file: string; readonly folder: string; close(): void }> {
  const test = openEmpty();
  save(test.db);
  const file = join(test.folder, "report.html");
  const settings = readSettings({ db: join(test.folder, "art-e.db"), quiet: true }, {});
  await reportCommand("report").run(
    { output: file, ...flags },
    {
      settings,
      out: openOutput(settings),
      note: () => {},
      progress: () => ({ update() {}, stop() {} }),
      signal: never,
      untilSecond: () => never,
      letSignalsEnd: () => () => {},
    },
  );
  return { file, folder: test.folder, close: () => test.close() };
}
