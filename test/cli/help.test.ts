import { beforeAll, describe, expect, it } from "vitest";
import { programVersion } from "../../src/platform/program-version.js";
import { type Ended, workFolder } from "./art-e.js";

const COMMANDS =
  "demo init import questions run worker queue score judge stats runs compare gate report export-results export-traces import-traces eval-search search show doctor agents tools suite evals serve ask mcp completion".split(
    " ",
  );

/** The subcommands whose flags are checked one by one. */
const SUBCOMMANDS = [
  "judge calibrate",
  "agents create",
  "agents set",
  "agents export",
  "tools list",
  "tools add",
  "tools set",
  "tools test",
  "suite list",
  "suite show",
  "suite check",
  "evals label",
  "evals suggest",
  "evals generate",
  "evals test",
  "evals list",
  "evals show",
  "evals review",
  "evals rank",
  "evals refine",
  "evals use",
  "evals retire",
  "evals run",
  "evals export",
  "evals import",
  "questions make",
  "questions check",
  "queue status",
  "queue clean",
];

const { artE } = workFolder();
const helps = new Map<string, Ended>();

beforeAll(async () => {
  const commands = [...COMMANDS, ...SUBCOMMANDS];
  const ended = await Promise.all([artE("--help"), ...commands.map((command) => artE(`${command} --help`))]);
  for (const [i, help] of ended.entries()) helps.set(["art-e", ...commands][i] ?? "", help);
});

const globalPart = (text: string) => text.slice(text.indexOf("\nGlobal:"));

/** Without what every help ends with. */
function ownPart(command: string): string {
  const text = helps.get(command)?.stdout ?? "";
  return text.slice(0, text.indexOf("\nGlobal:"));
}

