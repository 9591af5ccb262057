/** The form of the network; each valid change updates the prices. */
import { NumberField } from "@/shared/controls/NumberField";
import styles from "./NetworkForm.module.css";
import { FIELDS, type Network } from "./useNetwork";

interface Props {
  network: Network;
  onChange: (change: Partial<Network>) => void;
}

export function NetworkForm({ network, onChange }: Props) {
  return (
    <form
      className={styles.networkForm}
      aria-label="Network"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      {FIELDS.map((field) => (
        <NumberField
          key={field.name}
          format={field}
          value={network[field.name]}
          onChange={(value) => {
            if (value !== null) onChange({ [field.name]: value });
          }}
        />
      ))}
    </form>
  );
}
