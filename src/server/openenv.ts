// Serves the training environment over the OpenEnv protocol (0.3 to 0.6, https://github.com/meta-pytorch/OpenEnv). Over
// WebSocket, each connection is a session with one episode at a time. HTTP only describes the environment.
import type { TrainingEnvironment } from "../training/environment.js";
import { openHttpServer, refuseOpenAddress } from "./app/http-server.js";
import type { Running } from "./create-app.js";
import { httpApp } from "./openenv/openenv-http.js";
import { McpEndpoint } from "./openenv/openenv-mcp.js";
import { type OpenEnvOptions, Sessions } from "./openenv/openenv-sessions.js";
import { Sockets } from "./openenv/openenv-sockets.js";

/** In addition to the connections of sessions. */
const OTHER_CONNECTIONS = 256;

/**
 * Starts the server. Port 0 selects any free port. Throws a UserError if the port is in use or the server would be open
 * to others without a token.
 */
export async function serveOpenEnv(environment: TrainingEnvironment, options: OpenEnvOptions): Promise<Running> {
  const { access, port, maxSessions, report } = options;
  refuseOpenAddress(access);
  const sessions = new Sessions(environment, options, report);
  const mcp = new McpEndpoint(environment, sessions, options.version);
  const sockets = new Sockets(sessions, mcp, options);
  const app = httpApp(environment, mcp, options);
  const upgrade = sockets.upgrade.bind(sockets);
  const server = await openHttpServer(app, access.host, port, maxSessions + OTHER_CONNECTIONS, upgrade);
  return {
    url: server.url,
    stop: (graceMs) =>
      server.close(graceMs, async () => {
        await sessions.close();
        await sockets.close();
      }),
  };
}
