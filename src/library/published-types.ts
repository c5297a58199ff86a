// Generated from the zod schemas by npm run docs. Do not edit.
// The types that users of the library see, because the schemas' own types would require zod.
import type { JsonValue } from "../platform/json-value.js";


/**
 * Settings of the run, depending on who answered.
 */
export type RunSettings =
  | {
      /**
       * art-e's agent loop answered.
       */
      kind: "own";
      /**
       * Agent id.
       */
      agentId: string;
      /**
       * provider/name.
       */
      model: string;
      /**
       * Ids of the agent's tools.
       */
      tools: string[];
      /**
       * Maximum model calls per task. After that, the task ends as out_of_turns.
       */
      maxTurns: number;
      /**
       * Number of epochs per question.
       */
      epochs: number;
      /**
       * Scorers, in the order of their table.
       */
      scorers: string[];
      /**
       * Model that judged the answers, or null without a judge.
       */
      judge: {
        model: string;
        baseUrl: string | null;
        protocol: "verdict" | "art";
        version: number;
        votes: number;
        reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
        /**
         * Labeled answers in the prompt. Absent if there are none.
         */
        examples?: {
          /**
           * Question.
           */
          question: string;
          /**
           * Gold answer.
           */
          gold: string;
          /**
           * Labeled answer.
           */
          answer: string;
          /**
           * Label from a person.
           */
          label: "good" | "bad";
        }[];
        /**
         * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
         */
        extraHeaders?: {
          [k: string]: string;
        };
        /**
         * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
         */
        extraBody?: {
          [k: string]: JsonValue;
        };
      } | null;
      /**
       * Settings that changed when the run was resumed with --resume --force, and changes made by art-e ctl, each with its time and reason.
       */
      changes?: string[];
      /**
       * Agent version, under which the complete prompt, model, settings and tools are stored.
       */
      agentVersion: number;
      /**
       * Agent prompt, with its variables not filled in.
       */
      prompt: string;
      /**
       * SHA-256 of the tools' configuration and of the descriptions that the model receives.
       */
      toolsDigest: string;
      /**
       * Whether all mail was imported through ART's filter. Absent if unknown.
       */
      mailFilter?: "none" | "art";
      /**
       * Whether email after the question's date is hidden (query_date) or visible (off).
       */
      cutoff: "query_date" | "off";
      /**
       * Maximum milliseconds per task.
       */
      taskTimeoutMs: number;
      /**
       * Maximum number of concurrent tasks.
       */
      concurrency: "auto" | number;
      /**
       * Selection of questions from the dataset.
       */
      selection: {
        [k: string]: unknown;
      };
      /**
       * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
       */
      extraHeaders?: {
        [k: string]: string;
      };
      /**
       * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
       */
      extraBody?: {
        [k: string]: JsonValue;
      };
      /**
       * Run that this one repeats.
       */
      repeats?: string;
      /**
       * US dollars per million tokens from --price, or null to use the price table.
       */
      price: {
        input: number;
        output: number;
        cachedInput: number;
      } | null;
      /**
       * Present if the workers of a queue answered (--queue).
       */
      queue?: true;
      /**
       * Claim that stops the run when it is settled (--until).
       */
      until?: {
        /**
         * The claim about this run and its baseline.
         */
        relation: "better" | "no_worse" | "different";
        /**
         * Margin of the claim, in the score's unit.
         */
        by: number;
        /**
         * The claim is refuted if the gain is below this. Null means below the margin of the claim.
         */
        notBy: number | null;
        /**
         * Run id or results file of the baseline.
         */
        baseline: string;
        /**
         * Scorer.
         */
        metric: string;
        /**
         * Seed of the order in which the questions are asked.
         */
        seed: number;
      };
      /**
       * Module with custom setup and evaluation functions for suite tasks.
       */
      functions?: string;
      /**
       * Base URL of a compatible server, or null for the provider's own server.
       */
      baseUrl: string | null;
      /**
       * OpenAI wire format, or null to choose it by server.
       */
      wireApi: ("chat" | "responses") | null;
      /**
       * Maximum tokens per reply, excluding reasoning.
       */
      maxTokens: number;
      /**
       * Reasoning tokens in addition to maxTokens. If absent, the number depends on the model.
       */
      reasoningTokens?: number;
      /**
       * Sampling temperature, or null for the provider's default.
       */
      temperature: number | null;
      /**
       * Reasoning effort of the model. If absent, the model's default.
       */
      reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
      /**
       * all, or first if only the first tool call of a reply is executed.
       */
      toolCalls: string;
      /**
       * auto, or required if the model must call a tool in every turn.
       */
      toolChoice: string;
      /**
       * The settings sent to the provider with a call. Absent if no call was sent.
       */
      sent?: {
        /**
         * Maximum tokens per reply, including reasoning.
         */
        maxTokens: number;
        /**
         * Sampling temperature, or null if none was sent.
         */
        temperature: number | null;
        /**
         * Tool choice, or null if no tools were sent.
         */
        toolChoice: ("auto" | "required") | null;
        /**
         * Reasoning effort: a level, or a thinking budget in tokens. Null if omitted, absent if none was set.
         */
        reasoningEffort?: string | number | null;
        /**
         * Parameters that were not sent as requested. Absent if there are none.
         */
        adjusted?: {
          /**
           * Name of the parameter.
           */
          parameter: "maxTokens" | "temperature" | "toolChoice" | "reasoningEffort";
          /**
           * Requested value.
           */
          asked: number | string;
          /**
           * Sent value, or null if the parameter was omitted.
           */
          sent: number | string | null;
          /**
           * Reason for the difference.
           */
          reason: string;
        }[];
      };
      /**
       * Maximum US dollars per task, or null if unlimited.
       */
      maxTaskCostUsd: number | null;
      /**
       * Whether Python ran outside a sandbox (--unsafe-host-python). Absent if it ran in a sandbox or not at all.
       */
      unsafeHostPython?: true;
      /**
       * Disturbance of each task (--perturb): reworded question, error of the first tool call, slow tools, or search results in another order. Absent for an undisturbed run.
       */
      perturbation?: "reworded" | "tool-error" | "latency" | "shuffled";
      /**
       * Oracle file for the model offline/oracle. Absent for other models.
       */
      oracle?: string;
    }
  | {
      /**
       * An external agent answered.
       */
      kind: "external";
      /**
       * Agent id.
       */
      agentId: string;
      /**
       * provider/name.
       */
      model: string;
      /**
       * Ids of the agent's tools.
       */
      tools: string[];
      /**
       * Maximum model calls per task. After that, the task ends as out_of_turns.
       */
      maxTurns: number;
      /**
       * Number of epochs per question.
       */
      epochs: number;
      /**
       * Scorers, in the order of their table.
       */
      scorers: string[];
      /**
       * Model that judged the answers, or null without a judge.
       */
      judge: {
        model: string;
        baseUrl: string | null;
        protocol: "verdict" | "art";
        version: number;
        votes: number;
        reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
        /**
         * Labeled answers in the prompt. Absent if there are none.
         */
        examples?: {
          /**
           * Question.
           */
          question: string;
          /**
           * Gold answer.
           */
          gold: string;
          /**
           * Labeled answer.
           */
          answer: string;
          /**
           * Label from a person.
           */
          label: "good" | "bad";
        }[];
        /**
         * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
         */
        extraHeaders?: {
          [k: string]: string;
        };
        /**
         * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
         */
        extraBody?: {
          [k: string]: JsonValue;
        };
      } | null;
      /**
       * Settings that changed when the run was resumed with --resume --force, and changes made by art-e ctl, each with its time and reason.
       */
      changes?: string[];
      /**
       * Whether email after the question's date is hidden (query_date) or visible (off).
       */
      cutoff: "query_date" | "off";
      /**
       * Maximum milliseconds per task.
       */
      taskTimeoutMs: number;
      /**
       * Maximum number of concurrent tasks.
       */
      concurrency: "auto" | number;
      /**
       * Selection of questions from the dataset.
       */
      selection: {
        [k: string]: unknown;
      };
      /**
       * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
       */
      extraHeaders?: {
        [k: string]: string;
      };
      /**
       * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
       */
      extraBody?: {
        [k: string]: JsonValue;
      };
      /**
       * Run that this one repeats.
       */
      repeats?: string;
      /**
       * US dollars per million tokens from --price, or null to use the price table.
       */
      price: {
        input: number;
        output: number;
        cachedInput: number;
      } | null;
      /**
       * Present if the workers of a queue answered (--queue).
       */
      queue?: true;
      /**
       * Claim that stops the run when it is settled (--until).
       */
      until?: {
        /**
         * The claim about this run and its baseline.
         */
        relation: "better" | "no_worse" | "different";
        /**
         * Margin of the claim, in the score's unit.
         */
        by: number;
        /**
         * The claim is refuted if the gain is below this. Null means below the margin of the claim.
         */
        notBy: number | null;
        /**
         * Run id or results file of the baseline.
         */
        baseline: string;
        /**
         * Scorer.
         */
        metric: string;
        /**
         * Seed of the order in which the questions are asked.
         */
        seed: number;
      };
      /**
       * Module with custom setup and evaluation functions for suite tasks.
       */
      functions?: string;
      /**
       * The external agent, which has its own prompt, tools and limits.
       */
      externalAgent:
        | {
            /**
             * A server that implements the playground API.
             */
            kind: "api";
            /**
             * Base URL of the server.
             */
            url: string;
            /**
             * Workspace on the server.
             */
            workspace: string | null;
            /**
             * Whether the question also contains the mailbox and the date.
             */
            tellTask: boolean;
          }
        | {
            /**
             * A program.
             */
            kind: "command";
            /**
             * Program and arguments.
             */
            argv: string[];
          }
        | {
            /**
             * A person at the terminal.
             */
            kind: "human";
          }
        | {
            /**
             * An OpenAI-compatible endpoint that runs its own tools.
             */
            kind: "endpoint";
            /**
             * Base URL of the endpoint.
             */
            url: string;
          }
        | {
            /**
             * A function of a program that uses art-e as a library.
             */
            kind: "function";
            /**
             * Name of the function.
             */
            name: string;
          };
    }
  | {
      /**
       * The traces were imported from a file.
       */
      kind: "imported";
      /**
       * Agent id.
       */
      agentId: string;
      /**
       * provider/name.
       */
      model: string;
      /**
       * Ids of the agent's tools.
       */
      tools: string[];
      /**
       * Maximum model calls per task. After that, the task ends as out_of_turns.
       */
      maxTurns: number;
      /**
       * Number of epochs per question.
       */
      epochs: number;
      /**
       * Scorers, in the order of their table.
       */
      scorers: string[];
      /**
       * Model that judged the answers, or null without a judge.
       */
      judge: {
        model: string;
        baseUrl: string | null;
        protocol: "verdict" | "art";
        version: number;
        votes: number;
        reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
        /**
         * Labeled answers in the prompt. Absent if there are none.
         */
        examples?: {
          /**
           * Question.
           */
          question: string;
          /**
           * Gold answer.
           */
          gold: string;
          /**
           * Labeled answer.
           */
          answer: string;
          /**
           * Label from a person.
           */
          label: "good" | "bad";
        }[];
        /**
         * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
         */
        extraHeaders?: {
          [k: string]: string;
        };
        /**
         * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
         */
        extraBody?: {
          [k: string]: JsonValue;
        };
      } | null;
      /**
       * Settings that changed when the run was resumed with --resume --force, and changes made by art-e ctl, each with its time and reason.
       */
      changes?: string[];
      /**
       * File that the traces were imported from.
       */
      imported: {
        /**
         * Format of the file.
         */
        format: string;
        /**
         * File name.
         */
        file: string;
        /**
         * SHA-256 of the file's bytes.
         */
        sha256: string;
        /**
         * Tools that were sent to the model, as far as the file describes them.
         */
        tools: {
          /**
           * Tool name.
           */
          name: string;
          /**
           * Tool description.
           */
          description: string;
          /**
           * JSON Schema of the tool's parameters.
           */
          parameters: {
            [k: string]: JsonValue;
          };
        }[];
      };
      /**
       * Agent version, under which the complete prompt, model, settings and tools are stored.
       */
      agentVersion?: number;
      /**
       * Agent prompt, with its variables not filled in.
       */
      prompt?: string;
      /**
       * Maximum tokens per reply, excluding reasoning.
       */
      maxTokens?: number;
      /**
       * Sampling temperature, or null for the provider's default.
       */
      temperature?: number | null;
      /**
       * Maximum milliseconds per task.
       */
      taskTimeoutMs?: number;
      /**
       * Maximum US dollars per task, or null if unlimited.
       */
      maxTaskCostUsd?: number | null;
      /**
       * Selection of questions from the dataset.
       */
      selection?: {
        [k: string]: unknown;
      };
    }
  | {
      /**
       * A trainer's model answered in a training environment.
       */
      kind: "training";
      /**
       * Agent id.
       */
      agentId: string;
      /**
       * provider/name.
       */
      model: string;
      /**
       * Ids of the agent's tools.
       */
      tools: string[];
      /**
       * Maximum model calls per task. After that, the task ends as out_of_turns.
       */
      maxTurns: number;
      /**
       * Number of epochs per question.
       */
      epochs: number;
      /**
       * Scorers, in the order of their table.
       */
      scorers: string[];
      /**
       * Model that judged the answers, or null without a judge.
       */
      judge: {
        model: string;
        baseUrl: string | null;
        protocol: "verdict" | "art";
        version: number;
        votes: number;
        reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
        /**
         * Labeled answers in the prompt. Absent if there are none.
         */
        examples?: {
          /**
           * Question.
           */
          question: string;
          /**
           * Gold answer.
           */
          gold: string;
          /**
           * Labeled answer.
           */
          answer: string;
          /**
           * Label from a person.
           */
          label: "good" | "bad";
        }[];
        /**
         * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
         */
        extraHeaders?: {
          [k: string]: string;
        };
        /**
         * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
         */
        extraBody?: {
          [k: string]: JsonValue;
        };
      } | null;
      /**
       * Settings that changed when the run was resumed with --resume --force, and changes made by art-e ctl, each with its time and reason.
       */
      changes?: string[];
      /**
       * Agent version, under which the complete prompt, model, settings and tools are stored.
       */
      agentVersion: number;
      /**
       * Agent prompt, with its variables not filled in.
       */
      prompt: string;
      /**
       * SHA-256 of the tools' configuration and of the descriptions that the model receives.
       */
      toolsDigest: string;
      /**
       * Whether all mail was imported through ART's filter. Absent if unknown.
       */
      mailFilter?: "none" | "art";
      /**
       * Whether email after the question's date is hidden (query_date) or visible (off).
       */
      cutoff: "query_date" | "off";
      /**
       * Maximum milliseconds per task.
       */
      taskTimeoutMs: number;
      /**
       * Maximum number of concurrent tasks.
       */
      concurrency: "auto" | number;
      /**
       * Selection of questions from the dataset.
       */
      selection: {
        [k: string]: unknown;
      };
      /**
       * Training environment whose episodes are the tasks.
       */
      environment: {
        /**
         * Protocol between trainer and environment.
         */
        protocol: "openenv";
        /**
         * Scorer whose value is the reward.
         */
        reward: string;
        /**
         * Maximum tokens per episode, or null if unlimited.
         */
        maxTokens: number | null;
      };
    };
