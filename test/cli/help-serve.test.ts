import { expect, it } from "vitest";
import { workFolder } from "./art-e.js";

const { artE } = workFolder();

it("the help of serve tells every flag with its default", async () => {
  const { stdout } = await artE("serve --help");
  expect(stdout.split("\nGlobal:")[0]).toMatchInlineSnapshot(`
    "art-e serve

    Serve the agents over HTTP: the API, a playground page, and an OpenAI-compatible endpoint

    Options:
          --open             Open the playground in the browser                                                    [boolean]
          --port             0: any that is free [default: 8787]                                                    [number]
          --host             The address to listen on; any but a loopback one needs a token [default: 127.0.0.1]    [string]
          --token-file       A file that holds the token [ART_E_TOKEN]                                              [string]
          --token            The token itself; others on this machine may see it here                               [string]
          --cors             An origin whose pages may ask [default: none]                                          [string]
          --max-chats        Chats under way at once [default: 64]                                                  [number]
          --chat-timeout     Seconds a chat may take [default: 600]                                                 [number]
          --stall-timeout    Seconds a client may read nothing before its chat is ended [default: 30]               [number]
          --request-timeout  Seconds one model call may take before it is tried again [default: 180]                [number]
          --grace            Seconds that chats have to finish when the server is stopped [default: 10]             [number]
          --allow-programs   Tools made over HTTP may run programs, read the environment and reach private addresses
                                                                                                                   [boolean]
          --otlp             Send the traces to the server that OTEL_EXPORTER_OTLP_ENDPOINT names                  [boolean]
          --otlp-endpoint    Send them there; keys come from OTEL_EXPORTER_OTLP_HEADERS                             [string]
          --scores           Send the scores too, to the API of langfuse or phoenix at the same server              [string]
          --no-content       Of OTLP: without what was said, called, answered and explained                        [boolean]
    "
  `);
});
