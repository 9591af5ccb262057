/** A button that opens the sign-in page, which leads back to this page. */
import { classNames } from "@/shared/page/classNames";
import styles from "./SignInButton.module.css";

export function SignInButton() {
  return (
    <button
      className={classNames("plain", styles.signIn)}
      onClick={() => {
        // without a session the service answers every page with its sign-in page
        window.location.reload();
      }}
    >
      Sign in
    </button>
  );
}
