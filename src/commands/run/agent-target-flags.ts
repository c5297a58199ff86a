import type { Flags } from "../cli/command.js";

/** External agents, which are not in the registry. */
export const AGENT_TARGET_FLAGS: Flags = {
  "api-url": {
    type: "string",
    requiresArg: true,
    describe: "The agent is one of this server with the playground API [API_URL]",
  },
  workspace: {
    alias: "w",
    type: "string",
    requiresArg: true,
    describe: "With --api-url: the workspace [WORKSPACE_ID]",
  },
  "tell-task": { type: "boolean", describe: "With --api-url: put mailbox and day into the question too" },
  "agent-command": {
    type: "string",
    requiresArg: true,
    describe: "The agent is a program: questions as JSON lines on its stdin, answers on its stdout",
  },
  "agent-url": {
    type: "string",
    requiresArg: true,
    describe: "The agent is the model --agent of this OpenAI-compatible address, and runs its own tools",
  },
};
