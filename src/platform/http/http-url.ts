/** The address of a server: http or https, without user name or password. Null for any other text. */
export function parseHttpUrl(text: string): URL | null {
  const url = URL.parse(text.trim());
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
  return url;
}

/** The address that paths are appended to: as `parseHttpUrl`, without query and fragment. Null for any other text. */
export function parseServerUrl(text: string): URL | null {
  const url = parseHttpUrl(text);
  return url === null || url.search !== "" || url.hash !== "" ? null : url;
}