export type Message =
  | {
      role: "system";
      content: string;
    }
  | {
      role: "user";
      content: string;
    }
  | {
      role: "assistant";
      content: string;
      toolCalls: {
        id: string;
        name: string;
        arguments: JsonValue;
        invalid?: string;
      }[];
      reasoning?: string;
      providerState?: {
        provider: string;
        value: JsonValue;
      };
    }
  | {
      role: "tool";
      toolCallId: string;
      name: string;
      content: string;
      isError: boolean;
    };

export interface BenchmarkResult {
  /**
   * Run id.
   */
  runId: string;
  /**
   * Name given by a user. Absent for a run without a name.
   */
  name?: string;
  /**
   * Tested agent.
   */
  agentId: string;
  /**
   * Model as provider/name.
   */
  model: string;
  /**
   * Dataset split: test or train.
   */
  split: string;
  /**
   * completed, running, or interrupted if some tasks do not have a result yet.
   */
  status: "running" | "completed" | "interrupted";
  /**
   * Number of planned tasks.
   */
  plannedTasks: number;
  /**
   * Number of tasks with a result.
   */
  totalTasks: number;
  /**
   * Number of tasks that did not fail.
   */
  completedTasks: number;
  /**
   * Number of tasks that ended as model_error, timeout, interrupted or not_started. They are never graded.
   */
  failedTasks: number;
  /**
   * Most frequent error of the failed tasks. Absent if no task failed.
   */
  mostFrequentError?: {
    /**
     * Error message.
     */
    message: string;
    /**
     * Number of failed tasks with this message.
     */
    tasks: number;
  };
  /**
   * Reasons of refused tasks, most frequent first, at most 20. Absent if no task was refused.
   */
  refusals?: {
    /**
     * The provider's name for the refusal, with the explanation that the provider or the model gave.
     */
    reason: string;
    /**
     * Number of tasks refused for this reason.
     */
    tasks: number;
  }[];
  /**
   * Number of suite tasks with requirements that the machine does not meet. Absent if it is 0.
   */
  notRunnableTasks?: number;
  /**
   * Fraction of exact matches, or null without tasks.
   */
  exactMatchAccuracy: number | null;
  /**
   * Mean word overlap (semanticScore).
   */
  avgSemanticScore: number | null;
  /**
   * Fraction of answers that cite an email that contains the gold answer.
   */
  sourcesCorrect: number | null;
  /**
   * Fraction of tasks in which a search listed an email that contains the gold answer.
   */
  foundGold: number | null;
  /**
   * Fraction of tasks in which the agent opened an email that contains the gold answer.
   */
  readGold: number | null;
  /**
   * Mean duration of a completed task in milliseconds, including waiting.
   */
  avgExecutionTimeMs: number | null;
  /**
   * Mean milliseconds of model calls per task, or null without tasks.
   */
  avgModelTimeMs: number | null;
  /**
   * Mean milliseconds of tool calls per task.
   */
  avgToolTimeMs: number | null;
  /**
   * Mean milliseconds of rate limiting, failed model calls and pauses per task.
   */
  avgWaitingTimeMs: number | null;
  /**
   * Milliseconds of work on the run.
   */
  totalTimeMs: number;
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * ISO 8601.
   */
  completedAt: string;
  /**
   * The same averages over all tasks, with failures counted as wrong.
   */
  overAllTasks: {
    /**
     * Number of tasks in the averages.
     */
    tasks: number;
    /**
     * Fraction of exact matches, or null without tasks.
     */
    exactMatchAccuracy: number | null;
    /**
     * Mean word overlap (semanticScore).
     */
    avgSemanticScore: number | null;
    /**
     * Fraction of answers that cite an email that contains the gold answer.
     */
    sourcesCorrect: number | null;
    /**
     * Fraction of tasks in which a search listed an email that contains the gold answer.
     */
    foundGold: number | null;
    /**
     * Fraction of tasks in which the agent opened an email that contains the gold answer.
     */
    readGold: number | null;
  };
  /**
   * Number of tasks per ending.
   */
  endings: {
    [k: string]: number;
  };
  /**
   * Number of model calls, or null if unknown, as for most external agents.
   */
  turns: number | null;
  /**
   * Number of replies per model name that the server reported. Absent if it reported none.
   */
  answeredBy?: {
    [k: string]: number;
  };
  /**
   * Tokens used in the run. inputTokens includes cached tokens.
   */
  usage: {
    inputTokens: number;
    outputTokens: number;
    cachedInputTokens: number;
    /**
     * Input tokens written to a cache. They cost more than other input tokens. Absent if there are none.
     */
    cacheWriteTokens?: number;
    /**
     * Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.
     */
    cacheWrite1hTokens?: number;
    /**
     * Output tokens spent on reasoning, included in outputTokens. Absent if none were reported.
     */
    reasoningTokens?: number;
  };
  /**
   * The agent's cost in US dollars, or null if the model's price is unknown.
   */
  costUsd: number | null;
  /**
   * Cost of judging in US dollars, or null if a price is unknown.
   */
  judgeCostUsd: number | null;
  /**
   * Sum of the agent's cost and the cost of judging, or null if either is unknown.
   */
  totalCostUsd: number | null;
  /**
   * Number of retried model calls, or null if the agent's model calls are unknown.
   */
  retries: number | null;
  /**
   * Number of tool calls with repaired arguments, such as an array sent as JSON text. Absent if it is 0.
   */
  repairedCalls?: number;
  /**
   * Number of replies from the cache. usage and costUsd include these replies, but spent does not.
   */
  cachedReplies: number;
  /**
   * Usage of new model calls, excluding replies from the cache.
   */
  spent: {
    /**
     * Tokens.
     */
    usage: {
      inputTokens: number;
      outputTokens: number;
      cachedInputTokens: number;
      /**
       * Input tokens written to a cache. They cost more than other input tokens. Absent if there are none.
       */
      cacheWriteTokens?: number;
      /**
       * Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.
       */
      cacheWrite1hTokens?: number;
      /**
       * Output tokens spent on reasoning, included in outputTokens. Absent if none were reported.
       */
      reasoningTokens?: number;
    };
    /**
     * US dollars, or null if the model's price is unknown.
     */
    costUsd: number | null;
  };
  /**
   * Scores by scorer, each with its 95% interval and denominator.
   */
  scores: {
    [k: string]: ScoreFigures;
  };
  /**
   * Totals for suite tasks. Absent for other runs.
   */
  suite?: {
    /**
     * Suite name.
     */
    name: string;
    /**
     * Number of tasks with a score. The averages exclude other tasks.
     */
    graded: number;
    /**
     * Number of tasks per ending, in the suite's terms.
     */
    states: {
      [k: string]: {
        /**
         * Number of tasks.
         */
        tasks: number;
        /**
         * Number of tasks with a score.
         */
        graded: number;
      };
    };
  };
  /**
   * Scores per group of tasks.
   */
  slices: {
    /**
     * Per mailbox of the question.
     */
    inbox: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per tenth of the question's realism in the dataset.
     */
    realism: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per number of emails that the dataset lists as sources of the answer.
     */
    sources: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per year of the question's date.
     */
    year: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per suite task folder. Absent for other runs, like the following fields.
     */
    tool?: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per number of steps that a person needs.
     */
    difficulty?: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per instruction style: abstract or verbose.
     */
    guidance?: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Scores for each application that the task involves.
     */
    app?: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
    /**
     * Per task tag.
     */
    tag?: {
      /**
       * Property that the tasks share, such as the address or the year.
       */
      value: string;
      /**
       * Number of tasks, including failed ones.
       */
      tasks: number;
      /**
       * Scores by scorer, over the completed tasks.
       */
      scores: {
        [k: string]: Estimate;
      };
    }[];
  };
  settings: RunSettings;
  /**
   * Budgets of the run. Null means unlimited.
   */
  limits: {
    /**
     * US dollars, including the cost of judging.
     */
    maxCostUsd: number | null;
    /**
     * Input and output tokens.
     */
    maxTokens: number | null;
    /**
     * Milliseconds of work on the run.
     */
    maxTimeMs: number | null;
    /**
     * Number of failed tasks, or their fraction of the finished tasks, which applies once 20 tasks have finished. The count restarts when the run is resumed.
     */
    maxFailures:
      | (
          | {
              tasks: number;
            }
          | {
              share: number;
            }
        )
      | null;
  };
  /**
   * Versions of art-e, Node and SQLite.
   */
  versions: {
    [k: string]: string;
  };
  /**
   * Source of the questions.
   */
  dataset: {
    /**
     * Dataset name with its revision, or the path of a local file.
     */
    source: string;
    /**
     * Pinned revision, or null for local files.
     */
    revision: string | null;
    /**
     * SHA-256 of the dataset's bytes.
     */
    sha256: string;
  };
  /**
   * Fingerprint of the mail. Databases with the same fingerprint show the same mail to every agent.
   */
  corpusFingerprint: string;
  /**
   * Results by task id and epoch.
   */
  taskResults: TaskResult[];
}
export interface ScoreFigures {
  /**
   * Lower bound of the 95% interval, or null if there is too little data.
   */
  low: number | null;
  /**
   * Upper bound of the 95% interval, or null if there is too little data.
   */
  high: number | null;
  /**
   * The rate or mean, or null if n is 0.
   */
  value: number | null;
  /**
   * Number of tasks, the denominator.
   */
  n: number;
  /**
   * How the interval was computed. Absent without an interval.
   */
  method?:
    | "wilson"
    | "clustered_wilson"
    | "wilson_mean"
    | "clustered_wilson_mean"
    | "t"
    | "clustered_t"
    | "paired_wilson"
    | "paired_bootstrap"
    | "paired_t"
    | "bootstrap"
    | "betting_sequence";
  /**
   * Display name of the scorer.
   */
  label: string;
  /**
   * rate for 0 or 1 per task, mean for any number.
   */
  kind: "rate" | "mean";
  /**
   * Whether higher or lower is better.
   */
  better: "higher" | "lower";
  /**
   * Explanation of the score and of the tasks that it covers.
   */
  meaning: string;
  /**
   * The same estimate with failed tasks counted as wrong (0). Empty (n is 0) if failures cannot count as 0: if lower is better, if the score is not limited to 0 to 1, or for a training environment's reward. Suite tasks that are not runnable or could not be graded are left out.
   */
  overAll: Estimate;
  /**
   * The rate without the errors of the eval or judge and of the labels, which the eval's newest test measured. Absent without a test on the current labels.
   */
  corrected?: Estimate;
  /**
   * 95% interval with inboxes as clusters. It generalizes to other people's mailboxes, whereas the other interval generalizes to other questions about the same mailboxes.
   */
  byInbox: {
    /**
     * Lower bound of the 95% interval, or null if there is too little data.
     */
    low: number | null;
    /**
     * Upper bound of the 95% interval, or null if there is too little data.
     */
    high: number | null;
    /**
     * Number of inboxes.
     */
    inboxes: number;
  };
  /**
   * pass@k and pass^k of a rate for questions with several epochs. Absent for other scores.
   */
  repeats?: {
    /**
     * Number of attempts.
     */
    k: number;
    /**
     * pass@k: probability that at least one of k attempts is right. n counts questions.
     */
    passAtK: Estimate;
    /**
     * pass^k: probability that all k attempts are right. n counts questions.
     */
    passHatK: Estimate;
  }[];
}
/**
 * A rate or a mean with its 95% confidence interval and its denominator.
 */
