/** The events of a streamed chat; each is the JSON `data` of one server-sent event, and the last data is `[DONE]`. */
export type ChatEvent =
  | { readonly type: "message-start"; readonly messageId: string }
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "tool-call"; readonly toolCallId: string; readonly toolName: string }
  /** `args` is JSON text, or what the model sent where that is not JSON. */
  | { readonly type: "tool-call-args"; readonly toolCallId: string; readonly args: string }
  | { readonly type: "tool-call-end"; readonly toolCallId: string }
  /** A result that is an error is `{ error }`. */
  | { readonly type: "tool-result"; readonly toolCallId: string; readonly result: unknown }
  | { readonly type: "finish"; readonly messageId: string }
  | { readonly type: "error"; readonly errorText: string; readonly errorCategory: string; readonly retryable: boolean }
  | {
      readonly type: "recoverable-error";
      readonly messageId: string;
      readonly error: string;
      readonly errorCode: string;
      readonly recoverable: boolean;
    }
  | { readonly type: "session-info"; readonly sessionId: string; readonly traceId: string }
  /** Attempt `attempt` at a model call failed; the next one begins after `waitMs`. */
  | { readonly type: "retry"; readonly attempt: number; readonly reason: string; readonly waitMs: number };
