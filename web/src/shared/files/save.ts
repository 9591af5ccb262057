/** Let the browser store a file. */

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  URL.revokeObjectURL(address);
}

export function saveText(name: string, text: string, type = "text/csv"): void {
  saveFile(name, new Blob([text], { type }));
}

/** Let the browser store what the service sends at an address: none of it is in memory at once. */
export function saveAddress(address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = ""; // the name is the service's
  link.click();
}
