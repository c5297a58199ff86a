/**
 * The area under the ROC curve: how often a positive has the higher score of a positive and a negative, ties counting
 * half. Null where there is only one kind.
 */
export function areaUnderCurve(scores: readonly number[], positive: readonly boolean[]): number | null {
  const order = scores.map((_, i) => i).sort((a, b) => (scores[a] ?? 0) - (scores[b] ?? 0));
  let [positives, rankSum] = [0, 0];
  for (let start = 0; start < order.length; ) {
    let end = start;
    while (end < order.length && scores[order[end] ?? 0] === scores[order[start] ?? 0]) end++;
    // Equal scores share the mean of their ranks.
    const rank = (start + end + 1) / 2;
    for (const i of order.slice(start, end)) {
      if (positive[i] !== true) continue;
      positives++;
      rankSum += rank;
    }
    start = end;
  }
  const negatives = order.length - positives;
  if (positives === 0 || negatives === 0) return null;
  return (rankSum - (positives * (positives + 1)) / 2) / (positives * negatives);
}
