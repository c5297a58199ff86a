import { expect, it } from "vitest";
import { workFolder } from "./art-e.js";

const { artE } = workFolder();

it("the help of worker tells every flag with its default", async () => {
  const { stdout } = await artE("worker --help");
  expect(stdout.slice(0, stdout.indexOf("\nGlobal:"))).toMatchInlineSnapshot(`
    "art-e worker

    Answer tasks of runs on a queue, beside other machines (run --queue)

    Options:
          --queue           The Redis server with the queue: redis://HOST:PORT; required [ART_E_QUEUE_URL]          [string]
          --concurrency     Tasks under way at once, or auto: as many as the server takes [default: auto]           [string]
          --name            What this worker is called [default: the machine's name]                                [string]
          --lock            Seconds without a sign from a worker after which others get its tasks [default: 60]     [number]
          --grace           Seconds that tasks under way may take when the worker is stopped [default: 30]          [number]
          --suite           The folder of a suite whose tasks it answers too, in machines of this one               [string]
          --fetch-corpus    Fetch the mail from art-e serve at this address, instead of --db; it is kept in the cache folder
                                                                                                                    [string]
          --token-file      A file with the token of that server [ART_E_TOKEN]                                      [string]
          --allow-programs  Answer runs whose tools run programs or ask other servers, with this machine's rights  [boolean]
    "
  `);
});

it("the help of queue tells its subcommands", async () => {
  const { stdout } = await artE("queue --help");
  expect(stdout.slice(0, stdout.indexOf("\nGlobal:"))).toMatchInlineSnapshot(`
    "art-e queue

    What is on a queue of runs, and how to clean it

    Commands:
      art-e queue status      The runs on a queue, and the workers that answer them
      art-e queue clean [id]  Remove a run from a queue, or all, with the results that nobody has taken in
    "
  `);
});
