import { execFileSync } from "node:child_process";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AppContext } from "../../src/platform/app-context.js";
import { SCORERS } from "../../src/scoring/scorers.js";
import { checkSuiteFolder } from "../../src/suites/check-suite.js";
import { grader } from "../../src/suites/export-harbor.js";
import { readEnvironment } from "../../src/suites/harbor/harbor-environment.js";
import { parseRewards } from "../../src/suites/harbor/harbor-trial.js";
import { listTasks, showTask } from "../../src/suites/show-tasks.js";
import { isDontKnow } from "../../src/text/abstention.js";
import { demoQuestions } from "../cli/art-e.js";
import { itself, trace } from "../scoring/trace.js";
import { temporaryFolder } from "./temporary-folder.js";
import { writeHarborTask } from "./write-harbor.js";

const context = { settings: { db: "/nowhere/art-e.db", env: {} } } as unknown as AppContext;

const checked = async (folder: string) => {
  const { errors, warnings } = await checkSuiteFolder(folder, undefined);
  return [...errors, ...warnings].map(
    ({ level, code, file, field, message }) => `${level} ${code} ${file} ${field}: ${message}`,
  );
};

describe("readSuite on Harbor tasks", () => {
  it("reads tasks at any depth and in any known version", async () => {
    const root = temporaryFolder();
    writeHarborTask(join(root, "first"));
    writeHarborTask(join(root, "tasks/second"), {
      "task.toml": `schema_version = "1.4"
unknown = 1
artifacts = ["/app/answer.txt"]
[task]
name = "me/second"
[verifier]
timeout_sec = 30
env = { MODE = "strict", KIND = "\${KIND:-plain}" }
[environment]
memory = "2G"
allow_internet = false
[environment.healthcheck]
command = "true"
`,
    });
    mkdirSync(join(root, ".git"));
    writeHarborTask(join(root, ".git/hidden"));
    symlinkSync(join(root, "first"), join(root, "link"));
    const list = await listTasks(root, {}, context);
    expect(list.tasks.map(({ id, tool, takes, evaluation }) => [id, tool, takes, evaluation])).toEqual([
      ["first", list.suite, "script", "tests/test.sh"],
      ["second", "tasks", "script", "tests/test.sh"],
    ]);
    const { task, findings } = await showTask(root, "second", {}, context);
    expect(task).toMatchObject({
      dialect: "harbor",
      instruction: "Write yes into /app/answer.txt.\n",
      snapshot: "tasks/second/environment",
      source: ["me/second"],
      config: [{ func: "healthcheck", arguments: { command: "true", retries: 3, timeout_sec: 30 } }],
      evaluation: {
        metrics: [{ func: "tests/test.sh", options: { timeout_sec: 30, env: { MODE: "strict", KIND: "plain" } } }],
      },
    });
    expect(findings).toEqual([]);
    expect((await listTasks(join(root, "first"), {}, context)).tasks.map(({ id }) => id)).toEqual(["first"]);
    expect((await listTasks(root, { tag: ["small"] }, context)).tasks.map(({ id }) => id)).toEqual(["first"]);
  });

  it.each<[string, Readonly<Record<string, string | null>>, string]>([
    [
      "steps",
      { "task.toml": "[[steps]]\nname = 'a'\n", "instruction.md": null, "tests/test.sh": null },
      "unsupported t/task.toml steps: tasks with several steps are unsupported",
    ],
    [
      "a later major version",
      { "task.toml": 'schema_version = "2.0"\n' },
      'unsupported t/task.toml schema_version: "2.0" is unknown: art-e reads versions 1.0 to 1.4',
    ],
    [
      "a later version under its older name",
      { "task.toml": 'version = "3"\n' },
      'unsupported t/task.toml version: "3" is unknown: art-e reads versions 1.0 to 1.4',
    ],
    [
      "a later minor version",
      { "task.toml": 'schema_version = "1.9"\n' },
      'version_unknown t/task.toml schema_version: "1.9" is unknown: art-e reads versions 1.0 to 1.4',
    ],
    [
      "sidecars",
      { "environment/docker-compose.yaml": "services: {}\n" },
      "unsupported t/environment/docker-compose.yaml : tasks with additional containers are unsupported",
    ],
    ["a GPU", { "task.toml": "[environment]\ngpus = 1\n" }, "unsupported t/task.toml environment.gpus: needs a GPU"],
    [
      "Windows",
      { "task.toml": "[environment]\nos = 'windows'\n" },
      "unsupported t/task.toml environment.os: needs windows",
    ],
    [
      "a separate verifier",
      { "task.toml": "[verifier]\nenvironment_mode = 'separate'\n" },
      "unsupported t/task.toml verifier: a separate verifier environment is unsupported",
    ],
    [
      "a key from the host",
      { "task.toml": `[verifier]\nenv = { KEY = "\${OPENAI_API_KEY}" }\n` },
      `unsupported t/task.toml verifier.env.KEY: uses \${OPENAI_API_KEY} from the host, which tasks do not get`,
    ],
    [
      "a network",
      { "tests/test.sh": "#!/bin/bash\n# curl\napt-get -y install jq\n" },
      "unsupported t/tests/test.sh : needs a network, which tasks do not have: apt-get -y install jq",
    ],
    [
      "a different base image",
      { "environment/Dockerfile": "FROM node:22\n" },
      "needs_docker t/environment/Dockerfile : its environment needs Docker: unknown base image node:22",
    ],
    [
      "a build",
      { "environment/Dockerfile": "FROM debian\nRUN make\n" },
      "needs_docker t/environment/Dockerfile : its environment needs Docker: Dockerfile:2: RUN make: does more than install packages",
    ],
    [
      "an oracle's solution, which is missing",
      { "solution/solve.sh": null },
      "solution_missing t/solution/solve.sh : is missing, so the oracle cannot solve the task",
    ],
    [
      "an MCP server",
      { "task.toml": "[[environment.mcp_servers]]\nname = 'mail'\n" },
      "mcp_passed_over t/task.toml environment.mcp_servers: agents do not get MCP servers from tasks",
    ],
    [
      "a user",
      { "task.toml": "[agent]\nuser = 'me'\n" },
      "user_passed_over t/task.toml agent.user: everything runs as one user",
    ],
  ])("reports that a task needs %s", async (_, files, warning) => {
    const root = temporaryFolder();
    writeHarborTask(join(root, "t"), files);
    expect(await checked(root)).toEqual([`warning ${warning}`]);
    const runnable = warning.startsWith("unsupported")
      ? "unsupported"
      : warning.startsWith("needs_docker")
        ? "docker"
        : "script";
    expect((await listTasks(root, {}, context)).tasks.map((task) => task.takes)).toEqual([runnable]);
  });

  it.each<[string, Readonly<Record<string, string | null>>, string]>([
    ["missing tests", { "tests/test.sh": null }, "file_missing t/tests/test.sh : is missing, or is not a regular file"],
    [
      "a missing instruction",
      { "instruction.md": null },
      "file_missing t/instruction.md : is missing, or is not a regular file",
    ],
    [
      "an invalid task.toml",
      { "task.toml": "[task\n" },
      "task_invalid t/task.toml : is not TOML: Invalid TOML document: illegal character in key",
    ],
    [
      "an invalid field",
      { "task.toml": "[verifier]\ntimeout_sec = 'long'\n" },
      "task_invalid t/task.toml verifier.timeout_sec: expected a number of seconds",
    ],
    [
      "a missing environment",
      { "environment/Dockerfile": null },
      "environment_invalid t/environment/Dockerfile : is missing, and task.toml has no docker_image",
    ],
  ])("reports %s as an error", async (_, files, error) => {
    const root = temporaryFolder();
    writeHarborTask(join(root, "t"), files);
    expect(await checked(root)).toEqual([`error ${error}`]);
  });

  it("reports a second task that has the same name", async () => {
    const root = temporaryFolder();
    writeHarborTask(join(root, "a/t"));
    writeHarborTask(join(root, "b/t"));
    expect(await checked(root)).toEqual(["error id_duplicate b/t/task.toml id: is also the id of a/t/task.toml"]);
  });
});

