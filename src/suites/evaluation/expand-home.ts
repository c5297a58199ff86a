import { HOME } from "../../domain/tasks/task-machine.js";

/** The origin's server expands `~`, and `$HOME` of variables. */
export function expandHome(path: string): string {
  if (path === "~" || path.startsWith("~/")) return HOME + path.slice(1);
  return path.replace(/^\$(HOME|\{HOME\})(?=\/|$)/, HOME);
}
