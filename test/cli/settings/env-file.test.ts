import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { DONE } from "../../providers/fake-playground.js";
import { MAIL, MARCUS, QUESTIONS, workFolder } from "../art-e.js";

/** A `.env` in the working folder must not send keys from the environment to a URL of its choice. */

const { artE, write } = workFolder({ mail: MAIL });

const KEY = "key-of-the-environment";
const received: string[] = [];
const stranger = createServer((request, response) => {
  received.push(JSON.stringify([request.url, request.headers]));
  response.writeHead(request.url?.includes("playground") ? 200 : 400, { "content-type": "text/event-stream" });
  response.end(DONE);
});
let url = "";
beforeAll(async () => {
  await new Promise<void>((up) => stranger.listen(0, "127.0.0.1", up));
  url = `http://127.0.0.1:${(stranger.address() as AddressInfo).port}`;
});
afterAll(() => stranger.close().closeAllConnections());
beforeEach(() => {
  received.length = 0;
});

const RUN = `run -a email-search --dataset ${QUESTIONS} -l 1 --no-judge --quiet`;

it.each([
  ["a byte order mark and Windows line ends", `\ufeffANTHROPIC_API_KEY="${KEY}" # the key\r\nOTHER=1\r\n`],
  ["the line ends of an old Macintosh", `OTHER=1\rANTHROPIC_API_KEY=${KEY}\r`],
  ["a tab after export", `export\tANTHROPIC_API_KEY=${KEY}\n`],
  ["no-break spaces", `\u00a0ANTHROPIC_API_KEY\u00a0=\u00a0${KEY}\u00a0\n`],
])("reads a .env file with %s", async (_, text) => {
  write(".env", text);
  const { stderr } = await artE(`${RUN} --model-id anthropic/claude-sonnet-4-5 --base-url ${url}`);
  expect(received.map((request) => JSON.parse(request)[1]["x-api-key"])).toEqual([KEY]);
  expect(stderr).not.toContain(".env line");
});

describe("a base URL in .env with the key in the environment", () => {
  it.each([
    ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY", "--model-id anthropic/claude-sonnet-4-5", "--base-url"],
    ["OPENAI_BASE_URL", "OPENAI_API_KEY", "--model-id openai/gpt-4.1", "--base-url"],
    ["GOOGLE_BASE_URL", "GEMINI_API_KEY", "--model-id google/gemini-2.5-pro", "--base-url"],
  ])("causes an error with the next step (%s)", async (address, key, flags, flag) => {
    write(".env", `${address}=${url}/\n`);
    for (const line of [`${RUN} ${flags}`, `ask ${MARCUS} What is new? ${flags}`]) {
      const { code, stderr } = await artE(line, { [key]: KEY });
      expect([code, received]).toEqual([2, []]);
      expect(stderr).toBe(
        `art-e: Cannot send ${key} from the environment to ${new URL(url).host}: the address is from .env in this folder (${address}).\n` +
          `       If you trust that server, pass its URL with ${flag}, or put ${key} into the same .env.\n`,
      );
    }
  });

  it("receives the environment's key if it is also given as a flag", async () => {
    write(".env", `ANTHROPIC_BASE_URL=${url}\n`);
    await artE(`${RUN} --base-url ${url}`, { ANTHROPIC_API_KEY: KEY });
    expect(received).toEqual([expect.stringContaining(KEY)]);
  });

  it("causes an error for a judge, even if a run is resumed", async () => {
    write(".env", `OPENAI_BASE_URL=${url}\n`);
    const judged = `run -a baseline --dataset ${QUESTIONS} -l 1 --quiet --judge openai/gpt-4.1-mini`;
    const { code, stderr } = await artE(judged, { OPENAI_API_KEY: KEY });
    expect([code, stderr, received]).toEqual([2, expect.stringContaining("pass its URL with --judge-base-url"), []]);
    const resumed = await artE("run --resume latest --quiet", { ANTHROPIC_API_KEY: KEY });
    expect(resumed.code).not.toBe(2);
    received.length = 0;
    write(".env", `ANTHROPIC_BASE_URL=${url}\n`);
    const again = await artE("run --resume latest --quiet", { ANTHROPIC_API_KEY: KEY });
    expect([again.code, received]).toEqual([2, []]);
  });

  it("causes an error for the judge when a run is scored again, even if it was originally given as a flag", async () => {
    const judged = `run -a baseline --dataset ${QUESTIONS} -l 1 --quiet --judge openai/x --judge-base-url ${url}`;
    await artE(judged, { OPENAI_API_KEY: KEY });
    expect(received).toEqual([expect.stringContaining(KEY)]);
    received.length = 0;
    write(".env", `OPENAI_BASE_URL=${url}\n`);
    const again = await artE("score --run latest --judge-votes 3 --quiet", { OPENAI_API_KEY: KEY });
    expect([again.code, again.stderr, received]).toEqual([
      2,
      expect.stringContaining("Cannot send OPENAI_API_KEY from the environment to"),
      [],
    ]);
  });

  it("causes an error when a server is started", async () => {
    write(".env", `ANTHROPIC_BASE_URL=${url}\n`);
    const { code, stderr } = await artE("serve --port 0", { ANTHROPIC_API_KEY: KEY });
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining("the address is from .env in this folder (ANTHROPIC_BASE_URL)"),
    ]);
  });

  it("causes an error for the token of a playground server or of the hub", async () => {
    write(".env", `API_URL=${url}\nHF_ENDPOINT=${url}\n`);
    const api = await artE(`run -a agent_1 --dataset ${QUESTIONS} -l 1 --quiet`, { API_TOKEN: KEY });
    expect([api.code, api.stderr]).toEqual([2, expect.stringContaining("pass its URL with --api-url")]);
    const hub = await artE("stats --split test --quiet", { HF_TOKEN: KEY });
    expect([hub.code, hub.stderr]).toEqual([
      2,
      expect.stringContaining("pass its URL with HF_ENDPOINT in the environment"),
    ]);
    expect(received).toEqual([]);
  });
});

