import { expect, it } from "vitest";
import { workFolder } from "./art-e.js";

const { artE } = workFolder();

it("--help of run names every flag with what it means and what holds without it", async () => {
  const { stdout } = await artE("run --help");
  expect(stdout.slice(0, stdout.indexOf("\nGlobal:"))).toMatchInlineSnapshot(`
    "art-e run

    Let an agent answer the questions, and score its answers

    Options:
      -a, --agent                Agent to test (art-e agents list); required                                        [string]
          --suite                A task suite's folder: its tasks instead of questions about mailboxes              [string]
          --task                 Task ids, or their beginnings, separated by commas                                 [string]
          --tool                 Tasks of this folder of examples/, such as jupyter                                 [string]
          --tag                  Tasks with all of these tags, separated by commas                                  [string]
          --index                Tasks that an index file lists, such as test_one.json                              [string]
          --counterparts         both: whole pairs, counterparts added; abstract or verbose: one of each pair       [string]
          --oracle               Oracle file for the agent oracle [default: the suite's oracle.jsonl]               [string]
          --functions            A module of your own set-up and evaluation functions; it runs with your rights     [string]
          --account-settings     A folder of VENDOR/settings.json, for tasks tagged account [default: the suite's settings/]
                                                                                                                    [string]
      -s, --split                Dataset split: train or test [default: test]                                       [string]
          --dataset, --csv-path  A file of questions (Parquet, CSV, JSON, JSONL) instead of
                                 corbt/enron_emails_sample_questions                                                [string]
          --use-json             Load by the JSON rows API instead of the Parquet file                             [boolean]
          --revision             Revision of the dataset [default: abc84674]                                        [string]
      -l, --limit                Max tasks to run; 0 = all [default: 10]                                            [number]
          --stats                Show the dataset's statistics and exit                                            [boolean]
          --min-realism          Only questions at least so realistic, 0-1                                          [number]
          --max-sources          Only questions with at most so many gold mails (ART: 1)                            [number]
          --ids                  Only these task ids, separated by commas                                           [string]
          --inbox                Only questions about this mailbox                                                  [string]
          --exclude-known-bad    Leave out the questions ART found to be wrong                                     [boolean]
          --shuffle              In random order, by --seed                                                        [boolean]
          --seed                 Seed of --shuffle [default: 1]                                                     [number]
          --protocol             art: as the published ART-E figures were made: agent art-e, the first 100 test questions
                                 with one gold mail, known bad ones left out, no cutoff, its judge; flags beside it win
                                                                                                                    [string]
          --model-provider       anthropic, openai, google, offline, replay [default: as the model's name tells]    [string]
          --model-id             The model, as provider/name or name [default: the agent's own, else
                                 anthropic/claude-sonnet-5-5]                                                       [string]
          --base-url             Address of a compatible server                                                     [string]
          --wire-api             chat or responses, for openai [default: by server]                                 [string]
          --concurrency          Tasks under way at once, or auto: as many as the server takes [default: auto]      [string]
          --queue                Let the workers of a Redis server answer (art-e worker): redis://HOST:PORT
                                 [ART_E_QUEUE_URL]                                                                  [string]
          --rpm                  At most so many requests a minute                                                  [number]
          --tpm                  At most so many tokens a minute, in and out                                        [number]
          --epochs               Ask every question so many times [default: 1]                                      [number]
          --resume               Go on with a run: its id, the beginning of it, or latest                           [string]
          --repeat               A new run that asks what RUN asked, with the agent and the settings it had         [string]
          --retry-failed         With --resume: answer the failed tasks again too                                  [boolean]
          --force                With --resume, --repeat: go on though something has changed, and record what differs
                                                                                                                   [boolean]
          --max-cost             Stop the run at so many US dollars; it can be resumed                              [number]
          --max-run-tokens       Stop the run at so many tokens, in and out                                         [number]
          --max-time             Stop the run after so many minutes                                                 [number]
          --max-failures         Stop the run at so many failed tasks, or a share: 5%                               [string]
          --max-task-cost        End a task at so many US dollars                                                   [number]
          --price                IN,OUT[,CACHED]: US dollars for a million tokens                                   [string]
          --dry-run              Estimate tokens, cost and time, and spend nothing                                 [boolean]
          --max-turns            Model calls a task [default: the agent's, 10]                                      [number]
          --max-tokens           Tokens of one reply [default: the agent's, 2048]                                   [number]
          --reasoning-tokens     Tokens for reasoning beside them [default: the agent's, else by the model]         [number]
          --temperature          0-2 [default: the agent's, else the provider's]                                    [number]
          --task-timeout         Seconds a task may take [default: 600]                                             [number]
          --request-timeout      Seconds a model call may take before it is tried again [default: 180]              [number]
          --cutoff               query_date (later mail is invisible) or off [default: query_date]                  [string]
          --partial-inboxes      Also ask about mailboxes that are not imported as such                            [boolean]
          --cache                Keep the model's replies in the cache folder, and answer from them                [boolean]
          --unsafe-host-python   Let execute_python run outside any sandbox, with your rights                      [boolean]
          --scorers              Scorers besides the five of the results file, separated by commas; eval:NAME runs an eval
                                 [default: all there are]                                                           [string]
          --judge                Model that judges the answers: provider/model, art or art:provider/model (the published
                                 protocol), or off [default: the agent's provider's cheap model, where there is a key]
                                                                                                                    [string]
          --no-judge             The same as --judge off                                                           [boolean]
          --judge-votes          Ask the judge so many times; most votes win [default: 1]                           [number]
          --judge-base-url       Address of a compatible server for the judge                                       [string]
          --record               Keep the model's replies in FILE, for --model-id replay/FILE                       [string]
          --watch                Serve a page on this machine that shows the run as it goes on                     [boolean]
      -o, --output               Save the results to a JSON file                                                    [string]
          --overwrite            Write over an output file that is of another kind                                 [boolean]
          --fail-under           accuracy=0.8,sources=0.7: exit with 3 where a score is below (above, where lower is better)
                                                                                                                    [string]
          --baseline             A run or a results file that --metric must not be worse than                       [string]
          --no-worse-than        With --baseline: exit with 3 unless it is surely worse by less than this [default: 0.02]
                                                                                                                    [number]
          --metric               The score of --baseline and --junit [default: accuracy]                            [string]
          --junit                Write every task as a test case to FILE (JUnit XML)                                [string]
          --otlp                 Send the traces to the server that OTEL_EXPORTER_OTLP_ENDPOINT names              [boolean]
          --otlp-endpoint        Send them there; keys come from OTEL_EXPORTER_OTLP_HEADERS                         [string]
          --scores               Send the scores too, to the API of langfuse or phoenix at the same server          [string]
          --no-content           Of OTLP: without what was said, called, answered and explained                    [boolean]
          --api-url              The agent is one of this server with the playground API [API_URL]                  [string]
      -w, --workspace            With --api-url: the workspace [WORKSPACE_ID]                                       [string]
          --tell-task            With --api-url: put mailbox and day into the question too                         [boolean]
          --agent-command        The agent is a program: questions as JSON lines on its stdin, answers on its stdout[string]
          --agent-url            The agent is the model --agent of this OpenAI-compatible address, and runs its own tools
                                                                                                                    [string]
          --config               A file of settings, over which flags win, or off [default: art-e.yaml, here or beside the
                                 database, if there is one]                                                         [string]
    "
  `);
});