describe("readEnvironment", () => {
  const read = (dockerfile: string, files: Readonly<Record<string, string>> = {}) => {
    const folder = writeHarborTask(temporaryFolder(), { "environment/Dockerfile": dockerfile, ...files });
    const environment = readEnvironment(folder);
    if (!environment.ok) throw new Error(environment.why);
    const copies = environment.copies.map(({ from, to }) => [from.slice(join(folder, "environment").length + 1), to]);
    return { ...environment, copies };
  };

  it("reads the lines of a Dockerfile", () => {
    const { obstacles, ...environment } = read(
      `# syntax=docker/dockerfile:1
ARG VERSION=3.12
FROM docker.io/library/python:\${VERSION}-slim
LABEL a=b
ENV DATA=/data \\
    MODE="very strict"
ENV PATH=/app/bin:$PATH
RUN apt-get update && apt-get install -y --no-install-recommends jq=1.6 'git' \\
    # the cleaning
    && rm -rf /var/lib/apt/lists/*
RUN DEBIAN_FRONTEND=noninteractive apt-get install -y tree; pip install --no-cache-dir pandas==2.0.1 numpy[extra]
RUN ["mkdir", "-p", "/srv/out"]
WORKDIR /app
WORKDIR sub
COPY --chown=me --chmod=755 tool /usr/local/bin/
COPY a.csv b/*.csv $DATA/
COPY ["with space.txt", "."]
ADD b ./tree/
RUN chmod +x tree/c.csv
USER nobody
CMD ["bash"]
`,
      {
        "environment/tool": "#!/bin/sh\n",
        "environment/a.csv": "",
        "environment/b/c.csv": "",
        "environment/b/d.csv": "",
        "environment/b/e.txt": "",
        "environment/with space.txt": "",
      },
    );
    expect(obstacles).toEqual([]);
    expect(environment).toMatchObject({
      workdir: "/app/sub",
      env: { DATA: "/data", MODE: "very strict", PATH: expect.stringMatching(/^\/app\/bin:\/usr\/local\/sbin:/) },
      packages: ["jq", "git", "tree"],
      modules: [
        { name: "pandas", version: "2.0.1" },
        { name: "numpy", version: null },
      ],
      folders: ["/srv/out", "/app", "/app/sub"],
      copies: [
        ["tool", "/usr/local/bin/tool"],
        ["a.csv", "/data/a.csv"],
        ["b/c.csv", "/data/c.csv"],
        ["b/d.csv", "/data/d.csv"],
        ["with space.txt", "/app/sub/with space.txt"],
        ["b", "/app/sub/tree"],
      ],
      modes: [
        { path: "/usr/local/bin/tool", mode: "755" },
        { path: "/app/sub/tree/c.csv", mode: "+x" },
      ],
      commands: { python3: "python3" },
    });
  });

  it.each([
    [
      "a comment among continued lines",
      "RUN apt-get install -y \\\n    # editors\n    vim \\\n\n  nano",
      ["vim", "nano"],
    ],
    ["a comment at the end of a line, which ends the command", "RUN apt-get install -y vim # and \\\n nano", ["vim"]],
    ["a different escape character", "RUN apt-get install -y `\n  # editors\n  vim", ["vim"]],
    ["a flag of RUN", "RUN --mount=type=cache,target=/x apt-get install -y vim", ["vim"]],
    ["the words of a JSON array", 'RUN ["apt-get", "install", \\\n # editors\n "vim"]', ["vim"]],
    ["a set variable's alternative", `ENV A=1\nRUN apt-get install -y \${A:+vim} \${B:+nano}`, ["vim"]],
    [
      "an empty variable's alternatives",
      `ENV A=\nRUN apt-get install -y \${A:-vim} \${A-nano} \${A+ed} \${A:+jq}`,
      ["vim", "ed"],
    ],
    ["a variable in single quotes", `ENV A='$B'\nENV B=vim\nRUN apt-get install -y \${A:+nano}`, ["nano"]],
  ])("installs the packages in a RUN that contains %s", (_, lines, packages) => {
    const directive = lines.includes("`") ? "# escape=`\n" : "";
    expect(read(`${directive}FROM debian\n${lines}\n`)).toMatchObject({ obstacles: [], packages });
  });

  it("copies the files that match a pattern with a range of letters, including hidden ones", () => {
    const files = {
      "environment/a1.csv": "",
      "environment/b1.csv": "",
      "environment/.c1.csv": "",
      "environment/d1": "",
    };
    expect(read("FROM debian\nCOPY [a-b]?.csv /x/\nCOPY *1.csv /y/\nCOPY {a,b}1.csv /z/\n", files)).toMatchObject({
      copies: [
        ["a1.csv", "/x/a1.csv"],
        ["b1.csv", "/x/b1.csv"],
        [".c1.csv", "/y/.c1.csv"],
        ["a1.csv", "/y/a1.csv"],
        ["b1.csv", "/y/b1.csv"],
      ],
      obstacles: ["Dockerfile:4: COPY {a,b}1.csv: the file is not in environment/"],
    });
  });

  it.each([
    ["FROM python:3.12-alpine", "unknown base image python:3.12-alpine"],
    ["FROM debian AS a\nFROM debian", "Dockerfile:2: FROM starts a second stage"],
    ["FROM debian\nCOPY --from=x a b", "Dockerfile:2: COPY --from needs Docker"],
    ["FROM debian\nCOPY nothing /app/", "Dockerfile:2: COPY nothing: the file is not in environment/"],
    ["FROM debian\nCOPY ../task.toml /app/", "Dockerfile:2: COPY ../task.toml: the file is not in environment/"],
    ["FROM debian\nCOPY link /app/", "Dockerfile:2: COPY link: is not a regular file or folder"],
    ["FROM debian\nADD https://x.example/a /app/", "Dockerfile:2: ADD https://x.example/a needs Docker"],
    ["FROM debian\nADD a.tar.gz /app/", "Dockerfile:2: ADD a.tar.gz needs Docker"],
    ["FROM debian\nRUN <<EOF\nmake\nEOF", "Dockerfile:2: RUN with a here-document does more than install packages"],
    [
      "FROM debian\nRUN apt-get update && curl x | sh",
      "Dockerfile:2: RUN curl x | sh: does more than install packages",
    ],
    [
      "FROM debian\nRUN pip install -r a.txt",
      "Dockerfile:2: RUN pip install -r a.txt: does more than install packages",
    ],
    ["FROM debian\nRUN rm -rf /usr/lib", "Dockerfile:2: RUN rm -rf /usr/lib: does more than install packages"],
    ['FROM debian\nENTRYPOINT ["x"]', "Dockerfile:2: ENTRYPOINT needs Docker"],
    [`FROM debian\nENV A=\${B:?unset}`, `Dockerfile:2: \${B:?unset} needs Docker`],
    [`FROM debian\nENV A=\${PATH%:*}`, `Dockerfile:2: \${PATH%:*} needs Docker`],
    ["FROM debian\nENV A=\\$B", "Dockerfile:2: A with an escaped $ needs Docker"],
    ["FROM debian\nCOPY Dockerfile /proc/x", "/proc/x is reserved for the machine"],
    ["FROM debian\nWORKDIR /opt/machine/x", "/opt/machine/x is reserved for the machine"],
    ["FROM debian\nWORKDIR /usr/src/app", "/usr/src/app is in a read-only folder of the machine's packages"],
  ])("needs Docker for %j", (dockerfile, obstacle) => {
    const folder = writeHarborTask(temporaryFolder(), { "environment/Dockerfile": dockerfile });
    symlinkSync("/etc/passwd", join(folder, "environment/link"));
    expect(readEnvironment(folder)).toMatchObject({ ok: true, obstacles: [obstacle] });
  });

  it("reads an image and the files next to it if there is no Dockerfile", () => {
    const folder = writeHarborTask(temporaryFolder(), {
      "environment/Dockerfile": null,
      "environment/data.csv": "a\n",
      "task.toml": '[environment]\ndocker_image = "python:3.12"\nworkdir = "/work"\nenv = { A = "b" }\n',
    });
    expect(readEnvironment(folder)).toMatchObject({
      image: "python:3.12",
      workdir: "/work",
      env: { A: "b" },
      obstacles: [],
      copies: [{ from: join(folder, "environment"), to: "/work" }],
    });
  });

  it("needs Docker if .dockerignore excludes some of the files", () => {
    const folder = writeHarborTask(temporaryFolder());
    writeFileSync(join(folder, "environment/.dockerignore"), "gold\n");
    expect(readEnvironment(folder)).toMatchObject({ obstacles: [".dockerignore is unsupported"] });
  });
});

