import { execFile as execFileCallback } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, it } from "vitest";
import { missingPackage } from "../../src/platform/optional-packages.js";

const execFile = promisify(execFileCallback);
const folder = mkdtempSync(join(tmpdir(), "art-e-packages-"));
afterAll(() => rmSync(folder, { recursive: true }));

/** Error that Node throws for an import in a folder without packages. */
async function failedImport(name: string): Promise<Error> {
  const script = `import(${JSON.stringify(name)}).catch(({ code, message }) => console.log(JSON.stringify({ code, message })))`;
  const { stdout } = await execFile(process.execPath, ["--input-type=module", "-e", script], { cwd: folder });
  const { code, message } = JSON.parse(stdout);
  return Object.assign(new Error(message), { code });
}

const { peerDependencies } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));

// Only Vitest imports art-e/vitest.
it.each(Object.keys(peerDependencies).filter((name) => name !== "vitest"))(
  "shows the command that installs %s in the required version if the package is missing",
  async (name) => {
    const error = missingPackage(await failedImport(name));
    expect(error).toMatchObject({ code: "package_missing", exitCode: 2 });
    expect(error?.hint).toContain(`${name}@${peerDependencies[name]}`);
  },
);

it("returns null for other errors, which mention no missing package", async () => {
  expect(missingPackage(await failedImport("art-e-needs-no-such-package"))).toBeNull();
  expect(missingPackage(new Error("Cannot find package 'bullmq'"))).toBeNull();
});
