// Who may use the environment server: checks of host, origin and token, for HTTP requests and WebSockets.
import { bearerTokenCheck, isAllowedHost, isOwnOrigin } from "../../platform/http.js";
import type { OpenEnvOptions } from "./openenv-sessions.js";

/**
 * Returns a function that returns null or the status of a refusal. Clients can send the token as a bearer token or as
 * the password in a URL.
 */
export function accessCheck({ host, token }: OpenEnvOptions["access"]) {
  const isToken = token === null ? () => true : bearerTokenCheck(token);
  return (read: (name: string) => string | undefined): 401 | 403 | null => {
    const origin = read("origin");
    if (!isAllowedHost(host, read("host"))) return 403;
    if (origin !== undefined && !isOwnOrigin(origin, read("host"))) return 403;
    const authorization = read("authorization");
    const [, basic] = /^Basic +(\S+)\s*$/i.exec(authorization ?? "") ?? [];
    if (basic === undefined) return isToken(authorization) ? null : 401;
    const [, ...password] = Buffer.from(basic, "base64").toString("utf8").split(":");
    return isToken(`Bearer ${password.join(":")}`) ? null : 401;
  };
}