describe("parseRewards", () => {
  it.each<[string | null, string | null, unknown]>([
    ['{"reward": 0.5, "exact": 0}', "0.9", { reward: 0.5, others: { exact: 0 } }],
    ['{"exact": 1, "reward": 0.5}', null, { reward: 0.5, others: { exact: 1 } }],
    ['{"accuracy": 0.25, "note": "x", "ok": true}', null, { reward: 0.25, others: {} }],
    [null, " 1\n", { reward: 1, others: {} }],
    ["", "0.0", { reward: 0, others: {} }],
    [null, null, null],
    [null, " ", null],
  ])("reads reward.json %j and reward.txt %j as %j", (json, text, rewards) => {
    expect(parseRewards(json, text)).toEqual(rewards);
  });

  it.each<[string | null, string | null, string]>([
    ['{"reward": 2}', null, "the reward is 2, expected 0 to 1"],
    [null, "good", "the reward is NaN, expected 0 to 1"],
    ["[1]", "1", "reward.json is not a JSON object"],
    ["{", "1", "reward.json is not a JSON object"],
    ['{"ok": true}', "1", "reward.json contains no number"],
  ])("rejects reward.json %j if reward.txt is %j", (json, text, message) => {
    expect(() => parseRewards(json, text)).toThrow(message);
  });
});

