/** The switches between linear and logarithmic axes of a panel. */
import { Switch } from "@/shared/controls/Switch";

interface Props {
  options: { xLog: boolean; yLog: boolean };
  onOptions: (change: Record<string, string>) => void;
}

export function LogSwitches({ options, onOptions }: Props) {
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