describe("a base URL in .env", () => {
  it("gets the key from the same file, whatever the environment contains", async () => {
    write(
      ".env",
      `ANTHROPIC_BASE_URL=${url}/\nANTHROPIC_API_KEY=key-of-the-file\nAPI_URL=${url}/\nAPI_TOKEN=token-of-the-file\n`,
    );
    await artE(
      `${RUN} --model-id anthropic/claude-sonnet-4-5 --judge anthropic/claude-haiku-4-5`.replace("--no-judge ", ""),
      {
        ANTHROPIC_API_KEY: KEY,
        API_URL: "",
      },
    );
    await artE(`run -a agent_1 --dataset ${QUESTIONS} -l 1 --quiet`, { API_TOKEN: KEY });
    expect(received.join()).toContain("key-of-the-file");
    expect(received.join()).toContain("token-of-the-file");
    expect(received.join()).not.toContain(KEY);
  });

  it("causes no error if it is the vendor's own", async () => {
    write(".env", "ANTHROPIC_BASE_URL=https://api.anthropic.com\n");
    const { code } = await artE(`${RUN} --dry-run`, { ANTHROPIC_API_KEY: KEY });
    expect(code).toBe(0);
  });

  it("needs no key if the server requires none", async () => {
    write(".env", `OPENAI_BASE_URL=${url}\n`);
    await artE(`${RUN} --model-id openai/mine`);
    expect(received).toEqual([expect.stringContaining("no-key-needed")]);
  });
});

describe("a line of .env that sets nothing", () => {
  it("leads to a warning with its line number, without its content", async () => {
    write(".env", "# keys\nANTHROPIC_API_KEY sk-secret-of-mine\nexport A=1\n\nB='two\nlines'\nC = 3\njust words\n");
    const { code, stderr } = await artE("agents list");
    expect([code, stderr]).toEqual([
      0,
      [2, 8]
        .map((n) => `art-e: .env line ${n}: expected NAME=VALUE, or # before a comment. The line was ignored.\n`)
        .join(""),
    ]);
  });
});
