import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type CommandEntry, type Flag, GLOBAL_FLAGS, nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { EXAMPLES } from "../../src/cli/help/examples.js";
import { EXIT_CODES, groupFlags, placeholderOf } from "../../src/cli/help/help-text.js";
import { main } from "../../src/cli.js";
import { programVersion } from "../../src/platform/program-files.js";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "./art-e.js";

describe("help", () => {
  afterEach(() => vi.restoreAllMocks());

  async function printed(...words: string[]): Promise<string> {
    let text = "";
    const write = vi.spyOn(process.stdout, "write").mockImplementation((chunk) => {
      text += String(chunk);
      return true;
    });
    const code = await main(words);
    write.mockRestore();
    expect(code).toBe(0);
    return text;
  }

  const GLOBAL = /\nGlobal flags: --db FILE, --cache-dir FOLDER, --json, [^.]+\. See art-e --help\.\n$/;
  /** Ignores wrapping and padding: only the words are compared. */
  const inWords = (text: string) => text.replace(/\s+/g, " ");

  /** `-l, --limit N` */
  function writtenFlag(name: string, flag: Flag): string {
    const others = [flag.alias ?? []].flat();
    const short = others.find((each) => each.length === 1);
    const long = [name, ...others.filter((each) => each.length > 1)].map((each) => `--${each}`);
    return `${short === undefined ? "" : `-${short}, `}${long.join(", ")}${placeholderOf(name, flag)}`;
  }

  const SUBCOMMANDS = COMMANDS.flatMap((entry) =>
    "load" in entry
      ? []
      : entry.subcommands.map((sub): [string, CommandEntry] => [`${nameOf(entry)} ${sub.usage}`, sub]),
  );

  const ALONE = COMMANDS.flatMap((entry): [string, CommandEntry][] => ("load" in entry ? [[entry.usage, entry]] : []));

  it.each([...ALONE, ...SUBCOMMANDS])(
    "of art-e %s shows usage, purpose, examples, arguments, and exactly the command's flags",
    async (usage, entry) => {
      const command = await entry.load();
      const { flags, positionals = {} } = command;
      const path = usage.replace(/ [<[].*/, "");
      const text = await printed(...path.split(" "), "--help");
      expect(text.startsWith(`art-e ${usage}\n\n${entry.describe}\n`)).toBe(true);
      expect(text).toMatch(GLOBAL);
      expect(text.split("\n").filter((line) => line.length > 120 && !line.startsWith("  art-e "))).toEqual([]);

      const own = text.replace(GLOBAL, "");
      const [, ...args] = usage.match(/(?<=[<[])\w+|^/g) ?? [];
      expect(Object.keys(positionals)).toEqual(args);
      for (const [name, { describe = "" }] of Object.entries(positionals))
        expect(inWords(own)).toContain(` ${name.toUpperCase()} ${describe}`);
      for (const [name, flag] of Object.entries(flags)) {
        expect(inWords(own)).toContain(` ${writtenFlag(name, flag)} ${flag.describe}`);
        expect(flag.describe?.length).toBeGreaterThan(0);
      }
      const listed = [...own.matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
      expect(listed.sort()).toEqual(Object.keys(flags).sort());
      for (const [line] of EXAMPLES[path] ?? []) expect(text).toContain(`  ${line}\n`);
    },
  );

  it.each([...ALONE, ...SUBCOMMANDS])(
    "of art-e %s contains one to three examples with its own flags",
    async (usage, entry) => {
      const { flags } = await entry.load();
      const path = usage.replace(/ [<[].*/, "");
      const examples = EXAMPLES[path] ?? [];
      expect(examples.length).toBeGreaterThanOrEqual(1);
      expect(examples.length).toBeLessThanOrEqual(3);
      const known = Object.entries({ ...flags, ...GLOBAL_FLAGS }).flatMap(([name, { alias = [] }]) =>
        [name, alias].flat().map((each) => (each.length === 1 ? `-${each}` : `--${each}`)),
      );
      for (const [line] of examples) {
        expect(line.startsWith(`art-e ${path}`)).toBe(true);
        const used = line.replace(/'[^']*'/g, "").match(/(?<= )--?[a-z][a-z-]*/g) ?? [];
        expect(used.filter((flag) => !known.includes(flag))).toEqual([]);
      }
    },
  );

  it("contains only examples of existing commands", () => {
    const names = [...ALONE, ...SUBCOMMANDS].map(([usage]) => usage.replace(/ [<[].*/, ""));
    const groups = COMMANDS.flatMap((entry) => ("load" in entry ? [] : [nameOf(entry)]));
    expect(Object.keys(EXAMPLES).filter((name) => !["", ...names, ...groups].includes(name))).toEqual([]);
  });

  const GROUPS = COMMANDS.flatMap((entry) => ("load" in entry ? [] : [[nameOf(entry), entry] as const]));

  it.each(GROUPS)("of art-e %s lists its commands and examples, even if --help is missing", async (name, group) => {
    const text = await printed(name, "--help");
    expect(await printed(name)).toBe(text);
    for (const { usage, describe } of group.subcommands)
      expect(inWords(text)).toContain(` ${name} ${usage} ${describe}`);
    expect(EXAMPLES[name]?.length).toBeGreaterThan(0);
    expect(text).toMatch(GLOBAL);
  });

  it("of art-e lists every command, the global flags and the exit codes, even if --help is missing", async () => {
    const text = await printed("--help");
    expect(await printed()).toBe(text);
    expect(await printed("help")).toBe(text);
    for (const { usage, describe } of COMMANDS) expect(inWords(text)).toContain(` ${usage} ${describe}`);
    for (const [name, flag] of Object.entries(GLOBAL_FLAGS))
      expect(inWords(text)).toContain(`--${name}${placeholderOf(name, flag)} ${flag.describe}`);
    expect(inWords(text.slice(text.indexOf("\nExit codes:")))).toBe(` ${EXIT_CODES} `);
  });

  it("lists only existing flags in groups, and all flags of a command that has groups", async () => {
    for (const [, entry] of ALONE) {
      const command = await entry.load();
      const named = Object.values(command.flagGroups ?? {}).flat();
      expect(named.filter((name) => command.flags[name] === undefined)).toEqual([]);
      if (command.flagGroups !== undefined)
        expect(groupFlags(command).map(({ title }) => title)).not.toContain("Flags");
    }
  });

  it("of art-e search looks like this", async () => {
    expect(await printed("search", "--help")).toMatchInlineSnapshot(`
      "art-e search <inbox_address> <words..>

      Search a mailbox like an agent

      Examples:
        # search a mailbox
        art-e search jeff.dasovich@enron.com california hearing
        # with the parts of each score
        art-e search jeff.dasovich@enron.com hearing --after 2001-01-01 --explain

      Arguments:
        INBOX_ADDRESS            Email address of the mailbox
        WORDS                    Words to search for, or an entire question

      Flags:
        -l, --limit N            Number of emails, from 1 to 50 [default: 10]
            --order best|newest  Order: best (as email_search), or newest (as search_emails, which requires all words)
                                 [default: best]
            --from PERSON        Only emails from this address or name
            --to PERSON          Only emails with this address or name in To, Cc or Bcc
            --after DATE         Only emails sent on or after this date
            --before DATE        Only emails sent before this date
            --cutoff DATE        Search like for a question with this date (later emails are hidden)
            --explain            Show the parts of each score and which words were corrected

      Global flags: --db FILE, --cache-dir FOLDER, --json, --quiet, --no-progress, --verbose. See art-e --help.
      "
    `);
  });

  it("of art-e run looks like this", async () => {
    expect(await printed("run", "--help")).toMatchInlineSnapshot(`
      "art-e run

      Let an agent answer the questions, and score its answers

      Examples:
        # ask 100 questions of the test split
        art-e run -a email-search -l 100 -o results.json
        # estimate the cost with another model
        art-e run -a email-search --model-id openai/gpt-6.1-sol --dry-run
        # continue a run, and retry its failed tasks
        art-e run --resume latest --retry-failed

      Run:
        -a, --agent ID                      Agent to test (art-e agents list), or human for yourself. Required for a new run
            --name NAME                     Name for the new run, usable in place of its id
            --config FILE                   Config file, or off. Flags override it [default: art-e.yaml here or next to the
                                            database, if it exists]
            --only NAME,NAME                Only these runs from the config file, separated by commas
            --watch                         Show the run on a web page on this machine
            --resume RUN                    Continue a run: its id, the start of its id, or latest
            --repeat RUN                    Start a new run with the questions, agent and settings of RUN
            --retry-failed                  With --resume: also answer failed tasks again
            --force                         With --resume, --repeat: continue despite changes, and record the differences
            --dry-run                       Estimate tokens, cost and time without calling a model
            --stats                         Show dataset statistics and exit

      Questions:
        -s, --split train|test              Dataset split: train or test [default: test, or the file's only split]
        -l, --limit N                       Maximum number of tasks (0 = all) [default: 10]
            --ids ID,ID                     Only these task ids, separated by commas
            --inbox ADDRESS                 Only questions about this mailbox
            --min-realism N                 Minimum realism of the questions, from 0 to 1
            --max-sources N                 Maximum number of gold emails per question (ART: 1)
            --exclude-known-bad             Leave out the questions that ART found to be wrong
            --shuffle                       Ask in random order (see --seed)
            --seed N                        Seed for --shuffle and --until [default: 1]
            --epochs N                      Number of times to ask each question [default: 1]
            --protocol art                  art: the conditions of the published ART-E figures (agent art-e, the first 100
                                            test questions with one gold email, no known bad ones, no cutoff, ART's judge).
                                            Other flags override it
            --dataset, --csv-path FILE      File of questions (Parquet, CSV, JSON, JSONL) instead of
                                            corbt/enron_emails_sample_questions
            --use-json                      Load the questions from the JSON rows API instead of the Parquet file
            --revision COMMIT               Dataset revision [default: abc84674]
            --partial-inboxes               Also ask about mailboxes that were not imported as such
            --cutoff query_date|off         Hide later emails: query_date or off [default: query_date]

      Suite tasks:
            --suite FOLDER                  Task suite folder. Runs its tasks instead of questions about mailboxes
            --task NAME,NAME                Task ids, or starts of ids, separated by commas
            --tool FOLDER                   Only tasks in this folder of examples/ (or of Harbor tasks), such as jupyter
            --tag NAME,NAME                 Only tasks with all of these tags, separated by commas
            --index FILE                    Only tasks listed in this index file, such as test_one.json
            --counterparts both|abstract|verbose
                                            Pairs of tasks: both (add counterparts), abstract or verbose (one of each pair)
            --runnable                      Only tasks that can run on this machine
            --oracle FILE                   Oracle file for the oracle agent [default: the suite's oracle.jsonl]
            --functions FILE                Module with custom setup and evaluation functions. It runs with your permissions
            --account-settings FOLDER       Folder with VENDOR/settings.json, for tasks tagged account [default: the suite's
                                            settings/]

      Model:
            --model-id PROVIDER/NAME        Model, as provider/name or name [default: the agent's, otherwise
                                            anthropic/claude-sonnet-5-5]
            --model-provider NAME           Provider: anthropic, openai, google, offline, replay [default: from the model
                                            name]
            --base-url URL                  URL of a compatible server
            --wire-api chat|responses       Wire format for openai: chat or responses [default: depends on the server]
            --temperature N                 Temperature from 0 to 2 [default: the agent's, otherwise the provider's]
            --max-turns N                   Maximum model calls per task [default: the agent's, 10]
            --max-tokens N                  Maximum tokens per reply [default: the agent's, 2048]
            --reasoning-effort EFFORT       Reasoning effort: none, minimal, low, medium, high, xhigh, max [default: the
                                            agent's, otherwise the model's]
            --reasoning-tokens N            Additional tokens for reasoning [default: the agent's, otherwise depends on the
                                            model]
            --header NAME=VALUE             Header to add to the model's requests (repeatable). VALUE can contain \${VARIABLE}
            --body NAME=JSON                Field to add to the body of the model's requests, such as seed=42 (repeatable).
                                            Recorded with the run
            --price IN,OUT                  Price in US dollars per million tokens: IN,OUT[,CACHED]
            --cache                         Cache the model's replies, and answer from the cache
            --record FILE                   Record the model's replies in FILE, for --model-id replay/FILE

      External agent:
            --agent-command COMMAND         Program that runs the agent: JSON Lines on stdin and stdout
            --agent-url URL                 OpenAI-compatible endpoint that runs the agent with its own tools (--agent is the
                                            model)
            --api-url URL                   Server with the playground API that runs the agent [API_URL]
        -w, --workspace ID                  With --api-url: workspace [WORKSPACE_ID]
            --tell-task                     With --api-url: add the mailbox and date to the question

      Speed:
            --concurrency N|auto            Maximum concurrent tasks, or auto (as many as the server accepts) [default: auto]
            --rpm N                         Maximum requests per minute
            --tpm N                         Maximum input and output tokens per minute
            --queue URL                     Let the workers of a Redis server answer (art-e worker), as redis://HOST:PORT
                                            [ART_E_QUEUE_URL]
            --request-timeout SECONDS       Timeout per model call, in seconds [default: 180]
            --task-timeout SECONDS          Timeout per task, in seconds [default: 600]

      Limits:
            --max-cost USD                  Stop the run at this cost, in US dollars (it can be resumed)
            --max-task-cost USD             End a task at this cost, in US dollars
            --max-run-tokens N              Stop the run after N input and output tokens
            --max-time MINUTES              Stop the run after this time, in minutes
            --until CLAIM                   Stop the run when a claim is settled, and ask in random order (see --seed):
                                            "better than RUN [by N] [or not by N] [on SCORE]", "no worse than RUN by N [on
                                            SCORE]" or "different from RUN [or not by N] [on SCORE]"
            --perturb PERTURB               Disturb each task, for art-e reliability: reworded, tool-error, latency, shuffled.
                                            Usually with --repeat RUN
            --max-failures N|N%             Stop the run after N failed tasks, or at a percentage: 5%
            --unsafe-host-python            Run execute_python without a sandbox, with your permissions

      Scores:
            --scorers NAME,NAME             Additional scorers, separated by commas (eval:NAME runs an eval) [default: all]
            --judge MODEL                   Judge: provider/model, art or art:provider/model (the published protocol),
                                            eval:NAME (the judge of an eval), or off [default: the cheap model of the agent's
                                            provider, if there is a key]
            --no-judge                      Same as --judge off
            --judge-votes N                 Number of verdicts per answer (the majority wins) [default: 1]
            --judge-base-url URL            URL of a compatible server for the judge
            --judge-reasoning-effort EFFORT
                                            Reasoning effort of the judge [default: its model's]
            --judge-header NAME=VALUE       Header to add to the judge's requests (repeatable). VALUE can contain \${VARIABLE}
            --judge-body NAME=JSON          Field to add to the body of the judge's requests, such as seed=42 (repeatable)

      Results and gates:
        -o, --output FILE                   Save the results as a JSON file
            --overwrite                     Replace an output file of another kind
            --fail-under SCORE=N            Minimum scores, such as accuracy=0.8,sources=0.7 (maximum, if lower is better).
                                            accuracy is the headline score. Exit code 3 if missed
            --min-coverage FRACTION         With --fail-under or --baseline: minimum fraction of the tasks that must have the
                                            score, unless it does not apply to them [default: 0.9]
            --require-validated             With --fail-under on an eval or the judge's score: reject it if its newest test
                                            did not pass
            --baseline RUN                  Run or results file to compare --metric with. Exit code 3 if worse
            --no-worse-than N               With --baseline: maximum loss, excluded with 95% confidence. The default takes at
                                            least 73 questions [default: 0.05]
            --metric SCORE                  Score for --baseline and --junit-tasks [default: accuracy, the headline score]
            --failed-tasks wrong|exclude    With --fail-under or --baseline: count failed tasks as wrong, or exclude them
                                            [default: wrong]
            --junit FILE                    Write each gate and task as a test case to FILE (JUnit XML). Only missed gates are
                                            failures
            --junit-tasks                   With --junit: wrong answers by --metric are failures too, and failed tasks are
                                            errors

      Sending traces:
            --otlp                          Send the traces to the server in OTEL_EXPORTER_OTLP_ENDPOINT
            --otlp-endpoint URL             Send the traces to this OTLP endpoint, with the keys from
                                            OTEL_EXPORTER_OTLP_HEADERS
            --scores langfuse|phoenix       Also send the scores, to the API of langfuse or phoenix at the same server
            --no-content                    With --otlp: leave out messages, calls, answers and reasons

      Global flags: --db FILE, --cache-dir FOLDER, --json, --quiet, --no-progress, --verbose. See art-e --help.
      "
    `);
  });

  it.each(["--version", "-v", "version"])(
    "is not shown by art-e %s, which prints only the version in package.json",
    async (word) => {
      expect(await printed(word)).toBe(`${programVersion()}\n`);
    },
  );
});

describe("shell completion", () => {
  const { artE, path } = workFolder({ mail: MAIL });
  const PROGRAM = join(import.meta.dirname, "../../bin/art-e.js");
  let run: string;

  beforeAll(async () => {
    run = JSON.parse((await artE(`run -a baseline --dataset ${QUESTIONS} -l 2 --quiet --json`)).stdout).runId;
    writeFileSync(path("art-e"), `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`);
    chmodSync(path("art-e"), 0o755);
  });

  const offered = async (...words: string[]) =>
    (await artE(["--complete-words", ...words])).stdout.split("\n").filter((word) => word !== "");

  describe("of a partial word", () => {
    it("offers commands, subcommands and flags", async () => {
      expect(await offered("ru")).toEqual(["run", "runs"]);
      expect(await offered("--db", "art-e.db", "sui")).toEqual(["suite"]);
      expect(await offered("agents", "cl")).toEqual(["clone"]);
      expect(await offered("run", "--model-")).toEqual(["--model-id", "--model-provider"]);
      expect(await offered("--no")).toEqual(["--no-progress"]);
    });

    it("offers the database's agents and runs if the value is an agent or a run", async () => {
      expect(await offered("run", "-a", "base")).toEqual(["baseline"]);
      expect(await offered("agents", "show", "email-")).toEqual(["email-search"]);
      for (const words of [
        ["stats", "--run"],
        ["runs", "show"],
        ["compare", "latest"],
        ["run", "--quiet", "--resume"],
      ]) {
        expect(await offered(...words, "")).toEqual(["latest", run]);
      }
    });

    it("offers mailboxes, tools, evals, tasks and traces", async () => {
      expect(await offered("search", "marc")).toEqual([MARCUS]);
      expect(await offered("ask", "marc")).toEqual([MARCUS]);
      expect(await offered("mcp", "--inbox", "marc")).toEqual([MARCUS]);
      expect(await offered("agents", "attach", "baseline", "email_s")).toEqual(["email_search"]);
      expect(await offered("tools", "show", "email_g")).toEqual(["email_get"]);
      expect(await offered("evals", "show", "")).toEqual([]);
      expect(await offered("show", "la")).toEqual(["latest/"]);
      expect(await offered("show", "latest/")).toEqual(["latest/1", "latest/2"]);
      expect(await offered("show", `${run}/2`)).toEqual([`${run}/2`]);
      expect(await offered("export-traces", "--run", run, "--ids", "")).toEqual(["1", "2"]);
      expect(await offered("export-traces", "--ids", "1,")).toEqual(["1,1", "1,2"]);
      expect(await offered("show", "nothing/")).toEqual([]);
      const suite = join(import.meta.dirname, "../../fixtures/suites/demo");
      const tasks = await offered("suite", "show", suite, "");
      expect(tasks.length).toBeGreaterThan(2);
      expect(await offered("run", "--suite", suite, "--task", tasks[0]?.slice(0, -1) ?? "")).toContain(tasks[0]);
      expect(await offered("completion", "z")).toEqual(["zsh"]);
    });

    it("leaves other values to the shell, and everything if there is no database", async () => {
      expect(await offered("run", "--suite", "")).toEqual([]);
      expect(await offered("import", "")).toEqual([]);
      expect(await offered("--db", "none.db", "run", "-a", "")).toEqual([]);
    });
  });

  const inBash = (script: string) =>
    spawnSync("bash", ["-c", script], {
      cwd: path("."),
      encoding: "utf8",
      env: { PATH: `${path(".")}:${process.env.PATH}`, HOME: path(".") },
    });

  describe("the completion script", () => {
    it("completes a word in bash", () => {
      const { stdout, stderr } = inBash(
        'eval "$(art-e completion bash)"; COMP_WORDS=(art-e stats --run run_); COMP_CWORD=3; _art_e; echo $COMPREPLY; complete -p art-e',
      );
      expect(stderr).toBe("");
      expect(stdout).toBe(`${run}\ncomplete -o bashdefault -o default -F _art_e art-e\n`);
    });

    it("adds no space after a run's name in bash, because its task comes next", () => {
      const { stdout, stderr } = inBash(
        `eval "$(art-e completion bash)"; compopt() { echo "compopt:$2"; }; COMP_WORDS=(art-e show ${run.slice(0, -1)}); COMP_CWORD=2; _art_e; echo $COMPREPLY`,
      );
      expect(stderr).toBe("");
      expect(stdout).toBe(`compopt:nospace\n${run}/\n`);
    });

    it("is refused for another shell", async () => {
      const { code, stderr } = await artE("completion tcsh");
      expect([code, stderr.split("\n")[0]]).toEqual([2, "art-e: SHELL: expected bash or zsh or fish."]);
    });
  });
});
