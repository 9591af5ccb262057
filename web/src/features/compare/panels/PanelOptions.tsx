/** The options that several kinds of panels have. */
import { Choice } from "@/shared/controls/Choice";
import { Switch } from "@/shared/controls/Switch";
import { fieldTitle, optionsOf } from "../groups/fields";

interface Props {
  label: string;
  value: string;
  fields: readonly string[];
  onChange: (field: string) => void;
}

/** The choice of a field among those that the page offers; a field of the address that it does not offer stays. */
export function FieldChoice({ label, value, fields, onChange }: Props) {
  const options = optionsOf(fields);
  const all = fields.includes(value) ? options : [[value, fieldTitle(value)] as const, ...options];
  return <Choice label={label} value={value} options={all} onChange={onChange} />;
}

interface LogSwitchesProps {
  options: { xLog: boolean; yLog: boolean };
  onOptions: (change: Record<string, string>) => void;
}

/** The switches between linear and logarithmic axes of a panel. */
export function LogSwitches({ options, onOptions }: LogSwitchesProps) {
  const onSwitch = (name: string) => (isOn: boolean) => {
    onOptions({ [name]: isOn ? "on" : "" });
  };
  return (
    <>
      <Switch on={options.xLog} onChange={onSwitch("xlog")}>
        log x
      </Switch>
      <Switch on={options.yLog} onChange={onSwitch("ylog")}>
        log y
      </Switch>
    </>
  );
}
