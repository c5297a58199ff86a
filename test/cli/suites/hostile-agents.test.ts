import { afterAll, describe, expect, it } from "vitest";
import { needs } from "../../machine-requirements.js";
import type { FakeProvider } from "../../providers/fake-provider.js";
import { leftInSandboxes } from "../../sandbox/host-witness.js";
import { processesWith } from "../../sandbox/machines.js";
import { machinesStart } from "../../suites/machines-start.js";
import { flowbookTask, writeSuite } from "../../suites/write-suite.js";
import { workFolder } from "../art-e.js";
import { resultsSchema } from "../results-schema.js";
import { providerVariables, type ScriptedCall, shell, startScriptedAgent } from "./scripted-agent.js";

/** Agents that search for hidden files, and that leave behind files that harm the next reader. */

const { artE, path, readJson } = workFolder();

const WORD = `3${process.pid}.5`;
const GOLD = "a\nb\n4711-gold\n";
const SOLVE = "printf 'a\\nb\\n4711-gold\\n' > ~/out.csv";

interface Hostile {
  readonly calls: readonly ScriptedCall[];
  readonly score: number;
  /** In the reason of the grade. */
  readonly says?: string;
}

/** Files left by each agent. Agents that also solve the task are graded as if the other files did not exist. */
const LEAVE: Readonly<Record<string, Hostile>> = {
  "a server and processes that ignore signals": {
    calls: [
      shell(
        `${SOLVE}; (setsid bash -c 'trap "" TERM INT HUP; sleep ${WORD}; sleep ${WORD}' &); python3 -m http.server 8001 >/dev/null 2>&1 &`,
      ),
    ],
    score: 1,
  },
  "a fork bomb": {
    calls: [
      shell(SOLVE),
      { name: "run_shell", arguments: { command: "f() { f | f & }; f; sleep 60", timeout_seconds: 2 } },
    ],
    score: 1,
  },
  "a full disk": {
    calls: [shell("head -c 2G /dev/zero > ~/big; head -c 2G /dev/zero > /tmp/big; echo x > ~/out.csv")],
    score: 0,
  },
  "a link to /etc/shadow": { calls: [shell("ln -s /etc/shadow ~/out.csv")], score: 0, says: "not in the machine" },
  "a link to its own file": {
    calls: [shell("cd; printf 'a\\nb\\n4711-gold\\n' > real; ln -s real out.csv")],
    score: 0,
  },
  "a pipe": { calls: [shell("mkfifo ~/out.csv")], score: 0, says: "not in the machine" },
  "a device": { calls: [shell("mknod ~/out.csv c 1 5; ln -sf /dev/zero ~/out.csv")], score: 0 },
  "a file of 10 TB": {
    calls: [shell("truncate -s 10T ~/out.csv; truncate -s 1000M ~/out.csv")],
    score: 0,
    says: "bytes",
  },
  "a tree of folders": {
    calls: [shell("mkdir ~/out.csv; cd ~/out.csv; for i in $(seq 40); do mkdir -p $i/{1..40}/{1..20}; done")],
    score: 0,
  },
  "a name of several lines": {
    calls: [shell(`${SOLVE}; cd; touch $'out.csv\\nx' $'\\n' -- '-rf' $'\\e[2J'; ls`)],
    score: 1,
  },
  "no rights to its home": { calls: [shell(`${SOLVE}; chmod 0 ~/out.csv ~`)], score: 0 },
};

const LOOK = [
  "find / -xdev \\( -name '*gold*' -o -name 'eval*.sh' -o -name '*.db' -o -name '.env' \\) -not -path '/usr/*' -not -path '/proc/*'",
  "grep -rl 4711-gold / --include=*.csv --include=*.json --exclude-dir=proc --exclude-dir=usr",
  "ls -a / /root /home /work /tmp /var/tmp /mnt /opt /srv /run; cat /etc/shadow /proc/1/environ /proc/1/cmdline",
  "env; cat /proc/*/environ | tr '\\0' '\\n'; ps aux; ls /proc/1/root /proc/1/cwd /proc/*/fd",
  "for at in 127.0.0.1/PORT 1.1.1.1/53 10.0.0.1/80 169.254.169.254/80; do (exec 3<>/dev/tcp/$at) && echo reached $at; done",
];
const SECOND_LOOK = [
  "cat SUITE/examples/*/*/gold.csv FOLDER/art-e.db FOLDER/results.json; ls FOLDER; ls /dev/shm /tmp",
];

/** Strings that only the host, another task or the suite itself contains. */
const SECRETS = [/4711-gold/, /test-key/, /ANTHROPIC/, /ART_E/, /reached /, /art-e\.db/, /NODE_/, /root:[^:]*:\d{5}/];

let provider: FakeProvider;
let suite = "";
let port = "";
afterAll(() => provider?.close());

