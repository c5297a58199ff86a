import { expect, it } from "vitest";
import { workFolder } from "./art-e.js";

const { artE } = workFolder();

const helpOf = async (command: string) => {
  const { stdout } = await artE(`${command} --help`);
  return stdout.slice(0, stdout.indexOf("\nGlobal:"));
};

it("--help of ask names every flag with what it means and what holds without it", async () => {
  expect(await helpOf("ask")).toMatchInlineSnapshot(`
    "art-e ask <inbox_address> <question..>

    Answer one question from a mailbox, with its sources

    Positionals:
      inbox_address  The mailbox: its email address                                                      [string] [required]
      question       What its owner wants to know                                           [array] [required] [default: []]

    Options:
      -a, --agent             Who is asked [default: email-search with the model that there is a key for, else baseline]
                                                                                                                    [string]
          --model-provider    anthropic, openai, google, offline, replay [default: as the model's name tells]       [string]
          --model-id          The model, as provider/name or name [default: the agent's own, else
                              anthropic/claude-sonnet-5-5]                                                          [string]
          --base-url          Address of a compatible server                                                        [string]
          --wire-api          chat or responses, for openai [default: by server]                                    [string]
          --max-turns         Model calls a task [default: the agent's, 10]                                         [number]
          --max-tokens        Tokens of one reply [default: the agent's, 2048]                                      [number]
          --reasoning-tokens  Tokens for reasoning beside them [default: the agent's, else by the model]            [number]
          --temperature       0-2 [default: the agent's, else the provider's]                                       [number]
          --price             IN,OUT[,CACHED]: US dollars for a million tokens                                      [string]
          --task-timeout      Seconds a task may take [default: 600]                                                [number]
          --request-timeout   Seconds a model call may take before it is tried again [default: 180]                 [number]
          --before            Ask as on the day before this one: mail from it on is invisible, YYYY-MM-DD           [string]
          --config            A file of settings, over which flags win, or off [default: art-e.yaml, here or beside the
                              database, if there is one]                                                            [string]
          --only              Only these of the runs in the file of settings, separated by commas                   [string]
    "
  `);
});

it("--help of mcp does so too", async () => {
  expect(await helpOf("mcp")).toMatchInlineSnapshot(`
    "art-e mcp

    Start an MCP server for one mailbox: search, read, and the mails as resources

    Options:
          --inbox         The mailbox: its email address; required                                                  [string]
          --before        Mail from this day on is invisible, YYYY-MM-DD                                            [string]
          --print-config  Print the configuration for programs that start it, and exit                             [boolean]
          --http          Streamable HTTP instead of stdio                                                         [boolean]
          --host          With --http: the address to listen on; any but loopback needs ART_E_TOKEN [default: 127.0.0.1]
                                                                                                                    [string]
          --port          With --http; 0: any that is free [default: 8788]                                          [number]
    "
  `);
});
