/** The headings of the table of groups: a click sorts the groups by a field, by their size, or by a mean. */
import type { RunGroups } from "@/shared/api/types";
import { classNames } from "@/shared/page/classNames";
import { isNumeric, metricOf, nextSort, titleOf } from "@/shared/run-table/columns";
import styles from "./GroupTable.module.css";

interface Props {
  data: RunGroups;
  sort: string;
  onSort: (sort: string) => void;
}

const COUNT = { name: "count", title: "runs", isRight: true };

export function GroupHead({ data, sort, onSort }: Props) {
  const heads = [
    ...data.by.map((field, place) => ({
      name: field.name,
      title: titleOf(field.name),
      isRight: place > 0 && isNumeric(field),
    })),
    COUNT,
    ...data.columns.map(({ name }) => ({ name, title: `mean of ${titleOf(name)}`, isRight: true })),
  ];
  return (
    <thead>
      <tr>
        {heads.map(({ name, title, isRight }) => (
          <th
            key={name}
            scope="col"
            className={classNames(isRight && "number")}
            aria-sort={sort === name ? "ascending" : sort === `-${name}` ? "descending" : undefined}
          >
            <button
              className={classNames("plain", styles.groupHead)}
              onClick={() => {
                onSort(nextSort(sort, name, metricOf(name)));
              }}
            >
              {title}
              {sort === name && <span aria-hidden="true"> ↑</span>}
              {sort === `-${name}` && <span aria-hidden="true"> ↓</span>}
            </button>
          </th>
        ))}
      </tr>
    </thead>
  );
}
