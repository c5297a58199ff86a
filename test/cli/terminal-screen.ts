import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { BIN } from "./art-e.js";

/** The built program on a real terminal, whose screen can be read. */

export interface TerminalScreen {
  /** Types an art-e command line into the shell. */
  run(line: string): void;
  /** A key in tmux notation: `C-c`. */
  press(key: string): void;
  /** The screen with its scrollback, once it meets the condition. Fails with the last screen. Long lines are joined. */
  until(isShown: (screen: string) => boolean): Promise<string>;
  close(): void;
}

/** Opens a shell in a terminal of N columns and 24 lines. `folder` also contains its socket. */
export function openTerminal(
  folder: string,
  columns: number,
  variables: Readonly<Record<string, string>> = {},
): TerminalScreen {
  const socket = join(folder, `terminal-${columns}`);
  const env = { PATH: process.env.PATH ?? "", HOME: folder, LANG: "C.UTF-8", ...variables };
  const tmux = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync("tmux", ["-S", socket, ...args], {
      cwd: folder,
      env,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
    return stdout;
  };
  tmux(
    "-f",
    "/dev/null",
    "new-session",
    "-d",
    "-x",
    String(columns),
    "-y",
    "24",
    "env PS1='$ ' bash --norc --noprofile",
  );
  return {
    run: (line) => void tmux("send-keys", "-l", `${process.execPath} ${BIN} ${line}\n`),
    press: (key) => void tmux("send-keys", key),
    async until(isShown) {
      for (let attempt = 0; ; attempt++) {
        const screen = tmux("capture-pane", "-p", "-J", "-S", "-").trimEnd();
        if (isShown(screen)) return screen;
        if (attempt === 300) throw new Error(`the terminal shows:\n${screen}`);
        await delay(100);
      }
    },
    close: () => void tmux("kill-server"),
  };
}
