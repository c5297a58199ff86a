import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { machinesStart } from "../../suites/machines-start.js";
import { writeHarborTask } from "../../suites/write-harbor.js";
import { workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, shell, startScriptedAgent } from "./scripted-agent.js";

/** Folders of Harbor tasks as suites: run in real machines by the oracle, an idle agent and a scripted model. */

const { artE, path, readJson } = workFolder();

/** Every way to inspect a task's trial from inside. */
const LOOKING = {
  "environment/Dockerfile": `FROM python:3.12-slim
ENV COLOUR=blue
WORKDIR /srv/app
RUN mkdir -p /data/out
COPY tool /usr/local/bin/tool
COPY given /srv/app/
COPY given/one.txt /opt/things/
RUN chmod +x run.sh
`,
  "environment/tool": "#!/bin/bash\necho tool $COLOUR\n",
  "environment/given/one.txt": "one\n",
  "environment/given/run.sh": "echo ran\n",
  "task.toml": `schema_version = "1.3"
[verifier]
env = { MODE = "strict" }
[environment.healthcheck]
command = "test -e healthy || { touch healthy; false; }"
interval_sec = 0.01
retries = 2
[solution]
env = { WHO = "oracle" }
`,
  "solution/solve.sh": `#!/bin/bash
set -e
[ "$WHO" = oracle ]
ls -A /tests > /data/out/tests.txt
{ pwd; tool; ./run.sh; cat /opt/things/one.txt; } > /data/out/said.txt
echo changed >> one.txt
echo 'raise SystemExit' > /tests/json.py
echo 1 > /logs/verifier/reward.txt
`,
  "tests/test.sh": `#!/bin/bash
fail() { echo "$1"; echo 0 > /logs/verifier/reward.txt; echo "{\\"reward\\": 0, \\"$2\\": 0}" > /logs/verifier/reward.json; exit 1; }
[ "$PWD" = /srv/app ] || fail "works in $PWD" workdir
[ "$MODE $COLOUR" = "strict blue" ] || fail "has $MODE $COLOUR" variables
[ -e /data/out/said.txt ] || fail "nothing was said" said
[ ! -s /data/out/tests.txt ] || fail "the agent saw the tests" tests
[ "$(cat /data/out/said.txt)" = "$(printf '/srv/app\\ntool blue\\nran\\none')" ] || fail "$(cat /data/out/said.txt)" said
[ "$(cat one.txt)" = "$(printf 'one\\nchanged')" ] || fail "one.txt is as it was" changed
[ "$(cd /tests && echo *)" = "beside.txt test.sh" ] || fail "the agent left $(ls -A /tests)" left
echo '{"reward": 1, "length": 3}' > /logs/verifier/reward.json
exit 7
`,
  "tests/beside.txt": "",
};

beforeAll(() => {
  writeHarborTask(path("suite/looking"), LOOKING);
  writeHarborTask(path("suite/small"));
  writeHarborTask(path("suite/silent"), { "tests/test.sh": "#!/bin/bash\necho no reward\nexit 3\n" });
  writeHarborTask(path("suite/sick"), {
    "task.toml": "[environment.healthcheck]\ncommand = 'echo ill; false'\nretries = 1\n",
  });
  writeHarborTask(path("suite/gpu"), { "task.toml": "[environment]\ngpus = 1\n" });
  writeHarborTask(path("suite/built"), { "environment/Dockerfile": "FROM debian\nRUN make\n" });
  writeHarborTask(path("suite/packed"), {
    "environment/Dockerfile": "FROM debian\nRUN apt-get install -y no-such-package\n",
  });
  writeHarborTask(path("suite/broken"), { "task.toml": "[" });
});

const gradesOf = (file: string) =>
  Object.fromEntries(
    resultsSchema.parse(readJson(file)).taskResults.map(({ taskId, suite }) => [taskId, [suite?.score, suite?.state]]),
  );

describe("a run over Harbor tasks", needs("sandbox", machinesStart), () => {
  it("scores the oracle's solution 1, and lists impossible tasks before it starts", async () => {
    const { code, stderr } = await artE("run -a oracle --suite suite -o oracle.json --no-progress");
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringContaining("1 unreadable tasks of suite were skipped"),
    });
    expect(gradesOf("oracle.json")).toEqual({
      looking: [1, "success"],
      small: [1, "success"],
      silent: [null, "eval_error"],
      sick: [null, "setup_error"],
    });
    expect(stderr).toContain("skipped: gpu: environment.gpus: needs a GPU");
    expect(stderr).toMatch(
      /skipped: built: its environment needs Docker \(Dockerfile:2: RUN make: .*docker build -t art-e-harbor\/built /,
    );
    expect(stderr).toContain("skipped: packed: its environment is not ready: apt-get install no-such-package");
    const { stdout } = await artE("show latest/silent");
    expect(stdout).toContain("tests/test.sh wrote no reward (exit code 3): no reward");
    expect((await artE("show latest/sick")).stdout).toMatch(/ended with exit code 1: ill/);
  });

  it("scores an idle agent below 1", async () => {
    const { code } = await artE("run -a noop --suite suite --task looking,small -o noop.json --quiet");
    expect(code).toBe(0);
    expect(gradesOf("noop.json")).toEqual({ looking: [0, "success"], small: [0, "success"] });
    expect((await artE("show latest/looking")).stdout).toContain("the reward is 0, said 0");
  });

  it("causes an error if no task is left, or if an oracle file is given", async () => {
    const none = await artE("run -a noop --suite suite --task gpu");
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("can run on this machine: gpu: environment.gpus: needs a GPU"),
    });
    const oracle = await artE("run -a oracle --suite suite --oracle gold.jsonl");
    expect(oracle).toMatchObject({ code: 2, stderr: expect.stringContaining("their own solutions") });
  });
});

let provider: FakeProvider | undefined;
afterEach(() => provider?.close());

describe("an agent on a Harbor task", needs("sandbox", machinesStart), () => {
  it("works in the image's working directory", async () => {
    const write = { name: "write_file", arguments: { path: "answer.txt", content: "yes\n" } };
    provider = await startScriptedAgent(() => [shell("pwd"), write]);
    const line = `run -a data-worker --suite ${join(path("suite"), "small")} -o agent.json --quiet`;
    expect(await artE(line, providerVariables(provider))).toMatchObject({ code: 0, stderr: "" });
    expect(gradesOf("agent.json")).toEqual({ small: [1, "success"] });
    const { stdout } = await artE("show latest/small");
    expect(stdout).toContain("whose home folder is /app");
    expect(stdout).toMatch(/^\[run_shell\]\n {2}\/app$/m);
  });
});
