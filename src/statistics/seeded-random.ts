/** Integers from 0 to below `limit`, the same for a seed on every machine (sfc32, public domain). */
export function seededRandom(seed: number): (limit: number) => number {
  let [a, b, c, counter] = [0x9e3779b9, 0x243f6a88, seed >>> 0, 1];
  const next = () => {
    const result = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + result) | 0;
    return result >>> 0;
  };
  for (let i = 0; i < 12; i++) next();
  return (limit) => Math.floor((next() / 2 ** 32) * limit);
}
