import { lstatSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { WORKSPACE_LIMITS } from "../../src/sandbox/limits.js";
import { runPython } from "../../src/sandbox/run-python.js";
import { openWorkspace, readText, type Workspace, writeText } from "../../src/sandbox/workspace.js";
import { needs } from "../machine-requirements.js";

/** What a program leaves in /workspace and /tmp is there for the next one, though each has file systems of its own. */

const choice = await chooseSandbox();

let workspace: Workspace;
let files = "";
beforeEach(async () => {
  workspace = openWorkspace();
  files = await workspace.use(async (folders) => folders.files);
});
afterEach(() => workspace.close());

const run = (code: string) => {
  if (!choice.ok) throw new Error(choice.why);
  return runPython(choice.sandbox, code, workspace, new AbortController().signal);
};
const done = { stderr: "", exitCode: 0, stopped: null };

test(
  "files, folders, links, their rights and times; what is deleted is gone",
  needs("sandbox", choice.ok),
  async () => {
    await workspace.use((folders) => writeText(folders, "given/a.txt", "given"));
    const made = `
import os
print(open("given/a.txt").read())
os.unlink("given/a.txt")
os.makedirs("deep/er")
open("deep/er/b", "w").write("b")
os.chmod("deep/er/b", 0o540)
os.utime("deep/er/b", (1_000_000_000, 1_000_000_000))
os.symlink("/etc/passwd", "link")
open("/tmp/t", "w").write("temporary")`;
    expect(await run(made)).toMatchObject({ ...done, stdout: "given\n" });
    expect(readdirSync(files, { recursive: true }).sort()).toEqual(["deep", "deep/er", "deep/er/b", "given", "link"]);
    const { mode, mtimeMs } = lstatSync(join(files, "deep/er/b"));
    expect({ mode: mode & 0o7777, mtimeMs }).toEqual({ mode: 0o540, mtimeMs: 1e12 });
    expect(readlinkSync(join(files, "link"))).toBe("/etc/passwd");
    await expect(workspace.use((folders) => readText(folders, "link"))).rejects.toThrow("symbolic link");
    const again = `
import os
print(sorted(os.listdir(".")), open("deep/er/b").read(), open("/tmp/t").read())
os.chmod("deep/er/b", 0o700)
for name in ["link", "/tmp/t", "deep/er/b"]: os.unlink(name)
for name in ["deep/er", "deep", "given"]: os.rmdir(name)`;
    expect(await run(again)).toMatchObject({ ...done, stdout: "['deep', 'given', 'link'] b temporary\n" });
    expect(await run("import os; print(os.listdir('.'), os.listdir('/tmp'))")).toMatchObject({ stdout: "[] []\n" });
  },
);

test(
  "what was written before the time was over, and files that nobody may read",
  needs("sandbox", choice.ok),
  async () => {
    const code = "import os\nopen('a', 'w').write('a')\nos.chmod('a', 0)\nopen('b', 'w').write('b')\nwhile True: pass";
    expect(await run(code)).toMatchObject({ stopped: "time" });
    expect(readdirSync(files).sort()).toEqual(["a", "b"]);
    expect(readFileSync(join(files, "b"), "utf8")).toBe("b");
  },
);

test("as many bytes as it may hold, in as many files", needs("sandbox", choice.ok), async () => {
  const { files: count, bytes } = WORKSPACE_LIMITS;
  const each = Math.floor(bytes / count / 4096) * 4096 + 1;
  const full = `for i in range(${Math.floor(bytes / (each + 4095))}): open(str(i), "wb").write(b"x" * ${each})`;
  expect(await run(full)).toMatchObject(done);
  const read = await run("import os; print(sum(os.path.getsize(name) for name in os.listdir('.')))");
  expect(read).toMatchObject({ ...done, stdout: `${Math.floor(bytes / (each + 4095)) * each}\n` });
});
