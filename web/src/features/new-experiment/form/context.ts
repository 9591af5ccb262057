/** What every field of the form needs: the whole schema, the errors, and how to change the text. */
import { createContext, use } from "react";
import type { ApiError } from "@/shared/api/client";
import type { Path } from "../document";
import type { Schema } from "./schema";

interface Form {
  root: Schema;
  errors: ApiError["fields"];
  onChange: (path: Path, value: unknown) => void;
}

export const FormContext = createContext<Form>({ root: {}, errors: [], onChange: () => undefined });

export function useForm(): Form {
  return use(FormContext);
}

/** Return the message of the first error at a path, or below it. */
export function useFieldError(path: Path): string | undefined {
  const dotted = path.join(".");
  return useForm().errors.find((error) => error.path === dotted || error.path.startsWith(`${dotted}.`))
    ?.message;
}
