// Files that the page makes itself.
import { element } from "./dom";

// NAME-ID.csv; what file systems do not like becomes _.
export function file_name(name: string, id: string, extension: string): string {
  const plain = (text: string): string =>
    [...text.replace(/[^\p{L}\p{N}._-]+/gu, "_").replace(/^[._]+/, "")].slice(0, 80).join("");
  return `${plain(name) || "report"}-${plain(id) || "figure"}.${extension}`;
}

export function download(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
