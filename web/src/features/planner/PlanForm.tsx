/** The form of a plan: the net and its data, the device, and the network. */
import { useQuery } from "@tanstack/react-query";
import { body, client } from "@/shared/api/client";
import { keys } from "@/shared/api/keys";
import { Choice } from "@/shared/controls/Choice";
import { NumberField } from "@/shared/controls/NumberField";
import styles from "./PlanForm.module.css";
import { jobOf, NETS, NETWORK, type NumberInput, type PlanInputs, PRECISIONS } from "./usePlanInputs";

interface Props {
  inputs: PlanInputs;
  onChange: (change: Partial<PlanInputs>) => void;
}

export function PlanForm({ inputs, onChange }: Props) {
  const { data: devices = [] } = useDevices();
  const known = devices.map(({ name, title }) => [name, title] as const);
  return (
    <form
      className={styles.planForm}
      aria-label="Training job"
      onSubmit={(event) => {
        event.preventDefault();
      }}
    >
      <div className={styles.planChoices}>
        <Choice
          label="Net"
          value={inputs.net}
          options={NETS}
          onChange={(net) => {
            onChange({ net });
          }}
        />
        <Choice
          label="Device of a rank"
          value={inputs.device}
          options={known.length > 0 ? known : [[inputs.device, inputs.device]]}
          onChange={(device) => {
            onChange({ device });
          }}
        />
        <Choice
          label="Precision"
          value={inputs.precision}
          options={PRECISIONS}
          onChange={(precision) => {
            onChange({ precision: precision as PlanInputs["precision"] });
          }}
        />
      </div>
      <Numbers fields={jobOf(inputs.net)} inputs={inputs} onChange={onChange} />
      <Numbers fields={NETWORK} inputs={inputs} onChange={onChange} />
    </form>
  );
}

function Numbers({ fields, inputs, onChange }: Props & { fields: NumberInput[] }) {
  return (
    <div className={styles.numbers}>
      {fields.map((field) => (
        <NumberField
          key={field.name}
          format={field}
          value={inputs[field.name]}
          onChange={(value) => {
            onChange({ [field.name]: value });
          }}
        />
      ))}
    </div>
  );
}

/** GET /plans/devices: the devices that the planner knows. */
function useDevices() {
  return useQuery({
    queryKey: keys.devices(),
    queryFn: ({ signal }) => body(client.GET("/api/v1/plans/devices", { signal })),
    staleTime: Infinity,
  });
}
