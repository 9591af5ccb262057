/** The panels of the page, which the reader adds, removes and orders; the address holds them. */
import { type Compared, type Kind, KIND_TITLES, KINDS, moved, type Panel, withOptions } from "./panels";
import { ComparePanel } from "./ComparePanel";
import styles from "./PanelGrid.module.css";
import { Menu } from "@/shared/controls/Menu";

interface Props extends Compared {
  panels: readonly Panel[];
  onPanels: (panels: Panel[]) => void;
}

export function PanelGrid({ panels, onPanels, ...compared }: Props) {
  const placeOf = (at: number) => ({
    up:
      at > 0
        ? () => {
            onPanels(moved(panels, at, -1));
          }
        : null,
    down:
      at < panels.length - 1
        ? () => {
            onPanels(moved(panels, at, 1));
          }
        : null,
    remove: () => {
      onPanels(panels.toSpliced(at, 1));
    },
  });
  return (
    <>
      <div className={styles.panelGrid}>
        {keyed(panels).map(({ key, panel }, at) => (
          <ComparePanel
            key={key}
            {...compared}
            panel={panel}
            place={placeOf(at)}
            onOptions={(change) => {
              onPanels(panels.with(at, withOptions(panel, change)));
            }}
          />
        ))}
      </div>
      <AddPanel
        onAdd={(kind) => {
          onPanels([...panels, { kind, options: {} }]);
        }}
      />
    </>
  );
}

function AddPanel({ onAdd }: { onAdd: (kind: Kind) => void }) {
  return (
    <div className={styles.addPanel}>
      <Menu
        label="Add a panel"
        items={KINDS.map((kind) => ({
          label: KIND_TITLES[kind],
          onSelect: () => {
            onAdd(kind);
          },
        }))}
      />
    </div>
  );
}

/** Panels have keys by their kind and place among that kind: a change of an option is no new panel. */
function keyed(panels: readonly Panel[]): { key: string; panel: Panel }[] {
  const counts = new Map<string, number>();
  return panels.map((panel) => {
    const count = (counts.get(panel.kind) ?? 0) + 1;
    counts.set(panel.kind, count);
    return { key: `${panel.kind} ${count}`, panel };
  });
}
