import { z } from "zod";
import { parseArguments } from "../definition/parse-arguments.js";
import { CannotGrade } from "../evaluation/cannot-grade.js";
import { decodeImage, type Image, isJpeg, toGreyscale } from "../formats/images/decode-image.js";
import { correlate, normalizedHistogram } from "../formats/images/histogram.js";
import { type Channel, resizeByArea } from "../formats/images/resize.js";
import { collectFiles, type FlowbookFunction } from "./flowbook-function.js";

const schema = z.looseObject({
  local_expected_image: z.string(),
  vm_result_image: z.string(),
  similarity_threshold: z.number().default(0.95),
});

/**
 * Flowbook's `compare_jupyterlab_images`: the larger image is shrunk to the size of the smaller one, and the histograms
 * of grey levels must correlate at least as the threshold says. Where things are in the picture does not count.
 * Spider2-V looks at the green channel and wants exactly 1.
 */
export const compareImages: FlowbookFunction = async (args, context) => {
  const { local_expected_image, vm_result_image, similarity_threshold } = parseArguments(schema, args);
  const files = await collectFiles(context, vm_result_image, local_expected_image);
  const [gold, result] = [readImage(files.expected), readImage(files.result)];
  if (gold === null || result === null) return 0;
  const [a, b] = [greyscaleOf(gold), greyscaleOf(result)];
  const isGoldLarger = a.width * a.height > b.width * b.height;
  const first = isGoldLarger ? resizeByArea(a, b.width, b.height) : a;
  const second = isGoldLarger ? b : resizeByArea(b, a.width, a.height);
  const similarity = correlate(normalizedHistogram(first.values), normalizedHistogram(second.values));
  return Number(similarity >= similarity_threshold);
};

function readImage(bytes: Buffer): Image | null {
  if (isJpeg(bytes)) throw new CannotGrade("unsupported", "JPEG images are not compared");
  return decodeImage(bytes);
}

const greyscaleOf = (image: Image): Channel => ({
  width: image.width,
  height: image.height,
  values: toGreyscale(image),
});
