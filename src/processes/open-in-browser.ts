import { spawn } from "node:child_process";

/** Some openers stay as long as the browser they started; one that has not failed by then has not failed. */
const PATIENCE_MS = 2_000;

/** Opens a file or an address as the platform does. False where it has no opener, or that fails. */
export function openInBrowser(target: string): Promise<boolean> {
  const [program, ...args] = openerOf(process.platform);
  const opener = spawn(program, [...args, target], { detached: true, stdio: "ignore" });
  opener.unref();
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(true), PATIENCE_MS);
    const settle = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    opener.on("error", () => settle(false)).on("exit", (code) => settle(code === 0));
  });
}

function openerOf(platform: NodeJS.Platform): readonly [program: string, ...args: string[]] {
  if (platform === "darwin") return ["open"];
  // Not `start`: that is of the shell, which would read an address's & as its own.
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return ["xdg-open"];
}
