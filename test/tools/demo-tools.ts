import type { JsonValue } from "../../src/platform/json.js";
import { toTool } from "../../src/tools/load-tools.js";
import { type Mailbox, openMailbox } from "../../src/tools/mailbox.js";
import { resultValue, type Tool, type ToolContext, type ToolErrorKind } from "../../src/tools/tool.js";
import { getTool, listTools } from "../../src/tools/tools-store.js";
import { MARCUS, never, openDemo, type TestDb } from "../runs/demo-setup.js";

/** The seeded tools, live over the demo mail. */

export interface DemoTools extends TestDb {
  readonly mailbox: Mailbox;
  tool(id: string, config?: string): Tool;
  /** The result that the model receives. Fails if the call is refused. */
  value<T>(id: string, args: JsonValue, context?: Partial<ToolContext>): Promise<T>;
  /** Fails if the call is not refused. */
  refusal(
    id: string,
    args: JsonValue,
    context?: Partial<ToolContext>,
  ): Promise<{ readonly kind: ToolErrorKind; readonly error: string }>;
}

interface FoundMail {
  readonly message_id: string;
  readonly subject: string;
  readonly sender: string;
  readonly date: string | null;
  readonly snippet: string;
  readonly match: "all_words" | "best_match";
}

export interface Found {
  readonly emails: readonly FoundMail[];
  readonly total: number;
}

export interface ReadMail {
  readonly message_id: string;
  readonly body: string;
  readonly body_from?: number;
  readonly body_length?: number;
  readonly next_offset?: number | null;
}

/** In a task for Marcus, without a cutoff. */
export const context: ToolContext = { inbox: MARCUS, cutoff: null, signal: never };

export async function openDemoTools(): Promise<DemoTools> {
  const demo = await openDemo();
  return toolsOver(demo);
}

export function toolsOver(testDb: TestDb): DemoTools {
  const mailbox = openMailbox(testDb.db);
  const tool = (id: string, config: string | null = null) =>
    toTool({ tool: getTool(testDb.db, id), config }, { mailbox });
  const tools = new Map(listTools(testDb.db).map(({ id }) => [id, tool(id)]));
  const call = async (id: string, args: JsonValue, changes: Partial<ToolContext>) => {
    const live = tools.get(id);
    if (live === undefined) throw new Error(`no tool ${id}`);
    return live.call(args, { ...context, ...changes });
  };
  return {
    ...testDb,
    mailbox,
    tool,
    async value<T>(id: string, args: JsonValue, changes: Partial<ToolContext> = {}) {
      const result = await call(id, args, changes);
      if (!result.ok) throw new Error(`refused: ${result.error}`);
      return JSON.parse(JSON.stringify(resultValue(result))) as T;
    },
    async refusal(id, args, changes = {}) {
      const result = await call(id, args, changes);
      if (result.ok) throw new Error(`not refused: ${JSON.stringify(resultValue(result))}`);
      return result;
    },
  };
}