export interface Estimate {
  /**
   * Lower bound of the 95% interval, or null if there is too little data.
   */
  low: number | null;
  /**
   * Upper bound of the 95% interval, or null if there is too little data.
   */
  high: number | null;
  /**
   * The rate or mean, or null if n is 0.
   */
  value: number | null;
  /**
   * Number of tasks, the denominator.
   */
  n: number;
  /**
   * How the interval was computed. Absent without an interval.
   */
  method?:
    | "wilson"
    | "clustered_wilson"
    | "wilson_mean"
    | "clustered_wilson_mean"
    | "t"
    | "clustered_t"
    | "paired_wilson"
    | "paired_bootstrap"
    | "paired_t"
    | "bootstrap"
    | "betting_sequence";
}
/**
 * Result of a question or suite task.
 */
export interface TaskResult {
  /**
   * Question id in the dataset.
   */
  taskId: number | string;
  /**
   * Epoch of the question, from 1.
   */
  epoch: number;
  /**
   * Address of the question's mailbox, or an empty string for a suite task.
   */
  inbox: string;
  /**
   * Date of the question (YYYY-MM-DD), or null for a suite task.
   */
  queryDate: string | null;
  /**
   * Realism of the question in the dataset, from 0 to 1, or null for a suite task.
   */
  howRealistic: number | null;
  /**
   * Number of emails that the dataset lists as sources of the answer.
   */
  goldSources: number;
  /**
   * Question.
   */
  question: string;
  /**
   * Gold answer.
   */
  groundTruth: string;
  /**
   * The agent's answer, or an empty string if there is none.
   */
  agentAnswer: string;
  /**
   * Whether the answer equals the gold answer after lowercasing, trimming and collapsing white space. Like all scores, null for a failed task, because failures are never graded.
   */
  exactMatch: boolean | null;
  /**
   * Jaccard similarity between the word sets of the two answers.
   */
  semanticScore: number | null;
  /**
   * Duration in milliseconds, including waiting.
   */
  executionTimeMs: number;
  /**
   * Milliseconds of successful model calls.
   */
  modelTimeMs: number;
  /**
   * Milliseconds of tool calls.
   */
  toolTimeMs: number;
  /**
   * Milliseconds of rate limiting, failed model calls and the pauses between them.
   */
  waitingTimeMs: number;
  /**
   * Trace id.
   */
  traceId: string;
  /**
   * Error message. Absent if the task did not fail.
   */
  error?: string;
  /**
   * The explanation that the model or its provider gave for the refusal. Absent if there was no refusal or no explanation.
   */
  refusal?: string;
  /**
   * Reason why the agent stopped.
   */
  ending:
    | "answered"
    | "dont_know"
    | "refused"
    | "out_of_turns"
    | "out_of_budget"
    | "timeout"
    | "model_error"
    | "tool_protocol_error"
    | "interrupted"
    | "not_started"
    | "not_runnable";
  /**
   * Number of model calls, or null if unknown, as for most external agents.
   */
  turns: number | null;
  /**
   * Number of replies per model name that the server reported. Absent if it reported none.
   */
  answeredBy?: {
    [k: string]: number;
  };
  /**
   * Tokens used for the task. inputTokens includes cached tokens.
   */
  usage: {
    inputTokens: number;
    outputTokens: number;
    cachedInputTokens: number;
    /**
     * Input tokens written to a cache. They cost more than other input tokens. Absent if there are none.
     */
    cacheWriteTokens?: number;
    /**
     * Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.
     */
    cacheWrite1hTokens?: number;
    /**
     * Output tokens spent on reasoning, included in outputTokens. Absent if none were reported.
     */
    reasoningTokens?: number;
  };
  /**
   * US dollars, or null if the model's price is unknown.
   */
  costUsd: number | null;
  /**
   * Cost of judging the answer in US dollars: 0 without a judge, null if the price is unknown.
   */
  judgeCostUsd: number | null;
  /**
   * Message-IDs that the agent cites.
   */
  sources: string[];
  /**
   * Whether a cited email contains the gold answer. A copy counts as the original email.
   */
  sourcesCorrect: boolean | null;
  /**
   * Whether a search listed an email that contains the gold answer.
   */
  foundGold: boolean | null;
  /**
   * Whether the agent opened an email that contains the gold answer.
   */
  readGold: boolean | null;
  /**
   * Number of retried model calls, or null if the agent's model calls are unknown.
   */
  retries: number | null;
  /**
   * Number of tool calls with repaired arguments. Absent if it is 0.
   */
  repairedCalls?: number;
  /**
   * Number of replies from the cache. usage and costUsd include these replies, but spent does not.
   */
  cachedReplies: number;
  /**
   * Usage of new model calls, excluding replies from the cache.
   */
  spent: {
    /**
     * Tokens.
     */
    usage: {
      inputTokens: number;
      outputTokens: number;
      cachedInputTokens: number;
      /**
       * Input tokens written to a cache. They cost more than other input tokens. Absent if there are none.
       */
      cacheWriteTokens?: number;
      /**
       * Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.
       */
      cacheWrite1hTokens?: number;
      /**
       * Output tokens spent on reasoning, included in outputTokens. Absent if none were reported.
       */
      reasoningTokens?: number;
    };
    /**
     * US dollars, or null if the model's price is unknown.
     */
    costUsd: number | null;
  };
  /**
   * Facts about a suite task. Absent for questions about mailboxes.
   */
  suite?: {
    /**
     * Suite name.
     */
    name: string;
    /**
     * Folder in examples/ that contains the task.
     */
    tool: string;
    /**
     * Snapshot of the task's machine.
     */
    snapshot: string;
    /**
     * Tags from the task file.
     */
    tags: string[];
    /**
     * Applications that the task involves.
     */
    relatedApps: string[];
    /**
     * Number of steps that a person needs.
     */
    actionNumber: number | null;
    /**
     * The same task with the other instruction style.
     */
    counterpart: string | null;
    /**
     * Ending in the suite's terms.
     */
    state:
      | "success"
      | "max_steps"
      | "timeout"
      | "agent_error"
      | "setup_error"
      | "eval_error"
      | "unsupported"
      | "needs_account"
      | "needs_server"
      | "not_ready"
      | "missing_files"
      | "no_oracle";
    /**
     * 0 to 1, or null for a task without a grade. Averages exclude null.
     */
    score: number | null;
    /**
     * Reason why the score is below 1 or missing.
     */
    reason: string;
  };
  /**
   * Scores by scorer. Null if a score could not be determined. Empty if the task failed.
   */
  scores: {
    [k: string]: number | null;
  };
  /**
   * Scorers that failed on the task, such as evals that raised an error. Absent if there are none.
   */
  failedScorers?: string[];
}
export interface QuestionTrace {
  /**
   * Id of the trace.
   */
  traceId: string;
  /**
   * Id of the conversation. Chats of one session share it.
   */
  sessionId: string;
  /**
   * Run id.
   */
  runId: string;
  /**
   * Id of the task in its dataset or suite.
   */
  taskId: number | string;
  /**
   * Epoch of the question, from 1.
   */
  epoch: number;
  /**
   * Agent id.
   */
  agentId: string;
  /**
   * Requested model as provider/name.
   */
  model: string;
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * ISO 8601.
   */
  endedAt: string;
  /**
   * Milliseconds from the start to the answer, including waiting.
   */
  durationMs: number;
  /**
   * How the task ended.
   */
  ending:
    | "answered"
    | "dont_know"
    | "refused"
    | "out_of_turns"
    | "out_of_budget"
    | "timeout"
    | "model_error"
    | "tool_protocol_error"
    | "interrupted"
    | "not_started"
    | "not_runnable";
  /**
   * Error message for the user if the agent did not answer, otherwise null.
   */
  error: string | null;
  /**
   * The conversation, beginning with the system prompt.
   */
  messages: Message[];
  /**
   * Executed tool calls, in order.
   */
  toolCalls: ToolCall[];
  /**
   * Model calls, in order.
   */
  turns: Turn[];
  /**
   * Maximum number of model calls.
   */
  maxTurns: number;
  /**
   * The answer, or null if the agent did not answer.
   */
  answer: string | null;
  /**
   * Message-IDs that the agent cited.
   */
  sources: string[];
  scores: {
    [k: string]: {
      value: number | null;
      explanation?: string;
      failed?: true;
    };
  };
  /**
   * The judge's judgment of the answer, or null without a judge.
   */
  judge: Judgement | null;
  /**
   * The conversation's ids on the external agent's server.
   */
  remote?: {
    sessionId: string | null;
    traceId: string | null;
  };
  kind: "question";
  task: Question;
}
export interface ToolCall {
  /**
   * Id of the call in the conversation.
   */
  id: string;
  /**
   * Tool id.
   */
  name: string;
  /**
   * Arguments as the model wrote them.
   */
  arguments: {
    [k: string]: unknown;
  };
  /**
   * The result, or null after an error.
   */
  result: {
    [k: string]: unknown;
  };
  /**
   * Error message for the model, or null.
   */
  error: string | null;
  /**
   * Kind of error, or null.
   */
  errorKind: ("unparsable_call" | "unknown_tool" | "bad_arguments" | "invalid_email" | "failed") | null;
  /**
   * Repairs of the arguments before the call, with one line per parameter. Absent if nothing was repaired.
   */
  repairs?: string[];
  /**
   * Index of the turn that requested the call.
   */
  turn: number;
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * Milliseconds.
   */
  durationMs: number;
}
export interface Turn {
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * The answering model according to the server. Absent if the server does not report it.
   */
  model?: string;
  /**
   * The provider's id of the reply. Absent if the provider gave none.
   */
  responseId?: string;
  /**
   * Milliseconds of the successful HTTP attempt.
   */
  latencyMs: number;
  /**
   * Why the reply ended.
   */
  finishReason: "stop" | "tool_calls" | "length" | "refusal" | "broken_call" | "other";
  /**
   * The provider's own name for the finish reason.
   */
  rawFinishReason: string;
  /**
   * Tokens, or null if the server did not report them.
   */
  usage: Usage | null;
  /**
   * US dollars, or null if unknown.
   */
  costUsd: number | null;
  /**
   * Failed HTTP attempts before the reply.
   */
  retries: {
    attempt: number;
    reason: string;
    waitedMs: number;
    billed?: {
      usage: Usage;
      costUsd: number | null;
    };
  }[];
  /**
   * Parameters sent to the provider. Absent if unknown.
   */
  sent?: {
    /**
     * Maximum tokens per reply, including reasoning.
     */
    maxTokens: number;
    /**
     * Sampling temperature, or null if none was sent.
     */
    temperature: number | null;
    /**
     * Tool choice, or null if no tools were sent.
     */
    toolChoice: ("auto" | "required") | null;
    /**
     * Reasoning effort: a level, or a thinking budget in tokens. Null if omitted, absent if none was set.
     */
    reasoningEffort?: string | number | null;
    /**
     * Parameters that were not sent as requested. Absent if there are none.
     */
    adjusted?: {
      /**
       * Name of the parameter.
       */
      parameter: "maxTokens" | "temperature" | "toolChoice" | "reasoningEffort";
      /**
       * Requested value.
       */
      asked: number | string;
      /**
       * Sent value, or null if the parameter was omitted.
       */
      sent: number | string | null;
      /**
       * Reason for the difference.
       */
      reason: string;
    }[];
  };
  /**
   * Milliseconds of rate limiting, failed attempts and pauses before the call.
   */
  waitedMs?: number;
  /**
   * The parts of `waitedMs` in order. Absent without a wait, or if its parts are unknown.
   */
  waits?: {
    kind: "slot" | "throttled" | "failed_attempt" | "pause";
    durationMs: number;
  }[];
  /**
   * Whether the reply came from the cache. Usage, cost, latency, waiting and retries are then from the original call.
   */
  cached?: boolean;
  /**
   * Whether the reply was paid before the run was resumed. Cost, latency, waiting and retries are from the original call. Absent for other replies.
   */
  resumed?: true;
}
export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cachedInputTokens: number;
  /**
   * Input tokens written to a cache. They cost more than other input tokens. Absent if there are none.
   */
  cacheWriteTokens?: number;
  /**
   * Part of cacheWriteTokens that the cache keeps for an hour. They cost even more. Absent if there are none.
   */
  cacheWrite1hTokens?: number;
  /**
   * Output tokens spent on reasoning, included in outputTokens. Absent if none were reported.
   */
  reasoningTokens?: number;
}
export interface Judgement {
  model: string;
  baseUrl: string | null;
  protocol: "verdict" | "art";
  version: number;
  votes: number;
  reasoningEffort?: "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  /**
   * Headers added to each request (--header). Variables and the values of public headers are recorded as given, and any other value as [not recorded]. Absent if there are none.
   */
  extraHeaders?: {
    [k: string]: string;
  };
  /**
   * Fields added to the body of each request (--body), with variables not expanded. Absent if there are none.
   */
  extraBody?: {
    [k: string]: JsonValue;
  };
  /**
   * Start of the SHA-256 of the judge's instructions and examples.
   */
  promptHash: string;
  /**
   * The verdict, or null for an unscored answer, which never counts as wrong.
   */
  verdict: ("wrong" | "abstained" | "partly" | "correct") | null;
  reason: string;
  /**
   * Fraction of the readable votes that agree with the verdict, or null without votes.
   */
  agreement: number | null;
  /**
   * Empty if no judge was needed.
   */
  cast: {
    verdict: ("wrong" | "abstained" | "partly" | "correct") | null;
    reason: string;
    /**
     * The model that answered, as reported by the server. Absent if the server does not report it.
     */
    model?: string;
    /**
     * Whether the vote came from the cache, without new cost.
     */
    cached: boolean;
  }[];
  usage: Usage;
  /**
   * US dollars, or null if unknown.
   */
  costUsd: number | null;
}
export interface Question {
  id: number;
  question: string;
  answer: string;
  message_ids: string[];
  how_realistic: number;
  inbox_address: string;
  query_date: string;
  split?: "train" | "test";
}
export interface SuiteTrace {
  /**
   * Id of the trace.
   */
  traceId: string;
  /**
   * Id of the conversation. Chats of one session share it.
   */
  sessionId: string;
  /**
   * Run id.
   */
  runId: string;
  /**
   * Id of the task in its dataset or suite.
   */
  taskId: number | string;
  /**
   * Epoch of the question, from 1.
   */
  epoch: number;
  /**
   * Agent id.
   */
  agentId: string;
  /**
   * Requested model as provider/name.
   */
  model: string;
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * ISO 8601.
   */
  endedAt: string;
  /**
   * Milliseconds from the start to the answer, including waiting.
   */
  durationMs: number;
  /**
   * How the task ended.
   */
  ending:
    | "answered"
    | "dont_know"
    | "refused"
    | "out_of_turns"
    | "out_of_budget"
    | "timeout"
    | "model_error"
    | "tool_protocol_error"
    | "interrupted"
    | "not_started"
    | "not_runnable";
  /**
   * Error message for the user if the agent did not answer, otherwise null.
   */
  error: string | null;
  /**
   * The conversation, beginning with the system prompt.
   */
  messages: Message[];
  /**
   * Executed tool calls, in order.
   */
  toolCalls: ToolCall[];
  /**
   * Model calls, in order.
   */
  turns: Turn[];
  /**
   * Maximum number of model calls.
   */
  maxTurns: number;
  /**
   * The answer, or null if the agent did not answer.
   */
  answer: string | null;
  /**
   * Message-IDs that the agent cited.
   */
  sources: string[];
  scores: {
    [k: string]: {
      value: number | null;
      explanation?: string;
      failed?: true;
    };
  };
  /**
   * The judge's judgment of the answer, or null without a judge.
   */
  judge: Judgement | null;
  /**
   * The conversation's ids on the external agent's server.
   */
  remote?: {
    sessionId: string | null;
    traceId: string | null;
  };
  kind: "suite";
  task: {
    id: string;
    suite: string;
    dialect: "flowbook" | "spider2v" | "harbor";
    tool: string;
    instruction: string;
    snapshot: string;
    tags: string[];
    relatedApps: string[];
    actionNumber: number | null;
    counterpart: string | null;
    emailQuestion?: Question;
  };
  grade: {
    score: number | null;
    state:
      | "success"
      | "max_steps"
      | "timeout"
      | "agent_error"
      | "setup_error"
      | "eval_error"
      | "unsupported"
      | "needs_account"
      | "needs_server"
      | "not_ready"
      | "missing_files"
      | "no_oracle";
    reason: string;
  };
  left?: {
    /**
     * @maxItems 8
     */
    pictures:
      | []
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ]
      | [
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          },
          {
            path: string;
            cell: number | null;
            width: number;
            height: number;
            data: string;
          }
        ];
    omitted: number;
  };
}
export interface ChatTrace {
  /**
   * Id of the trace.
   */
  traceId: string;
  /**
   * Id of the conversation. Chats of one session share it.
   */
  sessionId: string;
  /**
   * Agent id.
   */
  agentId: string;
  /**
   * Requested model as provider/name.
   */
  model: string;
  /**
   * ISO 8601.
   */
  startedAt: string;
  /**
   * ISO 8601.
   */
  endedAt: string;
  /**
   * Milliseconds from the start to the answer, including waiting.
   */
  durationMs: number;
  /**
   * How the task ended.
   */
  ending:
    | "answered"
    | "dont_know"
    | "refused"
    | "out_of_turns"
    | "out_of_budget"
    | "timeout"
    | "model_error"
    | "tool_protocol_error"
    | "interrupted"
    | "not_started"
    | "not_runnable";
  /**
   * Error message for the user if the agent did not answer, otherwise null.
   */
  error: string | null;
  /**
   * The conversation, beginning with the system prompt.
   */
  messages: Message[];
  /**
   * Executed tool calls, in order.
   */
  toolCalls: ToolCall[];
  /**
   * Model calls, in order.
   */
  turns: Turn[];
  /**
   * Maximum number of model calls.
   */
  maxTurns: number;
  /**
   * The answer, or null if the agent did not answer.
   */
  answer: string | null;
  /**
   * Message-IDs that the agent cited.
   */
  sources: string[];
  scores: {
    [k: string]: {
      value: number | null;
      explanation?: string;
      failed?: true;
    };
  };
  kind: "chat";
  agentVersion: number;
  question: string;
  inbox: string | null;
  queryDate: string | null;
  historyLength: number;
}
export interface QuestionSelection {
  /**
   * Dataset split: train or test [default: test, or the file's only split]
   */
  split?: "train" | "test";
  /**
   * File of questions (Parquet, CSV, JSON, JSONL) instead of corbt/enron_emails_sample_questions
   */
  dataset?: string;
  /**
   * Load the questions from the JSON rows API instead of the Parquet file
   */
  useJson?: boolean;
  /**
   * Dataset revision [default: abc84674]
   */
  revision?: string;
  /**
   * Only these task ids
   */
  ids?: readonly number[];
  /**
   * Only questions about this mailbox
   */
  inbox?: string;
  /**
   * Minimum realism of the questions, from 0 to 1
   */
  minRealism?: number;
  /**
   * Maximum number of gold emails per question (ART: 1)
   */
  maxSources?: number;
  /**
   * Leave out the questions that ART found to be wrong
   */
  excludeKnownBad?: boolean;
  /**
   * Ask in random order (see --seed)
   */
  shuffle?: boolean;
  /**
   * Seed for --shuffle [default: 1]
   */
  seed?: number;
  /**
   * Maximum number of tasks (0 = all) [default: 0]
   */
  limit?: number;
}

/** A trace of a run. */
export type Trace = QuestionTrace | SuiteTrace;
