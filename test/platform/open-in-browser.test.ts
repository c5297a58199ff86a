import { chmodSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MAIL, workFolder } from "../cli/art-e.js";
import { needs } from "../machine-requirements.js";

const { start, write, path } = workFolder({ mail: MAIL });

/** Starts `serve --open` with only the programs of the work folder, and stops it once `said` was written. */
async function serveAndOpen(said: RegExp) {
  const { child, ended } = start("serve --port 0 --open", { PATH: path(".") });
  let text = "";
  await new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.on("data", (chunk: string) => {
        text += chunk;
        if (said.test(text)) resolve();
      });
    }
  });
  child.kill("SIGTERM");
  return { ...(await ended), url: /http:\S+/.exec(text)?.[0] };
}

describe("art-e serve --open", needs("linux"), () => {
  it("says the address where no browser can be opened, and where the opener fails", async () => {
    const { stderr, url, code } = await serveAndOpen(/no browser/);
    expect(stderr).toContain(`no browser could be opened here; the page is at ${url}`);
    expect(code).toBe(0);
    chmodSync(write("xdg-open", "#!/bin/sh\nexit 3\n"), 0o755);
    expect((await serveAndOpen(/no browser/)).stderr).toContain("no browser could be opened here");
  });

  it("has the system's opener open the page", async () => {
    chmodSync(write("xdg-open", `#!/bin/sh\necho "$1" > ${path("opened")}\necho done > ${path("done")}\n`), 0o755);
    const { child, ended } = start("serve --port 0 --open", { PATH: path(".") });
    await expect.poll(() => readFileSync(path("done"), { encoding: "utf8", flag: "a+" })).toBe("done\n");
    child.kill("SIGTERM");
    const { stdout, stderr } = await ended;
    expect(`art-e serves ./art-e.db at ${readFileSync(path("opened"), "utf8")}`).toBe(stdout);
    expect(stderr).not.toContain("no browser");
  });
});
