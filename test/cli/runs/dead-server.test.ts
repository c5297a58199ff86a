import { createServer } from "node:net";
import { afterEach, expect, it } from "vitest";
import { type FakeProvider, startFakeProvider } from "../../providers/fake-provider.js";
import { MAIL, QUESTIONS, workFolder } from "../art-e.js";

/** A server that does not answer: nobody asks it to the end. The waits between attempts are those that users have. */

const { artE } = workFolder({ mail: MAIL });
const RUN = `run -a email-search --dataset ${QUESTIONS} --concurrency 4`;

let provider: FakeProvider | undefined;
afterEach(() => provider?.close());

/** A port that nobody listens on. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}

it("stops the run with the cause, which goes on when the server is there", { timeout: 180_000 }, async () => {
  const url = `http://127.0.0.1:${await closedPort()}`;
  const key = { ANTHROPIC_API_KEY: "test-key" };
  const { code, stdout, stderr } = await artE(`${RUN} -l 30`, { ...key, ANTHROPIC_BASE_URL: url });
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toMatch(
    /^art-e: Run run_\S+ stopped: the server does not answer \(connection refused\): anthropic\/\S+ connection failed: .*ECONNREFUSED.* \(after 6 attempts\)\.\n {7}0 of 30 tasks are saved\. See that it runs and can be reached; then go on with: art-e run --resume run_\S+\n$/,
  );
  provider = await startFakeProvider(() => ({ content: "an answer" }));
  // The address is the run's: another is asked for by force.
  const line = `run --resume latest --force --base-url ${provider.url} --json`;
  const resumed = await artE(line, key);
  expect(resumed.code).toBe(0);
  expect(JSON.parse(resumed.stdout)).toMatchObject({ status: "completed", totalTasks: 30, failedTasks: 0 });
});
