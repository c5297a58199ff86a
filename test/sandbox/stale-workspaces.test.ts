import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MAIL, ROOT, workFolder } from "../cli/art-e.js";

const { artE, path } = workFolder({ mail: MAIL });

/** A process that makes a workspace with a file in it, and then waits. */
async function withWorkspace(TMPDIR: string) {
  const source = `
    import { openWorkspace } from "${join(ROOT, "dist/sandbox/workspace.js")}";
    import { writeText } from "${join(ROOT, "dist/sandbox/workspace.js")}";
    await openWorkspace().use((folders) => writeText(folders, "deep/a.txt", "kept"));
    console.log("made");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", source], {
    env: { TMPDIR },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

test("kill -9 leaves a workspace, which the next start clears; that of a process under way stays", async () => {
  const temporary = path("temporary");
  mkdirSync(join(temporary, "art-e-workspace-of-somebody-else"), { recursive: true });
  const killed = await withWorkspace(temporary);
  const living = await withWorkspace(temporary);
  killed.kill("SIGKILL");
  await once(killed, "close");
  const named = (pid: number | undefined) => expect.stringMatching(new RegExp(`^art-e-workspace-\\d+-${pid}-\\w{6}$`));
  expect(readdirSync(temporary)).toEqual(
    expect.arrayContaining(["art-e-workspace-of-somebody-else", named(killed.pid), named(living.pid)]),
  );
  // An agent's own workspace comes and goes with it.
  expect(await artE("tools test list_files", { TMPDIR: temporary })).toMatchObject({ code: 0 });
  expect(readdirSync(temporary).sort()).toEqual([named(living.pid), "art-e-workspace-of-somebody-else"]);
  living.kill("SIGKILL");
  await once(living, "close");
  expect(await artE("tools test email_get", { TMPDIR: temporary })).toMatchObject({ code: 1 });
  expect(readdirSync(temporary)).toEqual(["art-e-workspace-of-somebody-else"]);
});

test("what a run of a suite left when it was killed is cleared by the next run of one", async () => {
  const temporary = path("of-suites");
  mkdirSync(temporary);
  const source = `
    import { makeTemporaryFolder } from "${join(ROOT, "dist/sandbox/workspace.js")}";
    for (const kind of ["task", "left", "machine", "machine-file", "oracle"]) await makeTemporaryFolder(kind);
    process.kill(process.pid, "SIGKILL");`;
  const env = { TMPDIR: temporary };
  await once(spawn(process.execPath, ["--input-type=module", "-e", source], { env }), "close");
  expect(readdirSync(temporary)).toHaveLength(5);
  const suite = join(ROOT, "fixtures/suites/demo");
  expect(await artE(`run --suite ${suite} -a noop -l 1 --db suite.db --quiet`, env)).toMatchObject({ code: 0 });
  expect(readdirSync(temporary)).toEqual([]);
});
