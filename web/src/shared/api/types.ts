/** Short names for the types of the API. */
import type { components } from "./schema";

type Schemas = components["schemas"];

export type Advice = Schemas["Advice"];
export type AttemptStacks = Schemas["AttemptStacks"];
export type BucketedCurve = Schemas["BucketedCurve"];
export type ClusterView = Schemas["ClusterView"];
export type Column = Schemas["Column"];
export type Created = Schemas["Created"];
export type ExperimentChange = Schemas["ExperimentChange"];
export type ExperimentDetail = Schemas["ExperimentDetail"];
export type ExperimentSpec = Schemas["ExperimentSpec"];
export type ExperimentView = Schemas["ExperimentView"];
export type FileDifference = Schemas["FileDifference"];
export type MoveView = Schemas["MoveView"];
export type PlanView = Schemas["PlanView"];
export type PriceList = Schemas["PriceList"];
export type PriceView = Schemas["PriceView"];
export type ProgramSpec = Schemas["ProgramSpec"];
export type RankTime = Schemas["RankTime"];
export type RankTimes = Schemas["RankTimes"];
export type RetryResult = Schemas["RetryResult"];
export type RunChange = Schemas["RunChange"];
export type RunDetail = Schemas["RunDetail"];
export type RunDifferences = Schemas["RunDifferences"];
export type RunView = Schemas["RunView"];
export type SnapshotDifferences = Schemas["SnapshotDifferences"];
export type State = Schemas["State"];
export type StoredSize = Schemas["StoredSize"];
export type ValueDifference = Schemas["ValueDifference"];
