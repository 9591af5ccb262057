/** The secret of a webhook, which the browser makes: no answer of the service has it. */
const BYTES = 32;

export function newSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(BYTES));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}
