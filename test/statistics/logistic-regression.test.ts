import { describe, expect, it } from "vitest";
import { areaUnderCurve } from "../../src/statistics/agreement.js";
import { fitLogistic, predictLogistic } from "../../src/statistics/logistic-regression.js";

const rows = Array.from({ length: 60 }, (_, i) => [Math.sin(i * 1.3), Math.cos(i * 0.7), ((i * 7) % 11) / 11]);
const positive = rows.map(([a = 0, , c = 0], i) => a + 0.5 * c + Math.sin(i * 2.9) > 0.3);

/** Of scikit-learn 1.x: LogisticRegression(C=1/penalty, tol=1e-12).fit(rows, positive), and roc_auc_score. */
describe("a logistic regression equals scikit-learn's", () => {
  it.each([
    [1, -0.4334498897388, [1.4764963022775686, -0.03698341305352516, 0.33505556045759227]],
    [10, -0.24752099315470782, [0.644175695211619, -0.008618492899106088, 0.056798436261805384]],
  ])("with a penalty of %d", (penalty, intercept, weights) => {
    const model = fitLogistic(rows, positive, penalty);
    expect(model.intercept).toBeCloseTo(intercept, 5);
    for (const [i, weight] of weights.entries()) expect(model.weights[i]).toBeCloseTo(weight, 5);
  });

  it("in its probabilities and their area under the ROC curve", () => {
    const model = fitLogistic(rows, positive, 1);
    const scores = rows.map((row) => predictLogistic(model, row));
    expect(scores[0]).toBeCloseTo(0.38451369, 5);
    expect(scores[1]).toBeCloseTo(0.7638981, 5);
    expect(areaUnderCurve(scores, positive)).toBeCloseTo(0.8159371492704827, 10);
    // With many ties.
    const rounded = scores.map((score) => Math.round(score * 10) / 10);
    expect(areaUnderCurve(rounded, positive)).toBeCloseTo(0.7912457912457913, 10);
  });

  it("where a column separates the labels", () => {
    const model = fitLogistic([[0], [1], [2], [3]], [false, false, true, true], 1);
    expect(model.intercept).toBeCloseTo(-1.43742827, 4);
    expect(model.weights[0]).toBeCloseTo(0.95828524, 4);
  });
});

describe("a logistic regression", () => {
  it("ends with finite weights where columns are copies, constant or huge", () => {
    const copies = rows.map(([a = 0], i) => [a, a, 1, a * 1e6, i % 2 === 0 ? 1e-9 : 0]);
    const { weights, intercept } = fitLogistic(copies, positive, 1);
    for (const value of [...weights, intercept]) expect(Number.isFinite(value)).toBe(true);
  });

  it("without columns gives the share of positives", () => {
    const model = fitLogistic(
      rows.map(() => []),
      positive,
      1,
    );
    expect(predictLogistic(model, [])).toBeCloseTo(positive.filter(Boolean).length / positive.length, 9);
  });
});

describe("the area under the curve", () => {
  it("is nothing of one kind, 1 where all positives are above, and a half of equals", () => {
    expect(areaUnderCurve([1, 2], [true, true])).toBeNull();
    expect(areaUnderCurve([], [])).toBeNull();
    expect(areaUnderCurve([0.1, 0.2, 0.9], [false, false, true])).toBe(1);
    expect(areaUnderCurve([0.9, 0.2, 0.1], [false, false, true])).toBe(0);
    expect(areaUnderCurve([5, 5, 5], [false, true, true])).toBe(0.5);
  });
});
