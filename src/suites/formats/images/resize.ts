export interface Channel {
  readonly width: number;
  readonly height: number;
  readonly values: Uint8Array;
}

/** For each target pixel of one direction: the source pixels that it is made of, and their parts. */
type Weights = readonly (readonly (readonly [source: number, weight: number])[])[];

/** `cv2.resize(image, size, interpolation=INTER_AREA)`; where a side grows, OpenCV interpolates instead. */
export function resizeByArea(image: Channel, width: number, height: number): Channel {
  const shrinks = image.width >= width && image.height >= height;
  const weigh = shrinks ? weighAreas : weighStretched;
  return resize(image, weigh(image.width, width), weigh(image.height, height));
}

/** `cv2.resize` as it is by default, INTER_LINEAR. */
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

/** Halves go to the even neighbour. */
function roundToByte(value: number): number {
  const floor = Math.floor(value);
  const up = value - floor > 0.5 || (value - floor === 0.5 && floor % 2 === 1);
  return Math.min(Math.max(floor + Number(up), 0), 255);
}

/** Each target pixel is the mean of the source pixels that it covers, in part at its ends. */
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
