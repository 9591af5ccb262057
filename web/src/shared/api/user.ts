/** The name of this browser's user, which its sign-in stored: changes are made in this name, and it gives no rights. */
const KEY = "user";

/** Return the header that names the user; none without a name that HTTP allows. */
export function userHeader(): Record<string, string> {
  const name = localStorage.getItem(KEY) ?? "";
  return /^[ -~]{1,100}$/.test(name) ? { "Bigbatch-User": name } : {};
}
