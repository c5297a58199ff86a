import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { listenMcp } from "../../src/tools/mcp-server.js";

it.each(["POST /mcp HTTP/1.0\r\n\r\n", "POST /mcp HTTP/1.0\r\nHost:\r\n\r\n"])(
  "on a loopback address a request without a host is refused: %j",
  async (words) => {
    let asked = 0;
    const serverFor = () => {
      asked++;
      return null;
    };
    const listener = await listenMcp({ host: "127.0.0.1", port: 0, token: null, serverFor });
    const { hostname, port } = new URL(listener.origin);
    const socket = connect(Number(port), hostname, () => socket.write(words));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 403 /);
    expect(asked).toBe(0);
    await listener.close();
  },
);
