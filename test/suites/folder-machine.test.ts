import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FolderMachine } from "../../src/suites/folder-machine.js";
import { temporaryFolder } from "./temporary-folder.js";

function createMachine() {
  const folder = temporaryFolder();
  const root = join(folder, "root");
  mkdirSync(join(root, "home"), { recursive: true });
  writeFileSync(join(folder, "secret"), "secret");
  return { folder, root, machine: new FolderMachine(root), out: join(folder, "out") };
}

describe("a machine that is a folder", () => {
  it("copies files and folders in and out", async () => {
    const { folder, machine, out } = createMachine();
    mkdirSync(join(folder, "src"));
    writeFileSync(join(folder, "src", "a"), "1");
    await machine.copyIn(join(folder, "src"), "/home/user/new/src");
    await machine.copyIn(join(folder, "secret"), "/home/user/new/src/b");
    expect(await machine.copyOut("/home/user/new/src/a", out)).toBe(true);
    expect(readFileSync(out, "utf8")).toBe("1");
    expect(await machine.copyOut("/home/user/new/src", out)).toBe(false);
    expect(await machine.copyOut("/home/none", out)).toBe(false);
    expect(await machine.copyOut("/home/user/new/src/a/b", out)).toBe(false);
  });

  it("follows no link, neither of a file nor of a folder, and stays inside", async () => {
    const { folder, root, machine, out } = createMachine();
    symlinkSync(join(folder, "secret"), join(root, "home", "link"));
    symlinkSync(folder, join(root, "up"));
    expect(await machine.copyOut("/home/link", out)).toBe(false);
    expect(await machine.copyOut("/up/secret", out)).toBe(false);
    expect(await machine.copyOut("/home/../../secret", out)).toBe(false);
    await expect(machine.copyIn(join(folder, "secret"), "/up/new")).rejects.toThrow("through a link");
    await expect(machine.copyOut("secret", out)).rejects.toThrow("absolute");
    await expect(machine.copyIn(join(folder, "secret"), "/")).rejects.toThrow("no file");
  });

  it("does not wait for a pipe", async () => {
    const { root, machine, out } = createMachine();
    execFileSync("mkfifo", [join(root, "home", "pipe")]);
    expect(await machine.copyOut("/home/pipe", out)).toBe(false);
  });
});
