export interface LogisticModel {
  readonly intercept: number;
  readonly weights: readonly number[];
}

const MAX_STEPS = 100;
const TOLERANCE = 1e-10;

/**
 * The logistic regression of a yes or no on columns of numbers, by Newton's method: the weights that minimise the
 * negative log-likelihood plus `penalty` / 2 times their squares. The intercept is not penalised. `rows` must be as
 * many as `positive`, with both kinds among them; `penalty` above 0.
 */
export function fitLogistic(
  rows: readonly (readonly number[])[],
  positive: readonly boolean[],
  penalty: number,
): LogisticModel {
  const columns = rows[0]?.length ?? 0;
  // The last coefficient is the intercept.
  const inputs = rows.map((row) => Float64Array.from([...row, 1]));
  let coefficients: Float64Array = new Float64Array(columns + 1);
  let loss = lossOf(inputs, positive, penalty, coefficients);
  for (let step = 0; step < MAX_STEPS; step++) {
    const { gradient, hessian } = derivatives(inputs, positive, penalty, coefficients);
    const direction = solve(hessian, gradient);
    // A full step may overshoot where the likelihood is flat.
    let [share, next, nextLoss]: [number, Float64Array, number] = [1, coefficients, Number.POSITIVE_INFINITY];
    for (; share > 1e-6; share /= 2) {
      next = coefficients.map((value, i) => value - share * (direction[i] ?? 0));
      nextLoss = lossOf(inputs, positive, penalty, next);
      if (nextLoss <= loss) break;
    }
    if (nextLoss > loss) break;
    const moved = Math.max(...direction.map((value) => Math.abs(value * share)));
    [coefficients, loss] = [next, nextLoss];
    if (moved < TOLERANCE) break;
  }
  return { weights: [...coefficients.subarray(0, columns)], intercept: coefficients[columns] ?? 0 };
}

/** The probability of a yes. */
export function predictLogistic({ weights, intercept }: LogisticModel, row: readonly number[]): number {
  return sigmoid(weights.reduce((sum, weight, i) => sum + weight * (row[i] ?? 0), intercept));
}

function sigmoid(x: number): number {
  return x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x));
}

function dot(a: Float64Array, b: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += (a[i] ?? 0) * (b[i] ?? 0);
  return sum;
}

function lossOf(
  inputs: readonly Float64Array[],
  positive: readonly boolean[],
  penalty: number,
  coefficients: Float64Array,
): number {
  let loss = 0;
  for (let j = 0; j < coefficients.length - 1; j++) loss += (penalty / 2) * (coefficients[j] ?? 0) ** 2;
  for (const [i, input] of inputs.entries()) {
    const x = dot(input, coefficients) * (positive[i] === true ? 1 : -1);
    loss += x > 0 ? Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)) - x;
  }
  return loss;
}

function derivatives(
  inputs: readonly Float64Array[],
  positive: readonly boolean[],
  penalty: number,
  coefficients: Float64Array,
): { readonly gradient: Float64Array; readonly hessian: readonly Float64Array[] } {
  const size = coefficients.length;
  const penaltyOf = (j: number) => (j < size - 1 ? penalty : 0);
  const gradient = coefficients.map((value, j) => penaltyOf(j) * value);
  const hessian = Array.from({ length: size }, (_, j) => {
    const row = new Float64Array(size);
    // So that a column that says nothing, beside the unpenalised intercept, leaves the equations solvable.
    row[j] = penaltyOf(j) + 1e-12;
    return row;
  });
  for (const [i, input] of inputs.entries()) {
    const chance = sigmoid(dot(input, coefficients));
    const error = chance - Number(positive[i]);
    const weight = chance * (1 - chance);
    for (let j = 0; j < size; j++) {
      const value = input[j] ?? 0;
      gradient[j] = (gradient[j] ?? 0) + error * value;
      const row = hessian[j] as Float64Array;
      for (let k = 0; k < size; k++) row[k] = (row[k] ?? 0) + weight * value * (input[k] ?? 0);
    }
  }
  return { gradient, hessian };
}

/** The solution of a system of linear equations, by Gaussian elimination with partial pivoting. */
function solve(matrix: readonly Float64Array[], right: Float64Array): Float64Array {
  const rows = matrix.map((row, i) => Float64Array.from([...row, right[i] ?? 0]));
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let i = column + 1; i < size; i++) {
      if (Math.abs(rows[i]?.[column] ?? 0) > Math.abs(rows[pivot]?.[column] ?? 0)) pivot = i;
    }
    const [chosen, other] = [rows[pivot], rows[column]] as [(typeof rows)[number], (typeof rows)[number]];
    [rows[column], rows[pivot]] = [chosen, other];
    for (let i = column + 1; i < size; i++) {
      const row = rows[i] as Float64Array;
      const factor = (row[column] ?? 0) / (chosen[column] ?? 1);
      for (let k = column; k <= size; k++) row[k] = (row[k] ?? 0) - factor * (chosen[k] ?? 0);
    }
  }
  const solution = new Float64Array(size);
  for (let i = size - 1; i >= 0; i--) {
    const row = rows[i] as Float64Array;
    let sum = row[size] ?? 0;
    for (let k = i + 1; k < size; k++) sum -= (row[k] ?? 0) * (solution[k] ?? 0);
    solution[i] = sum / (row[i] ?? 1);
  }
  return solution;
}