describe("--help", () => {
  it("goes to stdout and ends well, for the program and every command", () => {
    for (const [command, help] of helps) expect(help, command).toMatchObject({ code: 0, stderr: "" });
  });

  it("ends with the flags that every command has; that of the program with the exit codes", () => {
    const [shared = "", exitCodes] = globalPart(helps.get("art-e")?.stdout ?? "").split("\n\n");
    expect(shared).toMatchInlineSnapshot(`
      "
      Global:
            --db           The database [ART_E_DB, art-e.yaml, default: ./art-e.db]                                   [string]
            --cache-dir    For downloads [ART_E_CACHE_DIR, default: ./.art-e-cache]                                   [string]
            --json         Results as JSON on stdout, and nothing else there                                         [boolean]
            --quiet        No progress and no notes                                                                  [boolean]
            --no-progress  No progress                                                                               [boolean]
            --verbose      Errors with their stack                                                                   [boolean]
        -h, --help         Show help                                                                                 [boolean]
            --version      Show version number                                                                       [boolean]"
    `);
    expect(exitCodes).toMatchInlineSnapshot(`
      "Exit codes: 0 done, 1 failed, 2 wrong usage or unusable input, 3 a gate missed (or more than half of the tasks failed),
      130 interrupted.
      "
    `);
    for (const command of [...COMMANDS, ...SUBCOMMANDS])
      expect(globalPart(helps.get(command)?.stdout ?? ""), command).toBe(`${shared}\n`);
  });

  it("is as wide as 120 columns at most", () => {
    const lines = [...helps.values()].flatMap((help) => help.stdout.split("\n"));
    expect(lines.filter((line) => line.length > 120)).toEqual([]);
  });

  it("of the program lists the commands, each of which stands below", () => {
    const listed = [...ownPart("art-e").matchAll(/^ {2}art-e ([a-z-]+)/gm)].map(([, name]) => name);
    expect(listed).toEqual(COMMANDS);
    expect(ownPart("art-e")).toMatchInlineSnapshot(`
      "art-e <command>

      Runs the ART-E benchmark: how well an agent answers a person's questions from that person's mailbox.

      Commands:
        art-e demo                              Try everything on a bundled mailbox, offline and without an API key
        art-e init                              Write a file of settings for run and gate, after three questions
        art-e import [source..]                 Import mail into the database
        art-e questions                         Make questions from imported mail, and check or review those of any dataset
        art-e run                               Let an agent answer the questions, and score its answers
        art-e worker                            Answer tasks of runs on a queue, beside other machines (run --queue)
        art-e queue                             What is on a queue of runs, and how to clean it
        art-e score                             Score the stored traces of a run again, without calling its agent
        art-e judge                             Measure a judge: how far it agrees with people
        art-e stats                             Figures of the dataset, the imported mail, or a run
        art-e runs                              List, show, name, tag and delete runs
        art-e compare <runs..>                  Compare runs question by question: is the difference real?
        art-e gate <name>                       Pass or fail a finished run: thresholds, no worse than a baseline, JUnit XML
        art-e report [runs..]                   Write runs as an HTML page, as Markdown, or as a CSV of tasks
        art-e export-results [runs..]           Write runs as tables (tasks, turns, tool calls) in Parquet, CSV or JSON lines,
                                                for pandas, DuckDB and R
        art-e export-traces                     Write the traces of a run as JSON lines
        art-e import-traces <file>              Read traces of another database or another program, to score, show, report and
                                                export them
        art-e eval-search                       Measure how well the search finds the gold mail, with the question itself as
                                                the query
        art-e search <inbox_address> <words..>  Search a mailbox as an agent would
        art-e show <name>                       Show a trace (its id, or RUN/TASK such as latest/12) or a mail (its
                                                Message-ID)
        art-e doctor                            Check the database: integrity, index, query plans, owners, disk
        art-e agents                            List, show, create, change and delete agents; attach and detach tools; export
                                                and import
        art-e tools                             List, show, add, change and delete tools, and call one to test it
        art-e suite                             List, show, check and export task suites: folders of tasks with set-up and
                                                evaluation functions
        art-e evals                             Label traces, make evals from the labels, prove them on traces they have not
                                                seen, and run them
        art-e serve                             Serve the agents over HTTP: the API, a playground page, and an
                                                OpenAI-compatible endpoint
        art-e ask <inbox_address> <question..>  Answer one question from a mailbox, with its sources
        art-e mcp                               Start an MCP server for one mailbox: search, read, and the mails as resources
        art-e completion [shell]                Print a script that lets bash, zsh or fish complete commands, flags and ids
      "
    `);
  });

  it("of demo", () => {
    expect(ownPart("demo")).toMatchInlineSnapshot(`
      "art-e demo

      Try everything on a bundled mailbox, offline and without an API key

      Options:
        -o, --output     Folder for the files it writes [default: ./demo-output]                                      [string]
            --overwrite  Write over an output file that is of another kind                                           [boolean]
      "
    `);
  });

  it("of import", () => {
    expect(ownPart("import")).toMatchInlineSnapshot(`
      "art-e import [source..]

      Import mail into the database

      Positionals:
        source  Maildir folders, tar archives, Kaggle's emails.csv, parsed CSV, Parquet, mbox or .eml files
                                                                               [array] [default: downloads corbt/enron-emails]

      Options:
        -c, --csv-path      The same as SOURCE                                                                        [string]
        -l, --limit         Mails to read; 0 = all [default: 0]                                                       [number]
        -b, --batch-size    Mails per batch; Ctrl-C is checked between batches [default: 1000]                        [number]
            --filter        none, or art: ART's three rules [default: none]                                           [string]
            --format        The form, if not recognised: maildir, tar, kaggle-csv, parsed-csv, parquet, mbox, eml     [string]
            --owner-map     TSV of owner folder and address, over what the mail says                                  [string]
            --strict        Stop at the first mail that cannot be used, and import nothing                           [boolean]
            --single-index  Index all mail in emails_fts, for your own SQL; much mail is else indexed on two threads as two
                                                                                                                     [boolean]
      "
    `);
  });

  it("of stats", () => {
    expect(ownPart("stats")).toMatchInlineSnapshot(`
      "art-e stats

      Figures of the dataset, the imported mail, or a run

      Options:
        -s, --split                Dataset split: train or test [default: test]                                       [string]
            --dataset, --csv-path  A file of questions (Parquet, CSV, JSON, JSONL) instead of
                                   corbt/enron_emails_sample_questions                                                [string]
            --use-json             Load by the JSON rows API instead of the Parquet file                             [boolean]
            --revision             Revision of the dataset [default: abc84674]                                        [string]
            --corpus               Of the imported mail, with its fingerprint                                        [boolean]
            --run                  Of a run: its id, the beginning of it, or latest                                   [string]
            --runs                 List the runs, as art-e runs list does                                            [boolean]
            --by                   With --run: a table by inbox, realism, sources, year; of a suite by tool, difficulty,
                                   guidance, app, tag                                                                 [string]
            --metric               With --by: the scores to show [default: accuracy,semantic,sources; of a suite score,solved]
                                                                                                                      [string]
            --csv                  With --run: a folder for tables too, as of report --csv                            [string]
            --overwrite            Write over an output file that is of another kind                                 [boolean]
            --config               A file of settings, over which flags win, or off [default: art-e.yaml, here or beside the
                                   database, if there is one]                                                         [string]
            --only                 Only these of the runs in the file of settings, separated by commas                [string]
      "
    `);
  });

  it("of compare", () => {
    expect(ownPart("compare")).toMatchInlineSnapshot(`
      "art-e compare <runs..>

      Compare runs question by question: is the difference real?

      Positionals:
        runs  The baseline and what to compare with it: run ids, latest, or results files     [array] [required] [default: []]

      Options:
            --metric     Scores to compare, separated by commas; flips are of the first [default: accuracy, then all] [string]
            --flips      Show so many questions each that were lost and won [default: 5]                              [number]
            --published  Show the published ART-E figures [default: where there was a judge]                         [boolean]
            --force      Compare though dataset, split, mail or cutoff differ                                        [boolean]
      "
    `);
  });

  it("of gate", () => {
    expect(ownPart("gate")).toMatchInlineSnapshot(`
      "art-e gate <name>

      Pass or fail a finished run: thresholds, no worse than a baseline, JUnit XML

      Positionals:
        name  A run: its id, the beginning of it, latest, or a results file                                [string] [required]

      Options:
            --fail-under     accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower is better)
                                                                                                                      [string]
            --baseline       A run or a results file that --metric must not be worse than                             [string]
            --no-worse-than  With --baseline: exit with 3 unless it is surely worse by less than this [default: 0.02] [number]
            --metric         The score of --baseline and --junit [default: accuracy]                                  [string]
            --junit          Write every task as a test case to FILE (JUnit XML)                                      [string]
            --overwrite      Write over an output file that is of another kind                                       [boolean]
            --config         A file of settings, over which flags win, or off [default: art-e.yaml, here or beside the
                             database, if there is one]                                                               [string]
            --only           Only these of the runs in the file of settings, separated by commas                      [string]
      "
    `);
  });

  it("of report", () => {
    expect(ownPart("report")).toMatchInlineSnapshot(`
      "art-e report [runs..]

      Write runs as an HTML page, as Markdown, or as a CSV of tasks

      Positionals:
        runs  Runs: ids, latest, or results files; several are compared with the first [default: latest] [array] [default: []]

      Options:
        -o, --output     File to write [default: stdout; a page on a terminal: art-e-report.html]                     [string]
            --open       Open the page in the browser                                                                [boolean]
            --overwrite  Write over an output file that is of another kind                                           [boolean]
            --format     html (a page), md (for a pull request), csv (a line a task) [default: html]                  [string]
            --csv        Folder for tables (CSV) instead: tasks, scores, slices, tools; of suites states, steps, durations,
                         pairs                                                                                        [string]
            --traces     Conversations: embed (in the page), folder (beside it), none, auto (in it up to 5 MB, else beside)
                         [default: auto]                                                                              [string]
      "
    `);
  });

  it("of export-traces", () => {
    expect(ownPart("export-traces")).toMatchInlineSnapshot(`
      "art-e export-traces

      Write the traces of a run as JSON lines

      Options:
            --run             Its id, the beginning of it, or latest [default: latest]                                [string]
            --chats           The traces of all chats instead of a run's                                             [boolean]
            --session         The traces of one chat session                                                          [string]
            --format          jsonl, iofold, inspect, inspect-json, otlp, chat, atif, art [default: jsonl]            [string]
            --dialect         With --format chat: openai, or hf (arguments as objects, no weights) [default: openai]  [string]
            --reward          With --format art: a score, or art for ART's own reward [default: that of --band]       [string]
            --for             evals: a folder with the traces of each band and a manifest that says why               [string]
        -o, --output          File to write [default: stdout]                                                         [string]
            --overwrite       Write over an output file that is of another kind                                      [boolean]
            --otlp            Send the traces to the server that OTEL_EXPORTER_OTLP_ENDPOINT names                   [boolean]
            --otlp-endpoint   Send them there; keys come from OTEL_EXPORTER_OTLP_HEADERS                              [string]
            --scores          Send the scores too, to the API of langfuse or phoenix at the same server               [string]
            --no-content      Of OTLP: without what was said, called, answered and explained                         [boolean]
            --by              The score that the next four go by [default: semantic; of a suite: taskScore]           [string]
            --band            Only scores high (> 0.8), medium (0.5-0.8), low (< 0.5)                                 [string]
            --min-score       Only scores of at least this: 0.5, or by name: readGold=1,judgeCorrect=1                [string]
            --max-score       Only scores of at most this                                                             [string]
            --best-of-epochs  Of each question's repeats only the one with the best score                            [boolean]
            --failed          Only failed tasks                                                                      [boolean]
            --ids             Only these tasks: 3,7                                                                   [string]
        -l, --limit           At most so many, by task id                                                             [number]
      "
    `);
  });

  it("of eval-search", () => {
    expect(ownPart("eval-search")).toMatchInlineSnapshot(`
      "art-e eval-search

      Measure how well the search finds the gold mail, with the question itself as the query

      Options:
        -s, --split                Dataset split: train or test [default: test]                                       [string]
            --dataset, --csv-path  A file of questions (Parquet, CSV, JSON, JSONL) instead of
                                   corbt/enron_emails_sample_questions                                                [string]
            --use-json             Load by the JSON rows API instead of the Parquet file                             [boolean]
            --revision             Revision of the dataset [default: abc84674]                                        [string]
        -l, --limit                Max questions; 0 = all [default: 0]                                                [number]
            --min-realism          Only questions at least so realistic, 0-1                                          [number]
            --max-sources          Only questions with at most so many gold mails (ART: 1)                            [number]
            --ids                  Only these task ids, separated by commas                                           [string]
            --inbox                Only questions about this mailbox                                                  [string]
            --exclude-known-bad    Leave out the questions ART found to be wrong                                     [boolean]
            --shuffle              In random order, by --seed                                                        [boolean]
            --seed                 Seed of --shuffle [default: 1]                                                     [number]
      "
    `);
  });

  it("of search", () => {
    expect(ownPart("search")).toMatchInlineSnapshot(`
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

  it("of show", () => {
    expect(ownPart("show")).toMatchInlineSnapshot(`
      "art-e show <name>

      Show a trace (its id, or RUN/TASK such as latest/12) or a mail (its Message-ID)

      Positionals:
        name  A traceId, RUN/TASK, or the Message-ID of a mail                                             [string] [required]
      "
    `);
  });

  it("of doctor", () => {
    expect(ownPart("doctor")).toMatchInlineSnapshot(`
      "art-e doctor

      Check the database: integrity, index, query plans, owners, disk

      Options:
            --repair  Make the full-text index anew from the mails, then check                                       [boolean]
            --owners  List every owner folder with its address and how it was found                                  [boolean]
      "
    `);
  });

  it("of agents", () => {
    expect(ownPart("agents")).toMatchInlineSnapshot(`
      "art-e agents

      List, show, create, change and delete agents; attach and detach tools; export and import

      Commands:
        art-e agents list                 List all agents
        art-e agents show [id]            Show an agent, one of its versions (ID@VERSION), or the agent of a run (--run)
        art-e agents versions <id>        List the versions of an agent, with the number of runs of each
        art-e agents create <id>          Create an agent
        art-e agents set <id>             Change an agent
        art-e agents clone <id> <new_id>  Copy an agent under another id
        art-e agents delete <id>          Delete an agent; its runs and versions stay
        art-e agents attach <id> <tool>   Give an agent a tool
        art-e agents detach <id> <tool>   Take a tool from an agent
        art-e agents export <id>          Write an agent with its own tools as YAML
        art-e agents import <file>        Create an agent from a YAML file
      "
    `);
  });

  it("of tools", () => {
    expect(ownPart("tools")).toMatchInlineSnapshot(`
      "art-e tools

      List, show, add, change and delete tools, and call one to test it

      Commands:
        art-e tools list                   List all tools
        art-e tools show <id>              Show a tool with its parameters and the agents that have it
        art-e tools add [id]               Add a tool: a web address, a program, a module, or those of an MCP server
        art-e tools set <id>               Change a tool
        art-e tools delete <id>            Delete a tool that no agent has
        art-e tools test <id> [arguments]  Call a tool once; exit with 1 if the call fails
      "
    `);
  });

  it("of suite and its subcommands", () => {
    expect(ownPart("suite")).toMatchInlineSnapshot(`
      "art-e suite

      List, show, check and export task suites: folders of tasks with set-up and evaluation functions

      Commands:
        art-e suite list <dir>       List tasks, with what they are graded by
        art-e suite show <dir> <id>  Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it
        art-e suite check <dir>      Check the files of all tasks, or grade what an oracle file says an agent left behind
                                     (--oracle)
        art-e suite image <name>     Print the Dockerfile of a snapshot: the programs and modules that its tasks find
        art-e suite export <suite>   Write the questions of ART-E as a suite's folder, to be run with art-e run --suite
      "
    `);
    expect(ownPart("suite list")).toMatchInlineSnapshot(`
      "art-e suite list <dir>

      List tasks, with what they are graded by

      Positionals:
        dir  The suite: a folder that holds examples/<tool>/<id>/<id>.json                                 [string] [required]

      Options:
            --task          Task ids, or their beginnings, separated by commas                                        [string]
            --tool          Tasks of this folder of examples/, such as jupyter                                        [string]
            --tag           Tasks with all of these tags, separated by commas                                         [string]
            --index         Tasks that an index file lists, such as test_one.json                                     [string]
            --counterparts  both: whole pairs, counterparts added; abstract or verbose: one of each pair              [string]
      "
    `);
    expect(ownPart("suite show")).toMatchInlineSnapshot(`
      "art-e suite show <dir> <id>

      Show a task: its instruction, set-up, evaluation, and what is wrong or odd about it

      Positionals:
        dir  The suite: a folder that holds examples/<tool>/<id>/<id>.json                                 [string] [required]
        id   The task's id, or the beginning of it                                                         [string] [required]
      "
    `);
    expect(ownPart("suite check")).toMatchInlineSnapshot(`
      "art-e suite check <dir>

      Check the files of all tasks, or grade what an oracle file says an agent left behind (--oracle)

      Positionals:
        dir  The suite: a folder that holds examples/<tool>/<id>/<id>.json                                 [string] [required]

      Options:
            --oracle     Grade the lines of an oracle file instead, and compare with their scores                     [string]
            --functions  A module of your own set-up and evaluation functions; it runs with your rights               [string]
      "
    `);
  });

  it("of a subcommand shows its own flags and no others", () => {
    const flagsOf = (command: string) =>
      [...ownPart(command).matchAll(/^ +(?:-\w, +)?(--[a-z-]+)/gm)].map(([, flag]) => flag).join(" ");
    expect(Object.fromEntries(SUBCOMMANDS.map((command) => [command, flagsOf(command)]))).toMatchInlineSnapshot(`
      {
        "agents create": "--name --description --prompt --model --max-turns --max-tokens --reasoning-tokens --temperature --tool-calls --tool-choice --tools",
        "agents export": "--output --overwrite",
        "agents set": "--name --description --prompt --model --max-turns --max-tokens --reasoning-tokens --temperature --tool-calls --tool-choice",
        "evals export": "--format --output",
        "evals generate": "--model --price --max-cost --name --rounds --criterion --seed",
        "evals import": "",
        "evals label": "--from --score --chats --criterion --seed",
        "evals list": "--all",
        "evals rank": "--limit --criterion --seed",
        "evals refine": "--criterion --seed",
        "evals retire": "",
        "evals review": "--criterion",
        "evals run": "--run",
        "evals show": "--code",
        "evals suggest": "--name --cases --criterion --seed",
        "evals test": "--thresholds --criterion",
        "evals use": "--anyway",
        "judge calibrate": "--judge --no-judge --judge-votes --judge-base-url",
        "questions check": "--split --dataset --use-json --revision --limit --min-realism --max-sources --ids --inbox --exclude-known-bad --shuffle --seed --checker --checker-base-url --max-cost",
        "questions make": "--inbox --number --output --model --base-url --checker --checker-base-url --max-cost --unanswerable --train --seed --dry-run --overwrite",
        "queue clean": "--queue --all",
        "queue status": "--queue",
        "suite check": "--oracle --functions",
        "suite list": "--task --tool --tag --index --counterparts",
        "suite show": "",
        "tools add": "--category --name --description --parameters --http --method --headers --allow-private --command --cwd --module --env --timeout --max-bytes --max-result-chars --result-schema --mcp --prefix",
        "tools list": "--category",
        "tools set": "--category --name --description --parameters --http --method --headers --allow-private --command --cwd --module --env --timeout --max-bytes --max-result-chars --result-schema",
        "tools test": "--config --inbox --before",
      }
    `);
  });
});

it("--version tells the version of package.json and nothing else", async () => {
  expect(await artE("--version")).toEqual({ code: 0, stdout: `${programVersion()}\n`, stderr: "" });
});