/** The Python scores of exported Harbor tasks, compared with the scorers that they repeat. */

interface Case {
  readonly answer: string | null;
  readonly sources?: readonly string[];
  readonly gold: string;
  readonly goldMails?: readonly string[];
  readonly unanswerable?: boolean;
}

/** Calls a function of the exported grade.py for each case. */
function python(expression: string, cases: readonly unknown[]): unknown[] {
  const folder = temporaryFolder();
  writeFileSync(join(folder, "grade.py"), grader());
  const code = `import json, sys; sys.path.insert(0, ${JSON.stringify(folder)}); import grade
print(json.dumps([${expression} for case in json.load(sys.stdin)]))`;
  const options = { input: JSON.stringify(cases), maxBuffer: 2 ** 28, encoding: "utf8" } as const;
  return JSON.parse(execFileSync("python3", ["-B", "-c", code], options));
}

const rewardsOf = (cases: readonly Case[]) =>
  python(
    'grade.score(case["answer"], case.get("sources", []), {"answer": case["gold"], "message_ids": case.get("goldMails", []), "unanswerable": case.get("unanswerable", False)})',
    cases,
  ) as Record<string, number>[];

const NAMES = {
  exact_match: "exactMatch",
  semantic_score: "semanticScore",
  number_match: "numberMatch",
  date_match: "dateMatch",
  sources_correct: "sourcesCorrect",
  sources_precision: "sourcesPrecision",
} as const;

