import type { OpenMonitor } from "../../app/run/execute-run.js";
import { programVersion } from "../../app/settings/program-version.js";
import { UserError } from "../../domain/errors.js";
import type { RunPage } from "../../servers/watch/run-page.js";
import type { CommandContext } from "../cli/command.js";
import { tokenOf } from "../flags/server-token.js";

/** Refuses --watch where nothing runs. */
export function refuseUnwatched({ watch, dryRun }: { readonly watch: boolean; readonly dryRun: boolean }): void {
  if (!watch || !dryRun) return;
  throw new UserError("flags_contradict", "--watch and --dry-run are given.", "Nothing runs that could be watched.");
}

/** Runs `use` with a monitor that also serves the run's page; without --watch with the monitor as it is. */
export async function withRunPage<T>(
  { watch }: { readonly watch: boolean },
  context: CommandContext,
  openMonitor: OpenMonitor,
  use: (openMonitor: OpenMonitor) => Promise<T>,
): Promise<T> {
  if (!watch) return use(openMonitor);
  const token = tokenOf({}, context.settings);
  const { RunPage } = await import("../../servers/watch/run-page.js");
  let page: RunPage | null = null;
  const openBoth: OpenMonitor = (activity) => {
    const monitor = openMonitor(activity);
    const opened = new RunPage({
      path: context.settings.db,
      version: programVersion(),
      token,
      activity,
      isStopping: () => context.signal.aborted,
      note: context.note,
    });
    page = opened;
    return {
      ...monitor,
      emit(event) {
        monitor.emit(event);
        opened.add(event);
      },
    };
  };
  try {
    return await use(openBoth);
  } finally {
    await (page as RunPage | null)?.close();
  }
}
