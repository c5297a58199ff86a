import { spawnSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { type CommandEntry, type Flags, GLOBAL_FLAGS, nameOf } from "../../src/cli/command.js";
import { COMMANDS } from "../../src/cli/command-table.js";
import { groupFlags, placeholderOf } from "../../src/cli/parser.js";
import { main } from "../../src/cli.js";
import { programVersion } from "../../src/platform/installation.js";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "./art-e.js";

describe("help", () => {
  /** What --help says of the program, of every command and of every subcommand, from the flags that they declare. */

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

  const GLOBAL = /\nGlobal:\n(?: +(?:-\w, )?--.*\n)+/;
  /** Lines that are wrapped or padded to columns are compared by their words. */
  const inWords = (text: string) => text.replace(/\s+/g, " ");

  /** `-l, --limit N`; without a placeholder where yargs makes the list. */
  function writtenFlag(name: string, { alias = [] }: Flags[string], value = ""): string {
    const others = [alias].flat();
    const short = others.find((each) => each.length === 1);
    const long = [name, ...others.filter((each) => each.length > 1)].map((each) => `--${each}`);
    return `${short === undefined ? "" : `-${short}, `}${long.join(", ")}${value}`;
  }

  const SUBCOMMANDS = COMMANDS.flatMap((entry) =>
    "load" in entry
      ? []
      : entry.subcommands.map((sub): [string, CommandEntry] => [`${nameOf(entry)} ${sub.usage}`, sub]),
  );

  const ALONE = COMMANDS.flatMap((entry): [string, CommandEntry][] => ("load" in entry ? [[entry.usage, entry]] : []));

  it.each([...ALONE, ...SUBCOMMANDS])(
    "art-e %s: usage, what it does, arguments, its flags and no others",
    async (usage, entry) => {
      const { flags, positionals = {}, help } = await entry.load();
      const text = await printed(...usage.replace(/ [<[].*/, "").split(" "), "--help");
      expect(text.startsWith(`art-e ${usage}\n\n${entry.describe}\n`)).toBe(true);
      expect(text).toMatch(GLOBAL);
      expect(text.split("\n").filter((line) => line.length > 120)).toEqual([]);

      const own = inWords(text.replace(GLOBAL, ""));
      const [, ...args] = usage.match(/(?<=[<[])\w+|^/g) ?? [];
      expect(Object.keys(positionals)).toEqual(args);
      for (const [name, { describe = "" }] of Object.entries(positionals))
        expect(own).toContain(` ${name} ${describe}`);
      for (const [name, options] of Object.entries(flags)) {
        const value = help === undefined ? "" : placeholderOf(name, options, help);
        expect(own).toContain(` ${writtenFlag(name, options, value)} ${options.describe}`);
        expect(options.describe?.length).toBeGreaterThan(0);
      }
      const listed = [...text.replace(GLOBAL, "").matchAll(/^ +(?:-\w, )?--([a-z-]+)/gm)].map(([, name]) => name);
      expect(listed.sort()).toEqual(Object.keys(flags).sort());
      for (const [line] of help?.examples ?? []) expect(text).toContain(`  ${line}\n`);
    },
  );

  it.each(COMMANDS.filter((entry) => !("load" in entry)).map((entry) => [nameOf(entry), entry] as const))(
    "art-e %s: its subcommands",
    async (name, group) => {
      const text = inWords(await printed(name, "--help"));
      const subcommands = "load" in group ? [] : group.subcommands;
      for (const { usage, describe } of subcommands) expect(text).toContain(` art-e ${name} ${usage} ${describe}`);
    },
  );

  it("art-e: every command, the flags of all, and the exit codes", async () => {
    const text = await printed("--help");
    for (const { usage, describe } of COMMANDS) expect(inWords(text)).toContain(` art-e ${usage} ${describe}`);
    for (const [name, { describe }] of Object.entries(GLOBAL_FLAGS))
      expect(inWords(text)).toContain(`--${name} ${describe}`);
    expect(text.slice(text.indexOf("\nExit codes:"))).toBe(
      "\nExit codes: 0 done, 1 failed, 2 wrong usage or unusable input, 3 a gate missed (or more than half of the tasks failed),\n130 interrupted.\n",
    );
  });

  it("groups name flags that there are", async () => {
    for (const [, entry] of ALONE) {
      const { flags, help } = await entry.load();
      if (help === undefined) continue;
      const named = [help.groups, help.placeholders].flatMap((lists) => Object.values(lists).flat());
      expect(named.filter((name) => flags[name] === undefined)).toEqual([]);
      expect(groupFlags(help, flags).map(({ title }) => title)).not.toContain("Other");
    }
  });

  it("art-e search looks like this", async () => {
    expect((await printed("search", "--help")).replace(GLOBAL, "")).toMatchInlineSnapshot(`
    "art-e search <inbox_address> <words..>

    Search a mailbox as an agent would

    Positionals:
      inbox_address  The mailbox: its email address                                                      [string] [required]
      words          What to look for; a whole question is fine                             [array] [required] [default: []]

    Options:
      -l, --limit    Mails to show, 1-50 [default: 10]                                                              [number]
          --order    best (email_search), newest (search_emails: all words) [default: best]                         [string]
          --from     Only mail sent by this address                                                                 [string]
          --to       Only mail to, cc or bcc this address                                                           [string]
          --after    Only mail sent on or after this day                                                            [string]
          --before   Only mail sent before this day                                                                 [string]
          --cutoff   As for a question of this day: later mail is invisible                                         [string]
          --explain  Show where each hit's score comes from, and which words were corrected                        [boolean]
    "
  `);
  });

  it("art-e run looks like this", async () => {
    const text = await printed("run", "--help");
    expect(text.slice(0, text.indexOf("\nGlobal:"))).toMatchInlineSnapshot(`
      "art-e run

      Let an agent answer the questions, and score its answers

      Examples:
        # 100 questions of the test split, with the agent's own model
        art-e run -a email-search -l 100 -o results.json
        # what it would cost with another model; nothing is spent
        art-e run -a email-search --model-id openai/gpt-5.1 --dry-run
        # go on where a run stopped, and try its failed tasks again
        art-e run --resume latest --retry-failed

      What to run:
        -a, --agent ID                       Agent to test (art-e agents list), or human: you at this terminal; required
            --name NAME                      Name the new run, which can then be asked for by it
            --config FILE                    A file of settings, over which flags win, or off [default: art-e.yaml, here or
                                             beside the database, if there is one]
            --only NAME,NAME                 Only these of the runs in the file of settings, separated by commas
            --watch                          Serve a page on this machine that shows the run as it goes on
            --resume RUN                     Go on with a run: its id, the beginning of it, or latest
            --repeat RUN                     A new run that asks what RUN asked, with the agent and the settings it had
            --retry-failed                   With --resume: answer the failed tasks again too
            --force                          With --resume, --repeat: go on though something has changed, and record what
                                             differs
            --dry-run                        Estimate tokens, cost and time, and spend nothing
            --stats                          Show the dataset's statistics and exit

      Questions:
        -s, --split SPLIT                    Dataset split: train or test [default: test, or the file's only split]
        -l, --limit N                        Max tasks to run; 0 = all [default: 10]
            --ids ID,ID                      Only these task ids, separated by commas
            --inbox ADDRESS                  Only questions about this mailbox
            --min-realism N                  Only questions at least so realistic, 0-1
            --max-sources N                  Only questions with at most so many gold mails (ART: 1)
            --exclude-known-bad              Leave out the questions ART found to be wrong
            --shuffle                        In random order, by --seed
            --seed N                         Seed of --shuffle [default: 1]
            --epochs N                       Ask every question so many times [default: 1]
            --protocol NAME                  art: as the published ART-E figures were made: agent art-e, the first 100 test
                                             questions with one gold mail, known bad ones left out, no cutoff, its judge;
                                             flags beside it win
            --dataset, --csv-path FILE       A file of questions (Parquet, CSV, JSON, JSONL) instead of
                                             corbt/enron_emails_sample_questions
            --use-json                       Load by the JSON rows API instead of the Parquet file
            --revision COMMIT                Revision of the dataset [default: abc84674]
            --partial-inboxes                Also ask about mailboxes that are not imported as such
            --cutoff WHICH                   query_date (later mail is invisible) or off [default: query_date]

      Tasks of a suite:
            --suite FOLDER                   A task suite's folder: its tasks instead of questions about mailboxes
            --task ID,ID                     Task ids, or their beginnings, separated by commas
            --tool FOLDER                    Tasks of this folder of examples/ (or of Harbor tasks), such as jupyter
            --tag TAG,TAG                    Tasks with all of these tags, separated by commas
            --index FILE                     Tasks that an index file lists, such as test_one.json
            --counterparts WHICH             both: whole pairs, counterparts added; abstract or verbose: one of each pair
            --runnable                       Only tasks that can be run here
            --oracle FILE                    Oracle file for the agent oracle [default: the suite's oracle.jsonl]
            --functions FILE                 A module of your own set-up and evaluation functions; it runs with your rights
            --account-settings FOLDER        A folder of VENDOR/settings.json, for tasks tagged account [default: the suite's
                                             settings/]

      Model:
            --model-id PROVIDER/NAME         The model, as provider/name or name [default: the agent's own, else
                                             anthropic/claude-sonnet-5-5]
            --model-provider NAME            anthropic, openai, google, offline, replay [default: as the model's name tells]
            --base-url URL                   Address of a compatible server
            --wire-api API                   chat or responses, for openai [default: by server]
            --temperature N                  0-2 [default: the agent's, else the provider's]
            --max-turns N                    Model calls a task [default: the agent's, 10]
            --max-tokens N                   Tokens of one reply [default: the agent's, 2048]
            --reasoning-effort EFFORT        none, minimal, low, medium, high, xhigh, max [default: the agent's, else the
                                             model's]
            --reasoning-tokens N             Tokens for reasoning beside them [default: the agent's, else by the model]
            --header NAME=VALUE              NAME=VALUE: add a header to the model's requests; VALUE may have \${VARIABLE};
                                             repeatable
            --body NAME=JSON                 NAME=JSON: add a field to the body of the model's requests, such as seed=42;
                                             repeatable
            --price IN,OUT                   IN,OUT[,CACHED]: US dollars for a million tokens
            --cache                          Keep the model's replies in the cache folder, and answer from them
            --record FILE                    Keep the model's replies in FILE, for --model-id replay/FILE

      An agent elsewhere:
            --agent-url URL                  The agent is the model --agent of this OpenAI-compatible address, and runs its
                                             own tools
            --agent-command COMMAND          The agent is a program: questions as JSON lines on its stdin, answers on its
                                             stdout
            --tell-task                      With --api-url: put mailbox and day into the question too
            --api-url URL                    The agent is one of this server with the playground API [API_URL]
        -w, --workspace ID                   With --api-url: the workspace [WORKSPACE_ID]

      Speed:
            --concurrency N                  Tasks under way at once, or auto: as many as the server takes [default: auto]
            --rpm N                          At most so many requests a minute
            --tpm N                          At most so many tokens a minute, in and out
            --queue URL                      Let the workers of a Redis server answer (art-e worker): redis://HOST:PORT
                                             [ART_E_QUEUE_URL]
            --request-timeout SECONDS        Seconds a model call may take before it is tried again [default: 180]
            --task-timeout SECONDS           Seconds a task may take [default: 600]

      Limits:
            --max-cost USD                   Stop the run at so many US dollars; it can be resumed
            --max-task-cost USD              End a task at so many US dollars
            --max-run-tokens N               Stop the run at so many tokens, in and out
            --max-time MINUTES               Stop the run after so many minutes
            --max-failures N                 Stop the run at so many failed tasks, or a share: 5%
            --unsafe-host-python             Let execute_python run outside any sandbox, with your rights

      Scores:
            --scorers NAME,NAME              Scorers besides the five of the results file, separated by commas; eval:NAME runs
                                             an eval [default: all there are]
            --judge MODEL                    Model that judges the answers: provider/model, art or art:provider/model (the
                                             published protocol), or off [default: the agent's provider's cheap model, where
                                             there is a key]
            --no-judge                       The same as --judge off
            --judge-votes N                  Ask the judge so many times; most votes win [default: 1]
            --judge-base-url URL             Address of a compatible server for the judge
            --judge-reasoning-effort EFFORT  How much the judge should reason [default: its model's]
            --judge-header NAME=VALUE        NAME=VALUE: add a header to the judge's requests; VALUE may have \${VARIABLE};
                                             repeatable
            --judge-body NAME=JSON           NAME=JSON: add a field to the body of the judge's requests, such as seed=42;
                                             repeatable

      Results and gates:
        -o, --output FILE                    Save the results to a JSON file
            --overwrite                      Write over an output file that is of another kind
            --fail-under SCORE=N             accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower
                                             is better)
            --min-coverage SHARE             With --fail-under eval:NAME: the least share of the tasks that the eval must
                                             judge [default: 0.9]
            --baseline RUN                   A run or a results file that --metric must not be worse than
            --no-worse-than N                With --baseline: exit with 3 unless it is surely worse by less than this
                                             [default: 0.02]
            --metric SCORE                   The score of --baseline and --junit [default: accuracy]
            --junit FILE                     Write every task as a test case to FILE (JUnit XML)

      Traces to a server:
            --otlp                           Send the traces to the server that OTEL_EXPORTER_OTLP_ENDPOINT names
            --otlp-endpoint URL              Send them there; keys come from OTEL_EXPORTER_OTLP_HEADERS
            --scores API                     Send the scores too, to the API of langfuse or phoenix at the same server
            --no-content                     Of OTLP: without what was said, called, answered and explained
      "
    `);
  });

  it("--version tells the version of package.json and nothing else", async () => {
    expect(await printed("--version")).toBe(`${programVersion()}\n`);
  });
});

describe("completion", () => {
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

  describe("a word that is being typed", () => {
    it("is offered commands, subcommands and flags", async () => {
      expect(await offered("ru")).toEqual(["run", "runs"]);
      expect(await offered("--db", "art-e.db", "sui")).toEqual(["suite"]);
      expect(await offered("agents", "cl")).toEqual(["clone"]);
      expect(await offered("run", "--model-")).toEqual(["--model-id", "--model-provider"]);
      expect(await offered("--no")).toEqual(["--no-progress"]);
    });

    it("is offered the agents and runs of the database where one belongs", async () => {
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

    it("is offered mailboxes, tools, evals, tasks and traces", async () => {
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

    it("is left to the shell where any word will do, and where there is no database", async () => {
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

  describe("the script", () => {
    it("of bash completes a word", () => {
      const { stdout, stderr } = inBash(
        'eval "$(art-e completion bash)"; COMP_WORDS=(art-e stats --run run_); COMP_CWORD=3; _art_e; echo $COMPREPLY; complete -p art-e',
      );
      expect(stderr).toBe("");
      expect(stdout).toBe(`${run}\ncomplete -o bashdefault -o default -F _art_e art-e\n`);
    });

    it("of bash leaves no space after the name of a run, whose task comes next", () => {
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
