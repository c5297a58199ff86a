import type { SpanJson } from "../highlighted-text.js";

/** What the review page reads of the API's answers. */

export type DecisionJson = "accepted" | "edited" | "rejected";

export interface WordingJson {
  readonly question: string;
  readonly answer: string;
}

export interface EstimateJson {
  readonly value: number | null;
  readonly n: number;
  readonly low: number | null;
  readonly high: number | null;
}

export interface ReviewSummaryJson {
  readonly counts: Readonly<Record<DecisionJson | "waiting", number>>;
  readonly agreement: {
    readonly all: EstimateJson;
    readonly by_check: readonly { readonly check: string; readonly agreement: EstimateJson }[];
  };
}

export interface ReviewedQuestionJson {
  readonly id: number;
  readonly decision: DecisionJson | null;
}

export interface ReviewListJson extends ReviewSummaryJson {
  readonly dataset: string;
  readonly reviewed_dataset: string;
  readonly questions: readonly ReviewedQuestionJson[];
}

export interface ReviewJson {
  readonly decision: DecisionJson;
  readonly edited: WordingJson | null;
  readonly reason: string | null;
  readonly decided_at: string;
}

export interface SavedReviewJson extends ReviewSummaryJson {
  readonly review: ReviewJson | null;
}

export interface CheckJson {
  readonly check: string;
  readonly by: string;
  readonly passed: boolean;
  readonly answer: string | null;
  readonly reason: string;
}

export interface EvidenceJson {
  readonly message_id: string;
  readonly is_cited: boolean;
  readonly passage: "recorded" | "found" | null;
  readonly in_subject: readonly SpanJson[];
  readonly in_body: readonly SpanJson[];
  readonly mail: {
    readonly subject: string;
    readonly sender: string;
    readonly to: readonly string[];
    readonly cc: readonly string[];
    readonly date: string | null;
    readonly body: string;
  } | null;
}

export interface QuestionDetailsJson extends WordingJson {
  readonly id: number;
  readonly inbox_address: string;
  readonly query_date: string;
  readonly how_realistic: number;
  readonly made_by: string | null;
  readonly kind: string | null;
  readonly unanswerable: string | null;
  readonly easy: boolean;
  readonly checks: readonly CheckJson[];
  readonly mails: readonly EvidenceJson[];
  readonly review: ReviewJson | null;
}
