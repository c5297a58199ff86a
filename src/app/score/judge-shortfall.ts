import type { Judgement } from "../../domain/scores/judgement.js";

/** Counts the answers that a judge gave no verdict on. */
export class JudgeShortfall {
  private judged = 0;
  private without = 0;
  private lastReason = "";

  add({ verdict, reason }: Judgement): void {
    this.judged++;
    if (verdict !== null) return;
    this.without++;
    this.lastReason = reason;
  }

  /** One line; null where all have a verdict. */
  text(model: string): string | null {
    if (this.without === 0) return null;
    return `art-e: the judge ${model} gave no verdict on ${this.without} of ${this.judged} answers: ${this.lastReason}`;
  }
}
