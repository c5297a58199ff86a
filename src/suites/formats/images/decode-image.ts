import { PNG } from "pngjs";

/** Eight-bit channels. Transparency is dropped, as cv2.imread does. */
export interface Image {
  readonly width: number;
  readonly height: number;
  readonly red: Uint8Array;
  readonly green: Uint8Array;
  readonly blue: Uint8Array;
}

const PNG_SIGNATURE = Buffer.from("89504e470d0a1a0a", "hex");
const JPEG_SIGNATURE = Buffer.from("ffd8ff", "hex");
const MAX_PIXELS = 16 * 1024 * 1024;

/** A PNG; null where the bytes are no image. */
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

/** The origin reads these, we do not. */
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

/** `cvtColor(image, COLOR_BGR2GRAY)`, in OpenCV's fixed point. */
export function toGreyscale({ red, green, blue }: Image): Uint8Array {
  return red.map((r, i) => (r * 9798 + (green[i] ?? 0) * 19235 + (blue[i] ?? 0) * 3735 + 16384) >> 15);
}
