import { spawn } from "node:child_process";

/** The program that opens an address, with its first arguments; on other systems xdg-open. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly string[]>>> = {
  darwin: ["open"],
  // Not `start`: that is of the shell, which would read the & of an address as its own.
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** An opener that still runs after so long has opened something: some end with the browser. */
const SETTLED_MS = 3_000;

/** Opens a file or an address in the user's browser. False: this machine has no program for it, or it failed. */
export function openInBrowser(target: string): Promise<boolean> {
  const [program = "", ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  return new Promise((resolve) => {
    const opener = spawn(program, [...args, target], { detached: true, stdio: "ignore" });
    opener.unref();
    const settled = setTimeout(() => resolve(true), SETTLED_MS);
    const end = (isOpen: boolean) => {
      clearTimeout(settled);
      resolve(isOpen);
    };
    opener.once("error", () => end(false));
    opener.once("exit", (code) => end(code === 0));
  });
}
