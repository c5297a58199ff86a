// Reads images and compares them like OpenCV.
import { PNG } from "pngjs";
import { roundHalfEven } from "./python-values.js";

export interface Channel {
  readonly width: number;
  readonly height: number;
  readonly values: Uint8Array;
}

/** For each target pixel in one direction, the source pixels that it consists of, with their weights. */
type Weights = readonly (readonly (readonly [source: number, weight: number])[])[];

/** Eight-bit channels. Transparency is dropped, as in cv2.imread. */
export interface Image {
  readonly width: number;
  readonly height: number;
  readonly red: Uint8Array;
  readonly green: Uint8Array;
  readonly blue: Uint8Array;
}

/** `cv2.resize(image, size, interpolation=INTER_AREA)`. If a side grows, OpenCV interpolates instead. */
export function resizeByArea(image: Channel, width: number, height: number): Channel {
  const shrinks = image.width >= width && image.height >= height;
  const weigh = shrinks ? weighAreas : weighStretched;
  return resize(image, weigh(image.width, width), weigh(image.height, height));
}

/** `cv2.resize` with its default, INTER_LINEAR. */
export function resizeLinearly(image: Channel, width: number, height: number): Channel {
  return resize(image, weighLinearly(image.width, width), weighLinearly(image.height, height));
}

function resize(image: Channel, columns: Weights, rows: Weights): Channel {
  if (columns.length === image.width && rows.length === image.height) return image;
  const narrowed = Array.from({ length: image.height }, (_, y) =>
    columns.map((parts) => addParts(parts, (x) => image.values[y * image.width + x] ?? 0)),
  );
  const values = rows.flatMap((parts) => columns.map((_, x) => addParts(parts, (y) => narrowed[y]?.[x] ?? 0)));
  return { width: columns.length, height: rows.length, values: Uint8Array.from(values, roundToByte) };
}

function addParts(parts: Weights[number], valueAt: (source: number) => number): number {
  let sum = 0;
  for (const [source, weight] of parts) sum += valueAt(source) * weight;
  return sum;
}

const roundToByte = (value: number) => Math.min(Math.max(roundHalfEven(value), 0), 255);

/** Weighs the source pixels that a target pixel covers. The pixels at both ends count in part. */
function weighAreas(from: number, to: number): Weights {
  const scale = from / to;
  return Array.from({ length: to }, (_, i) => {
    const [start, end] = [i * scale, Math.min((i + 1) * scale, from)];
    const parts: [number, number][] = [];
    for (let source = Math.floor(start); source < end; source++) {
      const covered = Math.min(source + 1, end) - Math.max(source, start);
      if (covered > 1e-3) parts.push([source, covered / (end - start)]);
    }
    return parts;
  });
}

function weighStretched(from: number, to: number): Weights {
  const scale = from / to;
  return Array.from({ length: to }, (_, i) => {
    const source = Math.floor(i * scale);
    const part = i + 1 - (source + 1) / scale;
    return blend(source, part <= 0 ? 0 : part - Math.floor(part), from);
  });
}

function weighLinearly(from: number, to: number): Weights {
  const scale = from / to;
  return Array.from({ length: to }, (_, i) => {
    const centre = (i + 0.5) * scale - 0.5;
    const source = Math.floor(centre);
    return source < 0 ? blend(0, 0, from) : blend(source, centre - source, from);
  });
}

function blend(source: number, part: number, size: number): [number, number][] {
  if (source >= size - 1 || part === 0) return [[Math.min(source, size - 1), 1]];
  return [
    [source, 1 - part],
    [source + 1, part],
  ];
}

const BINS = 256;

/** `calcHist` with 256 bins, scaled to 0..1 by `normalize(..., NORM_MINMAX)`, in single precision. */
export function normalizedHistogram(channel: Uint8Array): Float32Array {
  const counts = new Float32Array(BINS);
  for (const value of channel) counts[value] = (counts[value] ?? 0) + 1;
  const least = counts.reduce((a, b) => Math.min(a, b));
  const range = counts.reduce((a, b) => Math.max(a, b)) - least;
  const scale = range > 0 ? 1 / range : 0;
  return counts.map((count) => (count - least) * scale);
}

/** `compareHist(a, b, HISTCMP_CORREL)`: 1 for equal histograms, including constant ones. */
export function correlate(a: Float32Array, b: Float32Array): number {
  let [sumA, sumB, squaresA, squaresB, products] = [0, 0, 0, 0, 0];
  a.forEach((x, i) => {
    const y = b[i] ?? 0;
    sumA += x;
    sumB += y;
    squaresA += x * x;
    squaresB += y * y;
    products += x * y;
  });
  const covariance = products - (sumA * sumB) / BINS;
  const variances = (squaresA - (sumA * sumA) / BINS) * (squaresB - (sumB * sumB) / BINS);
  return Math.abs(variances) > Number.EPSILON ? covariance / Math.sqrt(variances) : 1;
}

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const JPEG_SIGNATURE = Buffer.from("ffd8ff", "hex");
const MAX_PIXELS = 16 * 1024 * 1024;

/** Returns a decoded PNG, or null for other bytes. */
export function decodeImage(bytes: Buffer): Image | null {
  if (!bytes.subarray(0, 8).equals(PNG_SIGNATURE)) return null;
  if (bytes.length < 24 || bytes.readUInt32BE(16) * bytes.readUInt32BE(20) > MAX_PIXELS) return null;
  const { width, height, data } = decodePng(bytes) ?? { width: 0, height: 0, data: Buffer.alloc(0) };
  const size = width * height;
  if (size === 0) return null;
  const image = { width, height, red: new Uint8Array(size), green: new Uint8Array(size), blue: new Uint8Array(size) };
  for (let i = 0; i < size; i++) {
    image.red[i] = data[4 * i] ?? 0;
    image.green[i] = data[4 * i + 1] ?? 0;
    image.blue[i] = data[4 * i + 2] ?? 0;
  }
  return image;
}

/** Returns whether an image is a JPEG, which the original suites can read, but art-e cannot. */
export function isJpeg(bytes: Buffer): boolean {
  return bytes.subarray(0, 3).equals(JPEG_SIGNATURE);
}

function decodePng(bytes: Buffer): PNG | null {
  try {
    return PNG.sync.read(bytes);
  } catch {
    return null;
  }
}

/** `cvtColor(image, COLOR_BGR2GRAY)`, in OpenCV's fixed-point arithmetic. */
export function toGreyscale({ red, green, blue }: Image): Uint8Array {
  return red.map((r, i) => (r * 9798 + (green[i] ?? 0) * 19235 + (blue[i] ?? 0) * 3735 + 16384) >> 15);
}
