/** What this page reads of the API's answers; /openapi.json describes all of it. */

export interface AgentJson {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly prompt: string;
  /** Null: the chat chooses. */
  readonly model: string | null;
  readonly settings: Readonly<Record<string, unknown>>;
  readonly version: number;
  readonly tools: readonly string[];
  readonly updated_at: string;
}

export interface ToolJson {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly parameters_schema: unknown;
  readonly handler_key: string;
  readonly category: string;
}

export interface InboxesJson {
  readonly inboxes: readonly string[];
  readonly first_date: string | null;
  readonly last_date: string | null;
}

export interface ModelsJson {
  readonly models: readonly { readonly id: string; readonly provider: string }[];
  readonly default_model: string;
}

export interface TraceLineJson {
  readonly id: string;
  readonly run_id: string | null;
  readonly agent_id: string;
  readonly model: string;
  readonly ending: string;
  readonly question: string;
  readonly answer: string | null;
  readonly rating: string | null;
  readonly started_at: string;
  readonly duration_ms: number;
}

export interface SessionLineJson {
  readonly id: string;
  readonly agent_id: string;
  readonly inbox_address: string | null;
  readonly query_date: string | null;
  readonly chats?: number;
  readonly question?: string | null;
  readonly updated_at: string;
}

export interface MailJson {
  readonly message_id: string;
  readonly subject: string;
  readonly sender: string;
  readonly to: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
  readonly date: string | null;
  readonly body: string;
}

export interface TracePageJson {
  readonly traces: readonly TraceLineJson[];
  readonly next_cursor: string | null;
  readonly has_more: boolean;
  readonly total_count: number;
}

export interface TraceDetailsJson extends TraceLineJson {
  readonly trace: TraceJson;
  readonly feedback: readonly { readonly rating: string; readonly notes: string | null; readonly created_at: string }[];
}

/** A trace as export-traces writes it: of a run's task, or of a chat. */
export interface TraceJson {
  readonly traceId: string;
  readonly sessionId: string;
  readonly ending: string;
  readonly error: string | null;
  readonly answer: string | null;
  readonly sources: readonly string[];
  readonly messages: readonly MessageJson[];
  readonly toolCalls: readonly ToolCallJson[];
  readonly turns: readonly { readonly retries: readonly RetryJson[] }[];
  readonly scores: Readonly<Record<string, { readonly value: number | null }>>;
  readonly task?: { readonly inbox_address: string; readonly query_date: string; readonly answer: string };
}

/** The trace of a chat. */
export interface ChatTraceJson extends TraceJson {
  readonly question: string;
  readonly inbox: string | null;
  readonly queryDate: string | null;
  readonly historyLength: number;
}

/** A failed attempt at a model call; the next one began after `waitedMs`. */
export interface RetryJson {
  readonly attempt: number;
  readonly reason: string;
  readonly waitedMs: number;
}

export interface MessageJson {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string;
  readonly toolCalls?: readonly { readonly id: string; readonly name: string; readonly arguments: unknown }[];
  readonly toolCallId?: string;
}

export interface ToolCallJson {
  readonly id: string;
  readonly name: string;
  readonly result: unknown;
  readonly error: string | null;
}

export interface RunLineJson {
  readonly id: string;
  readonly name: string | null;
  readonly agent_id: string;
  readonly model: string;
  readonly status: string;
  readonly tasks: number;
  readonly total_tasks: number;
  readonly started_at: string;
}

export interface ResultPageJson {
  readonly taskResults: readonly {
    readonly taskId: number | string;
    readonly traceId: string;
    readonly question: string;
    readonly agentAnswer: string;
    readonly groundTruth: string;
    readonly semanticScore: number | null;
    readonly ending: string;
    readonly executionTimeMs: number;
  }[];
  readonly has_more: boolean;
  readonly total_count: number;
}
