import { execFileSync } from "node:child_process";
import { createReadStream } from "node:fs";
import { text } from "node:stream/consumers";
import { beforeAll, expect, it } from "vitest";
import { MAIL, QUESTIONS, workFolder } from "./art-e.js";

/** Opening a named pipe that nobody writes to never ends: it is refused wherever a file is read. */

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
  "judge calibrate pipe --judge openai/x",
  "evals import pipe.py",
  "evals label --from pipe",
  "serve --token-file pipe",
  "agents import pipe.yaml",
  "tools add mine --command cat --parameters @pipe",
])("%s ends, and says why", async (line) => {
  const { code, stderr } = await artE(line);
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/named pipe|is not mail in a form/);
});

it("writes to a pipe that is read", async () => {
  const read = text(createReadStream(path("pipe")));
  expect(await artE(`${RUN} -o pipe`)).toMatchObject({ code: 0 });
  expect(JSON.parse(await read)).toMatchObject({ completedTasks: 1 });
});
