/** The operation of the page; the address stores it, so a link shows the same plan. */
import { changeAddress, useAddress } from "@/shared/page/address";
import { type Operation, OPERATIONS } from "./operations";

const NAME = "operation";

export function useOperation(): [Operation, (to: string) => void] {
  const given = useAddress().get(NAME) ?? "";
  const change = (to: string) => {
    changeAddress({ [NAME]: to, round: "" }); // the plan is another one
  };
  return [isOperation(given) ? given : "all_reduce", change];
}

function isOperation(text: string): text is Operation {
  return Object.hasOwn(OPERATIONS, text);
}