/** Scores of the program's own scorers. Scores that do not apply are omitted, and no source at all scores 0. */
function expected({ answer, sources = [], gold, goldMails = [] }: Case): Record<string, number> {
  const scored = trace({ answer, sources: [...sources] }, { answer: gold, message_ids: [...goldMails] });
  return Object.fromEntries(
    Object.entries(NAMES).flatMap(([name, scorer]) => {
      const { value } = SCORERS[scorer].score(scored, itself);
      if (value !== null) return [[name, value]];
      return name === "sources_precision" && goldMails.length > 0 ? [[name, 0]] : [];
    }),
  );
}

function expectSame(cases: readonly Case[]): void {
  rewardsOf(cases).forEach(({ reward, ...scores }, i) => {
    const one = cases[i] as Case;
    expect({ case: one, scores }).toEqual({ case: one, scores: expected(one) });
    expect(reward).toBeGreaterThanOrEqual(0);
    expect(reward).toBeLessThanOrEqual(1);
  });
}

const PIECES = [
  "May 5, 2001",
  "5/5/01",
  "2001-05-05",
  "the 22nd of June",
  "9:30 am",
  "0930",
  "noon",
  "1430 hrs",
  "3 to 5 p.m.",
  "21 500 euros",
  "CHF 47'500",
  "15.500 EUR",
  "1.234.567,89",
  "2,5 mln",
  "$3bln",
  "$1.5 million",
  "1,500,000",
  "-5",
  "5%",
  "five per cent",
  "one hundred and twenty-five thousand",
  "two dozen",
  "(713) 853-1234",
  "Q3",
  "40kg",
  "one",
  "I don't know",
  "not mentioned in the mailbox",
  "Größe\u00a0É",
  "\u0085\u001c",
  "-",
  " ",
  ",",
  "\n",
  "İ Σ",
  "'99",
  "Dec",
  "x",
];

