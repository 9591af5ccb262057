/** The first page: the list of experiments, and a summary of the clusters. */
import { useSearchParams } from "wouter";
import { ClusterSidebar } from "@/features/clusters/ClusterSidebar";
import { ExperimentList } from "@/features/experiment-list/ExperimentList";
import styles from "@/features/HomePage.module.css";

export function HomePage() {
  const [search] = useSearchParams();
  return (
    <div className={styles.home}>
      <ExperimentList search={search} />
      <ClusterSidebar />
    </div>
  );
}
