import { rmSync, truncateSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { chooseSandbox } from "../../src/sandbox/choose-sandbox.js";
import { openStore } from "../../src/store/open-store.js";
import { boxLines, MAIL, workFolder } from "./art-e.js";

const choice = await chooseSandbox();
const { artE, path, write } = workFolder({ mail: MAIL });

describe("art-e doctor", () => {
  it("reports no faults in an imported file, and names the owners of its mail", async () => {
    const { code, stdout } = await artE("doctor --owners");
    expect(code).toBe(0);
    expect(boxLines(stdout)).toMatchObject({
      "SQLite integrity": "ok: no damage",
      "Full-text index": "ok: matches the emails",
      "Owner folders": "3 by sent",
      "Python sandbox": expect.stringMatching(choice.ok ? /^ok: (bubblewrap|Docker) \d/ : /^none: .* Or: /),
      ...(choice.ok
        ? {
            "Sandbox memory": expect.stringMatching(/^hard \(cgroup|^watched, because no cgroup is available: \S/),
            "Sandbox disk": expect.stringMatching(/^hard \(file systems in memory of \d+ MB\)$|^watched$/),
            "Sandbox processes": "hard",
          }
        : {}),
      "Task snapshots": expect.stringMatching(/^ready: \w+(, \w+)*$|^none: \S/),
      "Not possible": expect.stringMatching(/^airbyte, airflow, .* \(need servers\)$/),
    });
    expect(stdout).toMatch(/^hale-m +marcus\.hale@kestrelplains\.example +sent$/m);
  });

  it("writes one document with --json, and omits notes with --quiet", async () => {
    const { code, stdout, stderr } = await artE("doctor --json --quiet");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { findings, owners, sandbox, snapshots } = JSON.parse(stdout);
    const { ready, notReady, unavailable, install } = snapshots;
    const possible = [...Object.keys(notReady), ...ready];
    expect(possible).toEqual(
      expect.arrayContaining(snapshots.obstacle === null ? ["base", "dbt", "excel", "jupyter"] : []),
    );
    expect(unavailable.airbyte).toBe("Airbyte runs in several containers");
    // One line for all of them.
    if (install !== null) expect(install).toMatch(/^apt-get install --no-install-recommends [a-z]\S*( [a-z]\S*)*$/);

    expect(sandbox).toEqual({
      kind: choice.ok ? choice.sandbox.kind : null,
      detail: expect.stringMatching(/\S/),
      ...(choice.ok ? { limits: choice.sandbox.limits } : {}),
    });
    expect(findings.filter(({ ok }: { ok: boolean }) => !ok)).toEqual([]);
    expect(owners).toHaveLength(3);
  });

  it("reports a large sparse file without reading it", async () => {
    truncateSync(write("sparse.db", ""), 2 ** 40);
    const { code, stderr } = await artE("doctor --db sparse.db");
    expect([code, stderr]).toEqual([2, expect.stringContaining("it is not a SQLite file")]);
  });

  it.each([
    ["", 0],
    [" in a sparse file that is much larger than its tables", 2 ** 40],
  ])("reports a missing table%s, and omits the checks that need it", async (_, bytes) => {
    rmSync(path("part.db"), { force: true });
    const db = openStore(path("art-e.db"), { mustExist: true });
    db.exec(`VACUUM INTO '${path("part.db")}'`);
    db.close();
    const part = openStore(path("part.db"), { mustExist: true });
    part.exec("DROP TABLE messages");
    part.close();
    if (bytes > 0) truncateSync(path("part.db"), bytes);
    const { code, stdout } = await artE("doctor --db part.db");
    expect(code).toBe(1);
    expect(boxLines(stdout)).toMatchObject({ Schema: expect.stringMatching(/^BAD: messages missing; /) });
  });

  it("reports on this machine if there is no database, which suites do not need", async () => {
    const { code, stdout } = await artE("doctor --db none.db");
    expect(code).toBe(1);
    expect(boxLines(stdout)).toMatchObject({
      Database: expect.stringMatching(/^BAD: there is none at none\.db; art-e import SOURCE .*--db none\.db makes it/),
      "Task snapshots": expect.stringMatching(/^ready: \w+(, \w+)*$|^none: \S/),
      Versions: expect.stringContaining("sqlite 3."),
    });
    expect(await artE("doctor --owners --db none.db")).toMatchObject({ code: 2, stdout: "" });
  });

  it("fails if the index does not match the emails, and fixes the index with --repair", async () => {
    const db = openStore(path("art-e.db"), { mustExist: true });
    db.exec("INSERT INTO emails_fts (emails_fts) VALUES ('delete-all')");
    db.close();
    const broken = await artE("doctor");
    expect(broken.code).toBe(1);
    expect(boxLines(broken.stdout)["Full-text index"]).toMatch(/^BAD: /);
    const repaired = await artE("doctor --repair");
    expect({ code: repaired.code, index: boxLines(repaired.stdout)["Full-text index"] }).toEqual({
      code: 0,
      index: "ok: matches the emails",
    });
  });
});