describe("grade.py", () => {
  it("scores pairs of the demo's gold answers like the program", () => {
    const golds = demoQuestions.map(({ answer }) => answer);
    // Each with itself, and with every third other one.
    const pairs = golds.flatMap((gold, i) =>
      golds.filter((_, j) => (i - j) % 3 === 0).map((answer) => ({ answer, gold })),
    );
    expectSame(pairs);
  });

  it("scores texts with numbers, dates, times and unusual characters like the program", { tags: ["slow"] }, () => {
    const text = fc
      .array(
        fc.oneof({ weight: 5, arbitrary: fc.constantFrom(...PIECES) }, fc.string({ unit: "binary", maxLength: 4 })),
        {
          maxLength: 6,
        },
      )
      .map((parts) => parts.join(""));
    const ids = fc.uniqueArray(fc.constantFrom("<a@x>", "<b@x>", "<c@x>"), { maxLength: 3 });
    const one = fc.record({ answer: text, sources: ids, gold: text, goldMails: ids });
    expectSame(fc.sample(one, { numRuns: 1_000, seed: 35 }));
  });

  it("recognizes abstentions like the program", () => {
    const texts = [
      "I don't know",
      "i do not know.",
      "I could not find any information about that in the mailbox.",
      "Sorry, I cannot say who sent it.",
      "There are no emails about the sale.",
      "N/A",
      "Unknown",
      "It is unknown",
      "I don't know, but probably $40",
      "The mail does not say who.",
      "No.",
      "Nobody",
      "not found in your inbox",
      "None of the emails mention it",
      "After a thorough search, I was unable to find an answer.",
      "It can't be known",
      "*I don’t know*",
      "There is no record of it in the mailbox. Ask Bo.",
      "insufficient information",
      "don't know",
      "The mailbox does not contain that.",
      "Bo was not mentioned in the emails",
      "We have no data",
      "\u0085n/a",
    ];
    const all = [...texts, ...texts.map((text) => `${text} ${"x".repeat(600)}`), ...demoQuestions.map((q) => q.answer)];
    expect(python("grade.is_dont_know(case)", all)).toEqual(all.map(isDontKnow));
  });

  // Start Python only once per table.
  const REWARDED: [string, Case, number][] = [
    ["the gold answer with its email", { answer: "$40", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 1],
    ["the email's id without brackets", { answer: "$40", sources: ["g@x"], gold: "$40", goldMails: ["<g@x>"] }, 1],
    ["the gold answer alone", { answer: "$40", gold: "$40", goldMails: ["<g@x>"] }, 0.8],
    [
      "another email in addition to the gold one",
      { answer: "$40", sources: ["<g@x>", "<b@x>"], gold: "$40", goldMails: ["<g@x>"] },
      0.9,
    ],
    ["the right number among words", { answer: "It was forty dollars", gold: "$40" }, 0.5],
    ["a wrong number", { answer: "$41", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 0.2],
    [
      "abstaining if there is an answer",
      { answer: "I don't know", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] },
      0,
    ],
    [
      "abstaining if there is none",
      { answer: "I could not find an answer.", gold: "I don't know", unanswerable: true },
      1,
    ],
    ["an answer if there is none", { answer: "$40", gold: "I don't know", unanswerable: true }, 0],
    ["no answer", { answer: null, gold: "" }, 0],
    ["an empty answer", { answer: " ", sources: ["<g@x>"], gold: "$40", goldMails: ["<g@x>"] }, 0],
  ];

  it("rewards answers with the expected score", () => {
    const rewards = rewardsOf(REWARDED.map(([, one]) => one));
    expect(REWARDED.map(([what], i) => [what, rewards[i]?.reward])).toEqual(
      REWARDED.map(([what, , reward]) => [what, reward]),
    );
  });

  const READ: [string, string, unknown][] = [
    ["the answer as JSON", '{"answer": "x", "sources": ["<a>", 3]}', ["x", ["<a>"]]],
    ["one source", '{"answer": "x", "sources": "<a>"}', ["x", ["<a>"]]],
    ["a number", '{"answer": 40}', ["40", []]],
    ["a JSON text", '"x"', ["x", []]],
    ["a byte order mark", '\ufeff{"answer": "x"}', ["x", []]],
    ["plain text", "It was $40.\n", ["It was $40.", []]],
    ["plain text with sources", "It was $40.\nSources: <a>, <b>\n", ["It was $40.", ["<a>", "<b>"]]],
    ["truncated JSON", '{"answer": "x', ['{"answer": "x', []]],
    ["a list", "[1]", ["[1]", []]],
    ["JSON without an answer", "{}", [null, []]],
    ["JSON nested too deeply", "[".repeat(100_000), ["[".repeat(100_000), []]],
    ["a lone surrogate", '{"answer": "\\ud800"}', ["\ud800", []]],
    ["nothing", " \n", [null, []]],
  ];

  it("reads answers in any form", () => {
    const folder = temporaryFolder();
    const files = READ.map(([what, text]) => {
      writeFileSync(join(folder, what), text);
      return join(folder, what);
    });
    const answers = python("grade.read_answer([case])[1:]", files);
    expect(READ.map(([what], i) => [what, answers[i]])).toEqual(READ.map(([what, , answer]) => [what, answer]));
  });

  it("does not follow links, and does not wait for a pipe", () => {
    const folder = temporaryFolder();
    const path = (name: string) => join(folder, name);
    mkdirSync(path("tests"));
    writeFileSync(path("tests/answer.json"), '{"answer": "gold"}');
    symlinkSync(path("tests/answer.json"), path("link.json"));
    symlinkSync(path("tests"), path("app"));
    execFileSync("mkfifo", [path("pipe")]);
    const files = ["link.json", "app/answer.json", "pipe", "tests", "none"].map(path);
    expect(python("grade.read_answer([case])", files)).toEqual(files.map(() => [null, null, []]));
  });
});