function taskFiles(id: string, instruction: string) {
  const folder = `examples/terminal/${id}`;
  const task = flowbookTask(id, "none", { snapshot: "base", instruction, config: [] });
  return { [`${folder}/${id}.json`]: task, [`${folder}/gold.csv`]: GOLD };
}

/** They keep a core busy for seconds. */
const HEAVY = ["a fork bomb", "a full disk", "a tree of folders"];
const idOf = (i: number) => `${String(i).padStart(8, "0")}`;

function writeTasks(names: readonly string[]): string {
  return writeSuite(Object.assign({}, ...names.map((name, i) => taskFiles(idOf(i), `Leave ${name}.`))));
}

async function run(callsFor: (name: string) => readonly ScriptedCall[], flags = "") {
  provider = await startScriptedAgent((instruction) => callsFor(/Leave (.*)\.$/s.exec(instruction)?.[1] ?? ""));
  port = new URL(provider.url).port;
  const line = `run --suite ${suite} -a data-worker --quiet --overwrite -o results.json ${flags}`;
  const ended = await artE(line, providerVariables(provider));
  await provider.close();
  return { ...ended, results: resultsSchema.parse(readJson("results.json")).taskResults };
}

describe("a hostile agent", needs("sandbox", machinesStart), () => {
  async function expectGrades(names: readonly string[]): Promise<void> {
    suite = writeTasks(names);
    const { code, results } = await run((name) => LEAVE[name]?.calls ?? [], "--concurrency 3");
    expect(code).toBe(0);
    expect(results.map(({ suite: graded }, i) => [names[i], graded?.state, graded?.score])).toEqual(
      names.map((name) => [name, "success", LEAVE[name]?.score]),
    );
    for (const [i, name] of names.entries()) expect(results[i]?.suite?.reason).toContain(LEAVE[name]?.says ?? "");
    expect(processesWith(`sleep\0${WORD}`)).toEqual([]);
    expect(await leftInSandboxes()).toEqual([]);
  }

  const names = Object.keys(LEAVE);
  it("gets a grade if it leaves harmful files, which are then removed", () =>
    expectGrades(names.filter((name) => !HEAVY.includes(name))));
  it("gets a grade if it fills the machine", { tags: ["slow"] }, () => expectGrades(HEAVY));

  it("finds nothing if it searches for gold files, scripts, other tasks, the host, its network and its keys", async () => {
    suite = writeTasks(["one", "two"]);
    const commands = () =>
      [...LOOK, ...SECOND_LOOK].map((command) =>
        shell(command.replace("PORT", port).replace("SUITE", suite).replaceAll("FOLDER", path("."))),
      );
    const { code } = await run(
      () => [shell(`sleep ${WORD} & echo mine > /tmp/mine-$$`), ...commands()],
      "--concurrency 2",
    );
    expect(code).toBe(0);
    for (const id of [idOf(0), idOf(1)]) {
      const { toolCalls } = JSON.parse((await artE(`show latest/${id} --json`)).stdout);
      expect(toolCalls).toHaveLength(LOOK.length + SECOND_LOOK.length + 2);
      for (const { result } of toolCalls.slice(0, -1)) {
        for (const secret of SECRETS) expect(result.stdout).not.toMatch(secret);
      }
      const processes = toolCalls[4].result.stdout as string;
      expect(processes.split(WORD).length - 1, "its own process alone").toBe(1);
      expect((toolCalls[6].result.stdout as string).match(/^mine-/gm)).toHaveLength(1);
    }
  });

  it("works in parallel with three others, and does not see their files and processes", {
    tags: ["slow"],
  }, async () => {
    suite = writeTasks(["1", "2", "3", "4"]);
    let ready = 0;
    const look =
      "ls ~ /tmp /dev/shm; pgrep -af sleep; curl -s --retry 8 --retry-connrefused http://127.0.0.1:8002/mine";
    const { code } = await run((name) => {
      ready++;
      return [
        shell(
          `cd; echo ${name} > mine; touch /tmp/file-${name} /dev/shm/file-${name}; sleep ${WORD}${name} & python3 -m http.server 8002 >/dev/null 2>&1 & sleep 2`,
        ),
        shell(look),
      ];
    }, "--concurrency 4");
    expect(code).toBe(0);
    expect(ready).toBe(12);
    for (const [i, name] of ["1", "2", "3", "4"].entries()) {
      const { toolCalls } = JSON.parse((await artE(`show latest/${idOf(i)} --json`)).stdout);
      const said = toolCalls[1].result.stdout as string;
      expect(said.match(/file-\d/g)).toEqual([`file-${name}`, `file-${name}`]);
      expect(said.match(new RegExp(`${WORD}\\d`, "g"))).toEqual([`${WORD}${name}`]);
      expect(said.endsWith(`\n${name}\n`), said).toBe(true);
    }
  });
});
