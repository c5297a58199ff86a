import { execFileSync } from "node:child_process";
import { createReadStream, existsSync, linkSync, mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "vitest";
import { nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { demoQuestion, MAIL, QUESTIONS, workFolder } from "./art-e.js";

describe("output files", () => {
  const { artE, path, read, write } = workFolder({ mail: MAIL });

  beforeAll(async () => {
    write("questions.jsonl", `${JSON.stringify(demoQuestion(1))}\n`);
    const { code, stderr } = await artE("run -a baseline --dataset questions.jsonl -o base.json --quiet");
    if (code !== 0) throw new Error(stderr);
    symlinkSync("art-e.db", path("link.json"));
    linkSync(path("art-e.db"), path("hard.json"));
    mkdirSync(path("sub"));
    symlinkSync("not-yet.db", path("dangling.json"));
    write("replies.jsonl", '{"key":"k"}\n');
  });

  /** Every command that writes a file, up to the file's name. */
  const WRITERS = [
    "run -a baseline --dataset questions.jsonl -o",
    "run -a baseline --dataset questions.jsonl --junit",
    "run -a baseline --dataset questions.jsonl --record",
    "score --run latest -o",
    "gate latest --junit",
    "report -o",
    "report --format csv -o",
    "report --format md -o",
    "export-traces -o",
    "agents export baseline -o",
  ];

  async function refused(line: string, file: string, why: RegExp): Promise<void> {
    const before = existsSync(path(file)) ? readFileSync(path(file)) : null;
    const { code, stdout, stderr } = await artE(line);
    expect({ code, stdout }, line).toEqual({ code: 2, stdout: "" });
    expect(stderr, line).toMatch(why);
    expect(stderr.trimEnd().split("\n"), line).toHaveLength(2);
    if (before === null) expect(existsSync(path(file)), line).toBe(false);
    else expect(readFileSync(path(file)).equals(before), line).toBe(true);
  }

  describe("a database as output", () => {
    const names = ["art-e.db", "sub/../art-e.db", "link.json", "hard.json"];
    it.each(WRITERS.map((typed, i) => `${typed} ${names[i % names.length]}`))("stays unchanged by %s", (line) =>
      refused(`${line} --overwrite`, "art-e.db", /: \S+ is the database, which would be overwritten\./),
    );

    it("stays unchanged, like its log, other SQLite files and files about to be created", async () => {
      await refused("export-traces -o art-e.db-wal", "art-e.db-wal", /is part of the database/);
      write("foreign.sqlite", Buffer.from("SQLite format 3\0 and more"));
      await refused("export-traces --overwrite -o foreign.sqlite", "foreign.sqlite", /is a SQLite file/);
      await refused(
        "export-traces --overwrite -o foreign.sqlite-journal",
        "foreign.sqlite-journal",
        /is a SQLite file/,
      );
      const elsewhere = "run --agent-url http://127.0.0.1:9 -a x --dataset questions.jsonl --db not-yet.db";
      await refused(`${elsewhere} -o not-yet.db`, "not-yet.db", /is the database/);
      await refused(`${elsewhere} -o dangling.json`, "not-yet.db", /is the database/);
    });
  });

  describe("a path below a file", () => {
    const folders = ["report --csv", "export-results latest -o", "export-traces --for evals -o", "demo -o"];
    const exported = "env export --dataset questions.jsonl -o";
    it.each([...WRITERS, ...folders, exported])("causes an error from %s", (line) =>
      refused(`${line} questions.jsonl/x`, "questions.jsonl", /: Cannot (write|create) \S+: \S+ is not a folder\.$/m),
    );
  });

  describe("an input file", () => {
    const run = "run -a baseline --dataset questions.jsonl --overwrite";
    it.each([
      [`${run} -o questions.jsonl`, "questions.jsonl", /--output: \S+ is the dataset/],
      [`${run} --junit sub/../questions.jsonl`, "questions.jsonl", /--junit: \S+ is the dataset/],
      [`${run} --baseline base.json -o base.json`, "base.json", /is the baseline/],
      [`${run} --model-id replay/replies.jsonl --record replies.jsonl`, "replies.jsonl", /is the file of replies/],
      [
        `${run} --judge art:replay/replies.jsonl --record replies.jsonl`,
        "replies.jsonl",
        /is the judge's file of replies/,
      ],
      [`${run} -o new.json --junit sub/../new.json`, "new.json", /--junit: \S+ is the file of --output/],
      ["gate base.json --junit base.json --overwrite", "base.json", /is the results file/],
      [
        "score --run latest --judge replay/replies.jsonl -o replies.jsonl --overwrite",
        "replies.jsonl",
        /file of replies/,
      ],
      ["import mail.partial --db mail", "mail.partial", /Cannot import mail\.partial: the import would overwrite/],
    ])("stays unchanged by %s", async (line, file, why) => {
      if (file === "mail.partial") write(file, "From: a@b.c\n\nHello.\n");
      await refused(line, file, why);
    });

    it("stays unchanged if it contains the stored replies of a custom agent", async () => {
      expect(await artE("agents clone baseline mine")).toMatchObject({ code: 0 });
      expect(await artE("agents set mine --model replay/replies.jsonl")).toMatchObject({ code: 0 });
      const line = "run -a mine --dataset questions.jsonl --record replies.jsonl";
      await refused(line, "replies.jsonl", /--record: replies\.jsonl is the file of replies/);
    });

    it("stays in place if the new database of an import would have its name", async () => {
      write("other.db.partial", "mine");
      await refused(
        `import ${MAIL} --db other.db`,
        "other.db.partial",
        /other\.db\.partial.+was not left over from an import/,
      );
    });
  });

  describe("a file of another kind", () => {
    it.each(WRITERS)("stays unchanged by %s", async (typed) => {
      write("notes", "my notes\n");
      await refused(`${typed} notes`, "notes", /--\w+: notes exists and is not a .+\n {7}.+--overwrite/);
    });

    it.each(WRITERS)(
      "changes with %s if --overwrite is given, and a file of the same kind even if not",
      async (typed) => {
        write("mine", "my notes\n");
        expect(await artE(`${typed} mine --overwrite --quiet`), typed).toMatchObject({ code: 0 });
        expect(read("mine"), typed).not.toContain("my notes");
        expect(await artE(`${typed} mine --quiet`), typed).toMatchObject({ code: 0 });
      },
    );

    it("stays in the folder next to a page if that folder contains more than conversations", async () => {
      mkdirSync(path("page-traces"));
      write("page-traces/READ-ME.txt", "Conversations of page.html\n");
      write("page-traces/thesis.tex", "years of work");
      const { code, stderr } = await artE("report -o page.html --traces folder");
      expect(code).toBe(2);
      expect(stderr).toContain("already exists and does not belong to a report");
      expect(read("page-traces/thesis.tex")).toBe("years of work");
    });
  });

  describe("an ending of another format", () => {
    /** Every flag that names an output, with a command line up to the name, and the endings that fit. */
    const run = "run -a baseline --dataset questions.jsonl --quiet";
    const OUTPUTS: Readonly<Record<string, readonly [line: string, ...endings: string[]]>> = {
      "run --output": [`${run} -o`, ".json"],
      "run --junit": [`${run} --junit`, ".xml"],
      "run --record": [`${run} --record`, ".jsonl"],
      "score --output": ["score -o", ".json"],
      "gate --junit": ["gate --fail-under accuracy=0 --junit", ".xml"],
      "report --output": ["report -o", ".html", ".htm", ".md", ".csv"],
      "export-traces --output": ["export-traces -o", ".jsonl", ".eval"],
      "agents export --output": ["agents export baseline -o", ".yaml", ".yml"],
      "evals label --output": ["evals label --list -o", ".jsonl"],
      "questions make --output": ["questions make -n 1 -o", ".jsonl", ".csv", ".parquet"],
      "env client --output": ["env client --for trl -o", ".py"],
      "init --output": ["init -o", ".yaml", ".yml"],
      // Folders have no format.
      "demo --output": ["demo -o"],
      "stats --csv": ["stats --csv"],
      "report --csv": ["report --csv"],
      "export-results --output": ["export-results --tables tasks --format csv -o"],
      "evals export --output": ["evals export -o"],
      "suite export --output": ["suite export art-e --dataset questions.jsonl -o"],
      "env export --output": ["env export --dataset questions.jsonl -o"],
    };
    /** These write to stdout if no file is given. */
    const PRINTING = ["report", "export-traces", "agents export", "export-results"];

    it("belongs to every flag that names an output", async () => {
      const entries = COMMANDS.flatMap((entry) =>
        "load" in entry
          ? [{ path: nameOf(entry), load: entry.load }]
          : entry.subcommands.map((each) => ({ path: `${nameOf(entry)} ${nameOf(each)}`, load: each.load })),
      );
      const flags = await Promise.all(
        entries.map(async ({ path, load }) => Object.keys((await load()).flags).map((name) => `${path} --${name}`)),
      );
      const outputs = flags.flat().filter((flag) => / --(output|junit|record|csv)$/.test(flag));
      expect(outputs.sort()).toEqual(Object.keys(OUTPUTS).sort());
    });

    const files = Object.entries(OUTPUTS).filter(([, [, ending]]) => ending !== undefined);

    it.each(files)("causes an error from %s before anything is written", async (_, [line]) => {
      await refused(`${line} other.pdf`, "other.pdf", /--\w+: .*other\.pdf.*expected a .*file|expected a .* file, got/);
    });

    it.each(files.flatMap(([flag, [line, ...endings]]) => endings.map((ending) => [flag, ending, line])))(
      "chooses the format of %s (%s)",
      async (flag, ending, line) => {
        const file = `kept-${flag.replaceAll(/\W+/g, "-")}${ending}`;
        const { code, stderr } = await artE(`${line} ${file}`);
        expect({ code, stderr }).toMatchObject({ code: 0 });
        const start = readFileSync(path(file), "latin1").slice(0, 200);
        if (ending === ".html" || ending === ".htm") expect(start).toMatch(/^<!doctype html>/i);
        if (ending === ".md") expect(start).toMatch(/^## ART-E/);
        if (ending === ".csv" && flag.startsWith("report")) expect(start).toContain("runId,agentId,");
        if (ending === ".eval") expect(start).toMatch(/^PK/);
      },
    );

    it.each([
      [
        "report --format csv -o tasks.md",
        /Cannot write a table of tasks to tasks\.md: expected a file that ends in \.csv/,
      ],
      [
        "export-traces --format inspect -o x.json",
        /Cannot write a traces file to x\.json: .* \.eval or \.inspect\.\n.*x\.eval/,
      ],
      ["export-traces --format art -o x.eval", /expected a file that ends in \.jsonl/],
    ])("causes an error if another format is given (%s)", (line, why) =>
      refused(line, line.split(" -o ")[1] ?? "", why),
    );

    it.each(Object.entries(OUTPUTS))("does not make - the name of a file (%s)", async (flag, [line]) => {
      const { code, stdout, stderr } = await artE(`${line} -`);
      expect(existsSync(path("-"))).toBe(false);
      const isPrinted = PRINTING.some((name) => flag === `${name} --output`);
      if (isPrinted) expect({ code, hasOutput: stdout.length > 100 }).toEqual({ code: 0, hasOutput: true });
      else expect({ code, stdout }, stderr).toEqual({ code: 2, stdout: "" });
    });
  });

  describe("a step summary", () => {
    it("receives nothing if it is the database", async () => {
      const before = readFileSync(path("art-e.db"));
      const line = "gate latest --fail-under semanticScore=0";
      const { code, stderr } = await artE(line, { GITHUB_STEP_SUMMARY: path("art-e.db") });
      expect(code).toBe(0);
      expect(stderr).toMatch(/cannot write the step summary: GITHUB_STEP_SUMMARY: .+ is the database/);
      expect(readFileSync(path("art-e.db")).equals(before)).toBe(true);
    });
  });
});

describe("named pipes", () => {
  /** Opening a named pipe without a writer blocks forever, so all commands refuse to read one. */

  const { artE, path, write } = workFolder({ mail: MAIL });
  const RUN = `run -a email-search --model-id offline/baseline --dataset ${QUESTIONS} -l 1 --quiet`;

  beforeAll(() => {
    execFileSync("mkfifo", ["pipe", "pipe.py", "pipe.csv", "pipe.tsv", "pipe.yaml"].map(path));
    write("emails.csv", "file,message\n");
  });

  it.each([
    "import pipe --db new.db",
    "import pipe.csv --db new.db",
    `import ${MAIL} --owner-map pipe.tsv --db new.db`,
    "import-traces pipe",
    "run -a email-search --model-id offline/baseline --dataset pipe -l 1",
    `${RUN} --config pipe.yaml`,
    `run -a email-search --model-id replay/pipe --dataset ${QUESTIONS} -l 1`,
    `${RUN} -o pipe`,
    "questions check pipe",
    "evals add pipe.py",
    "evals label --from pipe",
    "serve --token-file pipe",
    "agents import pipe.yaml",
    "tools add mine --command cat --parameters @pipe",
  ])("make %s fail, and the reason is shown", async (line) => {
    const { code, stderr } = await artE(line);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/\bpipe(\.\w+)?\b.*(a named pipe|is not mail in a supported format)/);
  });

  it("receive the output if there is a reader", async () => {
    const read = text(createReadStream(path("pipe")));
    expect(await artE(`${RUN} -o pipe`)).toMatchObject({ code: 0 });
    expect(JSON.parse(await read)).toMatchObject({ completedTasks: 1 });
  });
});
