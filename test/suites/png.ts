import { PNG } from "pngjs";

/** A PNG of noise, which cannot be compressed, with about three bytes per pixel. */
export function noisyPng(width: number, height: number): Buffer {
  const png = new PNG({ width, height });
  let state = 7;
  for (let i = 0; i < png.data.length; i++) {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    png.data[i] = i % 4 === 3 ? 255 : state >> 16;
  }
  return PNG.sync.write(png);
}
