// Name and pinned revision of the published ART-E questions.
export const QUESTIONS_DATASET = "corbt/enron_emails_sample_questions";

/** A fixed commit, because an older revision of the questions had a train set 12 times smaller. */
export const QUESTIONS_REVISION = "abc84674cefc28ca4bf2cd3f0f0c9c860d690d70";
