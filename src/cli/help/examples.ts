/** Example command lines for `--help` and the documentation. */

export type Example = readonly [line: string, comment: string];

/** Examples per command. The empty name is the program itself. Words in capitals are placeholders. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  "": [
    ["art-e demo", "try everything, offline"],
    ["art-e import", "download and index the Enron mail"],
    ["art-e run -a email-search -l 100", "ask an agent 100 questions"],
    ["art-e report --open", "look at the newest run in the browser"],
  ],
  demo: [
    ["art-e demo", "import the demo mail, run the baseline, export the traces"],
    ["art-e demo -o /tmp/demo", "write the files to another folder"],
  ],
  init: [
    ["art-e init", "write art-e.yaml"],
    ["art-e init -o nightly.yaml", "write it under another name"],
  ],
  import: [
    ["art-e import", "download and import the published Enron mail"],
    ["art-e import enron_mail_20150507.tar.gz", "import the CMU archive"],
    ["art-e import ~/Mail/archive.mbox --db mine.db", "import your own mail into another database"],
  ],
  questions: [
    ["art-e questions make -o questions.jsonl --model openai/gpt-6.1-sol", "let a model write questions"],
    ["art-e questions check questions.jsonl", "find doubtful ones"],
    ["art-e questions review questions.jsonl", "accept, edit or reject them in the browser"],
  ],
  "questions make": [
    ["art-e questions make -o questions.jsonl", "make 100 questions without a model"],
    ["art-e questions make -o questions.jsonl --model openai/gpt-6.1-sol --max-cost 2", "let a model write them"],
    [
      "art-e questions make -o mine.jsonl --inbox me@my.example -n 20 --dry-run",
      "estimate 20 questions for one mailbox",
    ],
  ],
  "questions check": [
    ["art-e questions check questions.jsonl", "check a file with rules"],
    ["art-e questions check questions.jsonl --checker openai/gpt-6.1-sol --max-cost 1", "also let a model check it"],
  ],
  "questions review": [["art-e questions review questions.jsonl", "open the review page in the browser"]],
  run: [
    ["art-e run -a email-search -l 100 -o results.json", "ask 100 questions of the test split"],
    ["art-e run -a email-search --model-id openai/gpt-6.1-sol --dry-run", "estimate the cost with another model"],
    ["art-e run --resume latest --retry-failed", "continue a run, and retry its failed tasks"],
  ],
  worker: [
    ["art-e worker --queue redis://queue.example:6379", "answer tasks with the mail in ./art-e.db"],
    ["art-e worker --fetch-corpus http://coordinator.example:8787", "download the mail from the coordinator first"],
  ],
  queue: [
    ["art-e queue status", "show the runs and workers of the queue in ART_E_QUEUE_URL"],
    ["art-e queue clean --all", "remove all runs from it"],
  ],
  "queue status": [["art-e queue status --queue redis://queue.example:6379", "show the runs and workers of a queue"]],
  "queue clean": [
    ["art-e queue clean run_20261126", "remove one run"],
    ["art-e queue clean --all", "remove all runs"],
  ],
  ctl: [
    ["art-e ctl list", "list the running runs"],
    ['art-e ctl pause latest --reason "rate limit of the team"', "pause the newest run"],
    ["art-e ctl set latest --concurrency 4 --max-cost 20", "change its limits"],
  ],
  "ctl list": [["art-e ctl list", "list the running runs, from all databases"]],
  "ctl show": [
    ["art-e ctl show", "show the state of the newest run"],
    ["art-e ctl show --show-text", "with the questions of its running tasks"],
  ],
  "ctl pause": [
    ['art-e ctl pause latest --reason "rate limit of the team"', "record why"],
    ["art-e ctl pause run_20261126 --queue redis://queue.example:6379", "pause a queue run from another machine"],
  ],
  "ctl resume": [["art-e ctl resume latest", "start tasks again"]],
  "ctl cancel": [
    ["art-e ctl cancel latest", "finish the running tasks, then stop"],
    ["art-e ctl cancel latest --now", "stop immediately"],
  ],
  "ctl requeue": [["art-e ctl requeue latest", "run the failed tasks again"]],
  "ctl set": [
    ["art-e ctl set latest --concurrency 4", "run at most 4 tasks concurrently"],
    ["art-e ctl set latest --max-cost 20 --reason approved", "raise the cost budget"],
  ],
  score: [
    ["art-e score", "score the newest run again"],
    ["art-e score --run latest --judge openai/gpt-6-luna", "with another judge"],
  ],
  stats: [
    ["art-e stats", "describe the newest run"],
    ["art-e stats --run latest --by inbox --metric accuracy,sources", "its scores per mailbox"],
    ["art-e stats --corpus", "describe the imported mail"],
  ],
  runs: [
    ["art-e runs list", "list the newest runs"],
    ["art-e runs show latest", "show a run with its failed and worst tasks first"],
    ["art-e runs prune --before 2026-01-01", "list old runs that --yes would delete"],
  ],
  "runs list": [
    ["art-e runs list", "list the newest 20 runs"],
    ["art-e runs list --agent email-search --since 2026-11-01", "runs of one agent since a date"],
  ],
  "runs show": [
    ["art-e runs show", "show the newest run"],
    ["art-e runs show nightly --all", "show a run by name, with all tasks"],
  ],
  "runs rename": [
    ["art-e runs rename nightly", "name the newest run"],
    ["art-e runs rename nightly --remove", "remove the name"],
  ],
  "runs note": [["art-e runs note 'shorter prompt'", "add a note to the newest run"]],
  "runs tag": [
    ["art-e runs tag latest baseline paper", "add two tags"],
    ["art-e runs tag latest paper --remove", "remove one"],
  ],
  "runs delete": [
    ["art-e runs delete run_20261126", "list the matching run"],
    ["art-e runs delete run_20261126 --yes", "delete it"],
  ],
  "runs prune": [
    ["art-e runs prune --keep 10", "list all but the newest 10 runs"],
    ["art-e runs prune --empty --yes", "delete runs without a completed task"],
  ],
  reliability: [
    ["art-e reliability latest", "show the newest run with its newest repeat of each perturbation"],
    ["art-e reliability plain mixed --metric exactMatch", "show a run and one perturbed repeat, by another score"],
  ],
  compare: [
    ["art-e compare before.json", "compare the newest run with a results file"],
    ["art-e compare RUN1 RUN2 --metric sources,semantic --flips 5", "compare two scores, and show changed questions"],
  ],
  gate: [
    ["art-e gate latest --fail-under accuracy=0.7,found=0.9", "check minimum scores"],
    ["art-e gate latest --baseline before.json --junit junit.xml", "check that it is no worse than an earlier run"],
  ],
  report: [
    ["art-e report --open", "show the newest run in the browser"],
    ["art-e report RUN1 RUN2 -o compare.html", "write a page that compares two runs"],
    ["art-e report --format md", "print a summary for a pull request"],
  ],
  "export-results": [
    ["art-e export-results -o tables", "write the newest run as Parquet"],
    ["art-e export-results RUN1 RUN2 --format csv -o tables", "write two runs as CSV"],
  ],
  "export-traces": [
    ["art-e export-traces -o traces.jsonl", "export the newest run"],
    ["art-e export-traces --band low -l 20 -o worst.jsonl", "export 20 traces with a low score"],
    ["art-e export-traces --format chat --min-score 0.8 -o train.jsonl", "export good conversations for training"],
  ],
  "import-traces": [["art-e import-traces traces.jsonl --db other.db", "import traces into another database"]],
  "eval-search": [
    ["art-e eval-search", "measure the search with the published questions"],
    ["art-e eval-search --dataset questions.jsonl --json", "measure it with other questions, as JSON"],
  ],
  search: [
    ["art-e search jeff.dasovich@enron.com california hearing", "search a mailbox"],
    ["art-e search jeff.dasovich@enron.com hearing --after 2001-01-01 --explain", "with the parts of each score"],
  ],
  show: [
    ["art-e show latest/12", "show task 12 of the newest run"],
    ["art-e show '<MESSAGE-ID>'", "show an email"],
  ],
  doctor: [["art-e doctor", "check the database and this machine"]],
  agents: [
    ["art-e agents list", "list all agents"],
    ["art-e agents create short --prompt @short.txt --model openai/gpt-6.1-sol", "create an agent"],
    ["art-e agents attach short execute_python", "attach a tool to it"],
  ],
  "agents list": [["art-e agents list", "list all agents"]],
  "agents show": [
    ["art-e agents show email-search", "show an agent"],
    ["art-e agents show --run latest", "show the agent of the newest run"],
  ],
  "agents versions": [["art-e agents versions short", "list the versions of an agent"]],
  "agents create": [
    ["art-e agents create short --prompt @short.txt --max-turns 6", "create an agent with a prompt from a file"],
    ["art-e agents create coder --prompt @coder.txt --tools email_search,execute_python", "create it with other tools"],
  ],
  "agents set": [
    ["art-e agents set short --max-turns 8", "change a limit"],
    ["art-e agents set short --model default", "use the run's model again"],
  ],
  "agents clone": [["art-e agents clone email-search mine", "copy a built-in agent to change it"]],
  "agents delete": [["art-e agents delete short", "delete an agent"]],
  "agents configure": [
    [`art-e agents configure short read_pages --config '{"pageSize": 2000}'`, "change the page size of one agent"],
  ],
  "agents attach": [["art-e agents attach short execute_python read_file", "attach two tools"]],
  "agents detach": [["art-e agents detach short execute_python", "detach a tool"]],
  "agents export": [["art-e agents export short -o short.yaml", "write an agent to a file"]],
  "agents import": [["art-e agents import short.yaml --replace", "replace the agent with the same id"]],
  tools: [
    ["art-e tools list", "list all tools"],
    ["art-e tools add days --module days.ts", "add a tool from a TypeScript file"],
    ['art-e tools test days \'{"from": "2001-03-01"}\'', "call it once"],
  ],
  "tools list": [["art-e tools list --category email", "list the email tools"]],
  "tools show": [["art-e tools show email_search", "show a tool with its parameters"]],
  "tools add": [
    ["art-e tools add days --module days.ts", "add a TypeScript file"],
    ["art-e tools add weather --http 'https://api.example.com/v1/{{city}}'", "add a URL"],
    ["art-e tools add --mcp 'npx -y some-server' --prefix some", "add all tools of an MCP server"],
  ],
  "tools set": [["art-e tools set weather --timeout 10", "change the timeout of a tool"]],
  "tools delete": [["art-e tools delete weather", "delete a tool"]],
  "tools test": [
    [
      'art-e tools test email_search \'{"query": "hearing"}\' --inbox jeff.dasovich@enron.com',
      "call a tool like in a task",
    ],
  ],
  suite: [
    ["art-e suite list SUITE", "list the tasks of a suite"],
    ["art-e suite check SUITE", "check its files"],
    ["art-e run -a oracle --suite SUITE -l 0", "run it with the gold solutions"],
  ],
  "suite list": [["art-e suite list SUITE --runnable", "list the tasks that can run on this machine"]],
  "suite show": [["art-e suite show SUITE 84401e16", "show one task"]],
  "suite check": [
    ["art-e suite check SUITE", "check the files of all tasks"],
    ["art-e suite check SUITE --oracle oracle.jsonl", "grade an oracle file"],
  ],
  "suite image": [["art-e suite image jupyter > Dockerfile", "write the Dockerfile of a snapshot"]],
  "suite export": [["art-e suite export art-e -o questions-suite -l 100", "write 100 questions as a suite"]],
  env: [
    ["art-e env serve", "serve the train split to a trainer"],
    ["art-e env client --for trl", "write a client for TRL"],
    ["art-e env export -o harbor -l 100", "write 100 questions as Harbor tasks"],
  ],
  "env serve": [
    ["art-e env serve", "serve the train split"],
    ["art-e env serve --reward art --judge openai/gpt-6-luna --max-sessions 256", "with ART's reward and a judge"],
  ],
  "env client": [["art-e env client --for trl", "write a client for TRL"]],
  "env export": [["art-e env export -o harbor -l 100", "write 100 questions as Harbor tasks"]],
  evals: [
    ["art-e evals code", "note what went wrong in traces of the newest run. Each command prints the next one"],
    ["art-e evals suggest", "find evals for the failure modes"],
    ["art-e evals test", "validate them on labels that they were not made from"],
    ["art-e evals use", "activate those that passed"],
  ],
  "evals code": [
    ["art-e evals code", "note what went wrong in 150 traces of the newest run"],
    ["art-e evals code nightly -l 250", "a larger pass over another run"],
  ],
  "evals modes": [
    ["art-e evals modes", "list modes with their rates, and notes without a mode"],
    ["art-e evals modes assign wrong_year year date", "group all notes that contain one of the words"],
    ["art-e evals modes describe wrong_year --sentence 'The year is right.'", "describe a good trace"],
  ],
  "evals label": [
    ["art-e evals label", "label traces of the newest run one by one"],
    ["art-e evals label --confirm", "look again at the traces of each mode"],
    ["art-e evals label -o labels.jsonl", "export the labels"],
  ],
  "evals suggest": [
    ["art-e evals suggest", "find evals for all modes"],
    ["art-e evals suggest --mode tone --verbose", "explain the choice for one mode"],
    ["art-e evals suggest --mode tone --model openai/gpt-6.1-sol --max-cost 1", "let a model write evals"],
  ],
  "evals test": [
    ["art-e evals test", "validate all drafts"],
    ["art-e evals test sources_were_read", "validate one eval"],
  ],
  "evals use": [["art-e evals use", "activate all drafts that passed their test"]],
  "evals run": [["art-e evals run sources_were_read nightly", "run an eval on the run named nightly"]],
  "evals watch": [
    ["art-e evals watch latest", "watch all active validated evals with the newest run"],
    ["art-e evals watch polite nightly", "watch one eval with another run"],
  ],
  "evals cases": [
    ["art-e evals cases latest", "make cases from the newest run"],
    ["art-e evals cases latest --by sourcesCorrect", "decide the bands by another score"],
  ],
  "evals add": [
    ["art-e evals add polite --mode tone --rubric openai/gpt-6-luna", "add an eval that a model applies"],
    ["art-e evals add judge --judge latest", "add the judge of the newest run"],
    ["art-e evals add evals", "add a folder of eval files"],
  ],
  "evals list": [["art-e evals list", "list evals with their test results"]],
  "evals show": [
    ["art-e evals show sources_were_read --code", "show an eval as a function"],
    ["art-e evals show sources_were_read --disagreements", "list traces on which eval and labels disagree"],
  ],
  "evals retire": [["art-e evals retire sources_were_read", "retire an eval"]],
  "evals export": [
    ["art-e evals export -o evals", "export all evals as JSON"],
    ["art-e evals export sources_were_read --format python", "export one as Python"],
  ],
  serve: [
    ["art-e serve --open", "open the playground in the browser"],
    ["art-e serve --host 0.0.0.0 --token-file token.txt", "serve other machines"],
  ],
  ask: [["art-e ask me@my.example 'When is the rent due?'", "ask about a mailbox"]],
  mcp: [
    ["art-e mcp me@my.example --print-config", "print the configuration for an MCP client"],
    ["art-e mcp me@my.example --http", "serve over HTTP"],
  ],
  completion: [["art-e completion bash >> ~/.bashrc", "install completion for bash"]],
};
