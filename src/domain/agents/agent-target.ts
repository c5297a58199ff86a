import { z } from "zod";

/** Where the agent of a run lives, if not in this program. Part of a run's settings: never a secret. */
export const agentTargetSchema = z
  .discriminatedUnion("kind", [
    z.strictObject({
      kind: z.literal("api").describe("A server that speaks the playground API."),
      url: z.string().describe("Its address."),
      workspace: z.string().nullable().describe("The workspace there."),
      tellTask: z.boolean().describe("Mailbox and day are put into the question too."),
    }),
    z.strictObject({
      kind: z.literal("command").describe("A program."),
      argv: z.array(z.string()).readonly().describe("The program and its arguments."),
    }),
    z.strictObject({
      kind: z.literal("endpoint").describe("An OpenAI-compatible address that runs its own tools."),
      url: z.string().describe("Its address."),
    }),
  ])
  .readonly();

export type AgentTarget = z.output<typeof agentTargetSchema>;
